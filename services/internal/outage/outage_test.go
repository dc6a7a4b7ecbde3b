package outage_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkstream/linkstream/services/internal/outage"
)

// book keeps the lines of a log.
type book struct{ lines []string }

func (b *book) Enabled(context.Context, slog.Level) bool { return true }
func (b *book) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *book) WithGroup(string) slog.Handler            { return b }

func (b *book) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	b.lines = append(b.lines, line)
	return nil
}

var errRefused = errors.New("refused")

// Guards I58.
func TestAnOutageIsTwoLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b book
		o := outage.New(outage.Store{Name: "broker", Addr: "10.0.0.1:9092", Advice: "start it"}, slog.New(&b))
		check := func(what string, lines int, away bool) {
			t.Helper()
			if len(b.lines) != lines || o.Away() != away || (o.Err() != nil) != away {
				t.Errorf("%s: away %v (%v), lines %q; want %v and %d lines", what, o.Away(), o.Err(), b.lines, away, lines)
			}
		}
		o.Worked("a")
		check("it works", 0, false)
		o.Failed("a", context.Canceled)
		check("nobody waited", 0, false)
		o.Failed("a", errRefused)
		check("it fails", 1, true)
		for range 100 {
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
			o.Failed("a", errRefused)
			o.Failed("b", errRefused)
		}
		o.Worked("c")
		o.Worked("a")
		check("it does not work for all yet", 1, true)
		if err := o.Err(); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "10.0.0.1:9092 has been away for 1m40s") {
			t.Errorf("the reason is %v", err)
		}
		o.Worked("b")
		check("it is back", 2, false)
		o.Worked("b")
		check("it works", 2, false)
		if want := `WARN a store is away store=broker addr=10.0.0.1:9092 err=refused do=start it`; b.lines[0] != want {
			t.Errorf("it says %q, want %q", b.lines[0], want)
		}
		if want := `INFO a store is back store=broker addr=10.0.0.1:9092 after=1m40s`; b.lines[1] != want {
			t.Errorf("it says %q, want %q", b.lines[1], want)
		}
	})
}

func TestWhoHasGoneIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b book
		o := outage.New(outage.Store{}, slog.New(&b))
		o.Failed("partition 3", errRefused)
		o.Failed("partition 4", errRefused)
		o.Left("partition 3")
		o.Left("partition 4")
		if !o.Away() {
			t.Error("it is back because nobody asks")
		}
		o.Worked("partition 5")
		if o.Away() {
			t.Errorf("it works for all who ask: %v", o.Err())
		}
		o.Failed("an address that has moved", errRefused)
		time.Sleep(4 * time.Minute) //nolint:forbidigo // virtual time
		o.Worked("another")
		if o.Away() {
			t.Errorf("the old address is not asked any more: %v", o.Err())
		}
	})
}
