package sender

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

// lines counts the lines of a level.
type lines struct {
	slog.Handler

	warnings, errors *atomic.Int64
}

func (l lines) Enabled(context.Context, slog.Level) bool { return true }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	switch r.Level {
	case slog.LevelWarn:
		l.warnings.Add(1)
	case slog.LevelError:
		l.errors.Add(1)
	case slog.LevelDebug, slog.LevelInfo:
	}
	return nil
}

// As many clicks as ten minutes at 2,000 a second make, while there is no broker: all
// of them wait, one line says so, and they are sent when it is back.
//
// Guards I30.
func TestAnOutageIsSurvivedAndDrained(t *testing.T) {
	addr, dir := testproc.FreeAddr(t), t.TempDir()
	broker := startBroker(t, addr, dir)
	createTopic(t, addr)
	j := open(t, t.TempDir())
	var warnings, errors atomic.Int64
	s, err := New(j, options(addr), Settings{Topic: topic, Name: name, DrainTimeout: 30 * time.Second}, slog.New(lines{slog.DiscardHandler, &warnings, &errors}))
	if err != nil {
		t.Fatal(err)
	}
	e := run(t, j, s)
	add(t, j, 0, 1000)
	facttest.Eventually(t, "the first are sent", settled(j))
	broker.kill()
	const during = 1_200_000
	for sent := 0; sent < during; sent += 10_000 {
		add(t, j, 1000+uint64(sent), 10_000)
		facttest.Eventually(t, "the journal has room prepared", func() bool { return j.Err() == nil })
	}
	facttest.Eventually(t, "somebody is told", func() bool { return warnings.Load() > 0 })
	if stats := j.Stats(); stats.Waiting != during || stats.Produced != 1000 {
		t.Errorf("without a broker: %+v", stats)
	}
	broker = startBroker(t, addr, dir)
	defer broker.kill()
	began := time.Now()
	facttest.Eventually(t, "all are sent", settled(j))
	t.Logf("drained in %v", time.Since(began))
	e.stop()
	if n := warnings.Load(); n != 1 {
		t.Errorf("%d warnings about one outage", n)
	}
	exactly(t, delivered(t, addr), 1000+during)
}

// A broker that takes no clicks for long is told of once more, with the reason of then.
//
// Guards I58.
func TestALongOutageIsToldOfTwice(t *testing.T) {
	var warnings, errors atomic.Int64
	j := open(t, t.TempDir())
	s, err := New(j, options("127.0.0.1:1"), Settings{Topic: topic, Name: name}, slog.New(lines{slog.DiscardHandler, &warnings, &errors}))
	if err != nil {
		t.Fatal(err)
	}
	var e episode
	check := func(what string, wantWarnings, wantErrors int64) {
		t.Helper()
		for range 100 {
			e.failed(s, kerr.UnstableOffsetCommit)
		}
		if warnings.Load() != wantWarnings || errors.Load() != wantErrors {
			t.Errorf("%s: %d warnings and %d errors, want %d and %d", what, warnings.Load(), errors.Load(), wantWarnings, wantErrors)
		}
	}
	check("at first", 1, 0)
	e.since = time.Now().Add(-stillAfter)
	check("when it lasts", 1, 1)
	e.over(s)
	check("the next one", 2, 1)
}
