package lookup

import (
	"context"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

const (
	// warmTries is how often an entry is offered to L1, which may turn it down for
	// those that are asked for more often, or because it is busy.
	warmTries = 3
	// L1 takes an entry in a moment after it was offered.
	warmVisible = 50 * time.Millisecond
	warmLook    = time.Millisecond
)

// Prewarm has a key in Redis and in L1 before anybody asks, and says where it is now.
// Both are filled as a visit would fill them, so an entry that is older than what has
// been heard of is stored in neither. ctx bounds the wait.
func (l *Lookup) Prewarm(ctx context.Context, entry linkcache.Entry) (inMemory, inRedis bool) {
	_, err := l.writeL2(ctx, entry)
	return l.warm(ctx, entry.Key), err == nil
}

func (l *Lookup) warm(ctx context.Context, key string) bool {
	h := l.l1.hashString(key)
	for range warmTries {
		if l.holds(h, key) {
			return true
		}
		// Visitors may join this fill, so it does not end with the command.
		fl, _ := l.flights.join(context.WithoutCancel(ctx), key, func(ctx context.Context) (found, error) { return l.fill(ctx, key, h) })
		select {
		case <-fl.done:
		case <-ctx.Done():
			return false
		}
		if fl.err != nil {
			return false
		}
		if l.visible(ctx, h, key) {
			return true
		}
	}
	return false
}

// visible waits until L1 has taken a key in. Each look counts as a question for it.
func (l *Lookup) visible(ctx context.Context, h uint64, key string) bool {
	ctx, cancel := context.WithTimeout(ctx, warmVisible)
	defer cancel()
	tick := time.NewTicker(warmLook)
	defer tick.Stop()
	for !l.holds(h, key) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// holds says whether the next visit is a hit.
func (l *Lookup) holds(h uint64, key string) bool {
	e := l.l1.getString(h, key)
	return e != nil && !l.outdated(h, e) && l.since(time.Now()) < l.trustEnds(h, e)
}
