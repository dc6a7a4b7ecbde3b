// Package outage tells of a store that is away: one line when it goes, with its
// address and what to do, one when it is back, with how long it was away, and none in
// between, whoever asks it and however often. Metrics and /readyz go on saying so.
//
// An Outage is told by its users how that went, and refuses to find out by itself. A
// Watch is for a store whose users can only say what failed, often through a library's
// log: it asks until the store is back.
package outage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// forgotten is after how long somebody for whom the store failed counts no more, if it
// works for others: he has stopped asking, or the store has another address by now. It
// is longer than anybody waits for an answer or for his next try.
const forgotten = 3 * time.Minute

// Store is what may be away.
type Store struct {
	Name   string // as readers of the log know it
	Addr   string // where it should be, without passwords
	Advice string // what to do, and what happens until then
}

// Outage is whether a store is away. It is safe for concurrent use.
type Outage struct {
	store Store
	log   *slog.Logger
	away  atomic.Bool // as since, for those who ask all the time

	mu      sync.Mutex
	since   time.Time            // zero: not away
	failing map[string]time.Time // for whom, and when last
	err     error                // the newest
}

// New returns an Outage of a store of which nobody has heard anything bad.
func New(store Store, log *slog.Logger) *Outage {
	return &Outage{store: store, log: log, failing: map[string]time.Time{}}
}

// Failed says that the store failed for somebody: a connection, a partition. An error
// that says that nobody waits for an answer any more is none of the store's.
func (o *Outage) Failed(who string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.failing[who], o.err = now, err
	if !o.since.IsZero() {
		return
	}
	o.since = now
	o.away.Store(true)
	o.log.Warn("a store is away", "store", o.store.Name, "addr", o.store.Addr, "err", err, "do", o.store.Advice)
}

// Worked says that the store did what somebody asked of it. It is back when it works
// for all for whom it failed.
func (o *Outage) Worked(who string) {
	if !o.away.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	delete(o.failing, who)
	for other, last := range o.failing {
		if now.Sub(last) > forgotten {
			delete(o.failing, other)
		}
	}
	if o.since.IsZero() || len(o.failing) > 0 {
		return
	}
	o.log.Info("a store is back", "store", o.store.Name, "addr", o.store.Addr, "after", now.Sub(o.since))
	o.since, o.err = time.Time{}, nil
	o.away.Store(false)
}

// Left says that somebody will not ask any more, so that nobody waits for it to work
// for him. Whether the store is back, the next one finds out.
func (o *Outage) Left(who string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.failing, who)
}

// Away says whether the store is away.
func (o *Outage) Away() bool { return o.away.Load() }

// Err says since when the store has been away, and why; it is nil when it is not.
func (o *Outage) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return nil
	}
	return fmt.Errorf("%s has been away for %s: %w", o.store.Addr, time.Since(o.since).Round(time.Second), o.err)
}
