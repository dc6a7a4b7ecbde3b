package lookup

import (
	"context"
	"math/rand/v2"
)

const (
	// refreshInFlight bounds the refreshes under way: half of originInFlight, so that
	// visitors who wait have turns left.
	refreshInFlight = originInFlight / 2
	// refreshAgain is the part of an entry's life after which a refresh that brought
	// nothing is tried again.
	refreshAgain = 8
)

// soft is the age at which an entry that lives for life is asked for again: about half
// of it, with a fifth of jitter.
func soft(life int64) int64 { return life*2/5 + rand.Int64N(life/5+1) }

// refresh asks for a trusted entry again while it goes on being served, so that a link
// that is visited all the time is never waited for. One of the visitors who find it due
// starts it, and none waits. When too many are under way, a later visitor starts it;
// when it fails, the entry is as good as before.
func (l *Lookup) refresh(ctx context.Context, key []byte, h uint64, e *Entry, due, t, end int64) {
	select {
	case l.refreshing <- struct{}{}:
	default:
		return
	}
	started, again := false, int64(l.ttl)/refreshAgain
	if ending(t, end) {
		again = int64(confirmAgain)
	}
	if e.refresh.CompareAndSwap(due, t+again) {
		own := string(key)
		_, started = l.flights.join(ctx, own, func(ctx context.Context) (found, error) {
			defer func() { <-l.refreshing }()
			return l.fill(ctx, own, h)
		})
	}
	if !started {
		<-l.refreshing
		return
	}
	l.metrics.refresh.Inc()
}
