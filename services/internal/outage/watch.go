package outage

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// askEvery is how often something that is away is asked whether it is back.
	askEvery = 500 * time.Millisecond
	// askTimeout bounds one such question: what hangs is away.
	askTimeout = 2 * time.Second
	// lateNews is how long after the return errors may still come in that are older.
	lateNews = 2 * time.Second
)

// Thing is what a process needs.
type Thing struct {
	Name    string // as in /readyz
	Address string // without passwords
	Advice  string // what somebody who reads the log can do
	// Ask is nil when it is there. It is called while the thing is away, twice a second.
	Ask func(ctx context.Context) error
	// Always says that Ask costs nothing and is called all the time, so that an outage is
	// told which nobody has an error of, because all who would are waiting.
	Always bool
}

// Watch watches one Thing. It is safe for concurrent use.
type Watch struct {
	thing Thing
	log   *slog.Logger

	mu    sync.Mutex
	since time.Time // zero while it is there
	back  time.Time // when it came back last
	begun chan struct{}
}

// NewWatch returns a Watch of something that is there.
func NewWatch(thing Thing, log *slog.Logger) *Watch {
	return &Watch{thing: thing, log: log, begun: make(chan struct{}, 1)}
}

// Begin notes that the thing has failed. Only the first time is told.
func (o *Watch) Begin(ctx context.Context, err error) {
	now := time.Now()
	o.mu.Lock()
	known := !o.since.IsZero() || !o.back.IsZero() && now.Sub(o.back) < lateNews
	if !known {
		o.since = now
	}
	o.mu.Unlock()
	if known {
		return
	}
	o.log.WarnContext(ctx, "something is away that this service needs",
		"what", o.thing.Name, "address", o.thing.Address, "do", o.thing.Advice, "err", err)
	select {
	case o.begun <- struct{}{}:
	default:
	}
}

// Run waits for outages and tells their ends, until ctx is done.
func (o *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for away := false; ; {
		ticks := tick.C
		if !away && !o.thing.Always {
			ticks = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-o.begun:
			away = true
			tick.Reset(askEvery) // it has only just failed
		case <-ticks:
			switch err := o.ask(ctx); {
			case ctx.Err() != nil:
			case err != nil:
				o.Begin(ctx, err)
			case away:
				away = false
				o.end(ctx)
			}
		}
	}
}

func (o *Watch) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return o.thing.Ask(ctx)
}

func (o *Watch) end(ctx context.Context) {
	now := time.Now()
	o.mu.Lock()
	away := now.Sub(o.since)
	o.since, o.back = time.Time{}, now
	o.mu.Unlock()
	o.log.InfoContext(ctx, "it is back", "what", o.thing.Name, "address", o.thing.Address, "away_for", away.Round(time.Millisecond).String())
}
