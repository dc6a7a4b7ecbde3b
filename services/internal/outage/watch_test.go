package outage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkstream/linkstream/services/internal/outage"
)

func TestAWatchedOutageIsTwoLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&out, nil))
		gone, other := errors.New("connection refused"), errors.New("another error")
		var away atomic.Bool
		redis := outage.NewWatch(outage.Thing{Name: "redis", Address: "127.0.0.1:6379", Advice: "start it", Ask: func(context.Context) error {
			if away.Load() {
				return gone
			}
			return nil
		}}, log)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- redis.Run(ctx) }()
		quiet := outage.Logger(log, func(err error) *outage.Watch {
			if errors.Is(err, gone) {
				return redis
			}
			return nil
		}).With("component", "x")

		away.Store(true)
		for range 20 {
			quiet.Warn("cannot write", "err", fmt.Errorf("writing: %w", gone))
			time.Sleep(300 * time.Millisecond) //nolint:forbidigo // virtual time
		}
		quiet.Error("something else", "err", other)
		quiet.Info("no error", "err", gone)
		away.Store(false)
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		quiet.Warn("late", "err", gone)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		type line struct{ Msg, What, Address, Do, Err, Component string }
		var got []line
		for text := range bytes.Lines(out.Bytes()) {
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				t.Fatal(err)
			}
			got = append(got, l)
		}
		want := []line{
			{Msg: "something is away that this service needs", What: "redis", Address: "127.0.0.1:6379", Do: "start it", Err: "writing: connection refused"},
			{Msg: "something else", Err: "another error", Component: "x"},
			{Msg: "no error", Err: "connection refused", Component: "x"},
			{Msg: "it is back", What: "redis", Address: "127.0.0.1:6379"},
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

func TestAnOutageThatNobodyHasAnErrorOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var hangs atomic.Bool
		redis := outage.NewWatch(outage.Thing{Name: "redis", Always: true, Ask: func(context.Context) error {
			if hangs.Load() {
				return errors.New("no answer")
			}
			return nil
		}}, slog.New(slog.NewTextHandler(&out, nil)))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- redis.Run(ctx) }()
		time.Sleep(3 * time.Second) //nolint:forbidigo // virtual time
		hangs.Store(true)
		time.Sleep(3 * time.Second) //nolint:forbidigo // virtual time
		hangs.Store(false)
		time.Sleep(3 * time.Second) //nolint:forbidigo // virtual time
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != 2 {
			t.Errorf("%d lines, want 2:\n%s", lines, out.String())
		}
	})
}
