package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// endsEvery is how old the end of a partition is, at least, that has to have been
	// reached for a heartbeat to say that all is well. A change takes a few
	// milliseconds from the changelog to the edges.
	endsEvery = 400 * time.Millisecond
	// endsTimeout bounds one question for the ends. Without an answer there is no
	// heartbeat.
	endsTimeout = 250 * time.Millisecond
	// seekAfter is after how long without progress a partition that is behind is fetched
	// anew. Seen once: fetches were answered after the broker had been killed and had
	// come back, and of some partitions nothing came for as long as one looked.
	seekAfter = 2 * time.Second
)

// ends is what a partition's end was when it was last asked for.
type ends struct {
	offset int64
	asked  time.Time
	since  time.Time // when it was first behind, or moved on last while it was
	seek   time.Time // when it was fetched anew, or since
	quiet  int64     // an end that was waited for in vain: nothing is before it
	behind bool
}

// checkEnds notes which partitions are behind the end that they had a moment ago. That
// fetches are answered does not say it: of one partition nothing may come, or
// everything late.
func (u *Updater) checkEnds(ctx context.Context, now time.Time) error {
	due := false
	u.partitions.mu.Lock()
	for _, p := range u.partitions.byID {
		due = due || now.Sub(p.ends.asked) >= endsEvery
	}
	u.partitions.mu.Unlock()
	if !due {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	listed, err := kadm.NewClient(u.client).ListEndOffsets(ctx, u.topic)
	if err != nil {
		return fmt.Errorf("asking for the end of the changelog: %w", ofBroker(err))
	}
	stuck := map[int32]kgo.EpochOffset{}
	u.partitions.mu.Lock()
	for id, p := range u.partitions.byID {
		if end, ok := listed.Lookup(u.topic, id); ok && end.Err == nil && p.check(end.Offset, now) {
			stuck[id] = kgo.EpochOffset{Epoch: -1, Offset: p.next}
		}
	}
	u.partitions.mu.Unlock()
	if len(stuck) > 0 {
		u.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{u.topic: stuck})
		u.log.Warn("nothing comes of some partitions: fetching them anew", "partitions", len(stuck))
	}
	return nil
}

// check compares a partition with the end that it had at the last check, and says
// whether it has to be fetched anew.
func (p *partition) check(end int64, now time.Time) (stuck bool) {
	e := &p.ends
	behind := !e.asked.IsZero() && p.next < e.offset && e.offset != e.quiet
	if behind && (!e.behind || p.moved.After(e.since)) {
		e.since, e.seek = now, now
	}
	e.behind = behind
	if behind && now.Sub(e.since) > quietEnd {
		e.quiet, e.behind = e.offset, false
	}
	if stuck = e.behind && now.Sub(e.seek) > seekAfter; stuck {
		e.seek = now
	}
	p.end = max(p.end, end)
	e.offset, e.asked = end, now
	return stuck
}
