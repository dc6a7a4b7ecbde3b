package lookup

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"
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
func (l *Lookup) refresh(ctx context.Context, key []byte, h uint64, t, end int64) {
	pause := int64(l.ttl) / refreshAgain
	if ending(t, end) {
		pause = int64(confirmAgain)
	}
	if l.refreshed.within(h, t, pause) {
		return
	}
	select {
	case l.refreshing <- struct{}{}:
	default:
		return
	}
	started := false
	if l.refreshed.claim(h, t, pause) {
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

// recent remembers which keys were asked for again of late. There is room for
// refreshInFlight of them many times over; one that is forgotten is asked for twice.
type recent struct {
	slots [128 * refreshInFlight]atomic.Uint64 // a part of the hash, and milliseconds
}

const attemptMillis = 1<<40 - 1 // the bits for the time: 34 years

// claim says whether a key is the caller's to ask for: nobody has within pause.
func (a *recent) claim(h uint64, t, pause int64) bool {
	slot := a.slot(h)
	last := slot.Load()
	return !taken(last, h, t, pause) && slot.CompareAndSwap(last, h&^attemptMillis|millis(t))
}

// within says whether somebody has asked within pause.
func (a *recent) within(h uint64, t, pause int64) bool { return taken(a.slot(h).Load(), h, t, pause) }

func (a *recent) slot(h uint64) *atomic.Uint64 { return &a.slots[h%uint64(len(a.slots))] }

func taken(last, h uint64, t, pause int64) bool {
	return last != 0 && last&^attemptMillis == h&^attemptMillis && millis(t)-last&attemptMillis < millis(pause)
}

func millis(t int64) uint64 { return uint64(t / int64(time.Millisecond)) }
