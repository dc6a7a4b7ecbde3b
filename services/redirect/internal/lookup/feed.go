package lookup

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

const (
	// receiveWait is how long one read waits: it bounds how late silence is noticed
	// and how long a stop takes.
	receiveWait = 250 * time.Millisecond
	// deadAfter is how long a connection may say nothing, not even to a ping.
	deadAfter = 2 * time.Second
	// Between two tries to subscribe.
	resubscribeFirst = 50 * time.Millisecond
	resubscribeMax   = time.Second
)

// Feed listens to what changes and tells a Lookup. Redis delivers a message at
// most once, so everything that can go wrong ends in a flush: a message that does
// not follow the one before it, a message that cannot be read, a new connection,
// heartbeats after silence. Silence itself ends the lease.
type Feed struct {
	client redis.UniversalClient
	lookup *Lookup
	log    *slog.Logger

	subscribed atomic.Bool // now
	cutOff     bool
	partitions map[int32]*position
	count      int32 // partitions of the changelog, as far as heard
}

// position is what was heard of one partition since the subscription.
type position struct {
	offset  int64
	beat    int64 // when its last heartbeat came, see Lookup.since; 0 for never
	filling bool
}

// NewFeed returns a feed from a region's Redis to a Lookup.
func NewFeed(client redis.UniversalClient, lookup *Lookup, log *slog.Logger) *Feed {
	return &Feed{client: client, lookup: lookup, log: log, partitions: map[int32]*position{}}
}

// Run listens until ctx is done, and subscribes again whenever the connection is
// lost.
func (f *Feed) Run(ctx context.Context) error {
	wait := resubscribeFirst
	for {
		sub := f.client.Subscribe(ctx, linkcache.Channel)
		heard, err := f.listen(ctx, sub)
		_ = sub.Close()
		f.disconnected()
		if heard && ctx.Err() == nil {
			wait = resubscribeFirst
			f.log.Warn("the invalidation channel is lost", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, resubscribeMax)
	}
}

// Subscribed says whether this process hears of changes now.
func (f *Feed) Subscribed() bool { return f.subscribed.Load() }

// listen handles one connection until it is lost. It says whether the
// subscription ever stood.
func (f *Feed) listen(ctx context.Context, sub *redis.PubSub) (heard bool, err error) {
	last, pinged := time.Now(), false
	for ctx.Err() == nil {
		got, err := sub.ReceiveTimeout(ctx, receiveWait)
		now := time.Now()
		f.checkLease(now)
		if err != nil {
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				return heard, err
			}
			switch silent := now.Sub(last); {
			case silent > deadAfter:
				return heard, errors.New("the connection is silent")
			case silent > deadAfter/2 && !pinged:
				pinged = true
				if err := sub.Ping(ctx); err != nil {
					return heard, err
				}
			}
			continue
		}
		last, pinged = now, false
		switch m := got.(type) {
		case *redis.Subscription:
			heard = true
			f.connected()
		case *redis.Message:
			f.handle([]byte(m.Payload), now)
		}
	}
	return heard, ctx.Err()
}

// connected begins a subscription. Whatever was published before it is lost, also
// before the first one: an edge answers from the origin while Redis is away.
func (f *Feed) connected() {
	f.lookup.flush(byReconnect)
	f.lookup.lease.Store(0) // what a lost connection has left of it: counting begins anew
	f.cutOff = false
	clear(f.partitions)
	f.subscribed.Store(true)
}

// disconnected ends the lease soon, not at once: nothing is known to be missed yet, and
// visitors would wait for the origin while everything that is visited is confirmed there.
func (f *Feed) disconnected() {
	f.subscribed.Store(false)
	soon := f.lookup.since(time.Now()) + int64(confirmAhead)
	f.lookup.lease.Store(min(f.lookup.lease.Load(), soon))
}

// checkLease notices that heartbeats are missing. What was trusted for them is not any
// more, by its time; what the origin has vouched for is, and visitors do not wait.
func (f *Feed) checkLease(now time.Time) {
	if !f.subscribed.Load() {
		return // known already
	}
	if lease := f.lookup.lease.Load(); lease != 0 && f.lookup.since(now) >= lease && !f.cutOff {
		f.cutOff = true
		f.lookup.metrics.invalidation[byGap].Inc()
		f.log.Warn("heartbeats are missing: asking the origin")
	}
}

// handle takes one message.
func (f *Feed) handle(payload []byte, now time.Time) {
	m, err := linkcache.DecodeMessage(payload)
	if err != nil {
		f.log.Error("a message on the invalidation channel cannot be read", "err", err)
		f.lookup.flush(byGap)
		return
	}
	at := f.lookup.since(now)
	if len(m.Keys) > 0 {
		f.follow(m.Position.Partition, m.Previous, m.Position.Offset, func() {
			for _, key := range m.Keys {
				f.lookup.invalidate(key, m.Revision, at)
			}
		})
	}
	for i := range m.Spans {
		s := &m.Spans[i]
		f.follow(s.Partition, s.Previous, s.Offset, func() {
			for j, key := range s.Keys {
				f.lookup.invalidate(key, s.Revisions[j], at)
			}
		})
	}
	if m.Heartbeat != nil {
		f.heartbeat(&m, now)
	}
}

// follow takes what was published of a partition behind previous, up to offset.
func (f *Feed) follow(partition int32, previous, offset int64, take func()) {
	p, known := f.partition(partition)
	if known && previous > p.offset {
		f.lookup.flush(byGap) // before the keys, so that their floors outlive nothing
	}
	take()
	p.offset = max(p.offset, offset)
}

func (f *Feed) heartbeat(m *linkcache.Message, now time.Time) {
	f.count = max(f.count, m.Partitions)
	for _, at := range m.Heartbeat {
		p, known := f.partition(at.Partition)
		switch {
		case known && at.Offset > p.offset:
			f.lookup.flush(byGap)
		case !known && f.lookup.lease.Load() != 0:
			f.lookup.turn() // the changelog has grown, and counting begins here for this one
		}
		// Lower happens when the reader changed: what it will publish follows this.
		p.offset, p.beat, p.filling = at.Offset, f.lookup.since(now), m.Filling
	}
	f.renew(now)
}

// renew sets until when the channel is trusted: as long as somebody speaks for
// every partition.
func (f *Feed) renew(now time.Time) {
	filling, oldest := false, f.lookup.since(now)
	for id := range f.count {
		p, known := f.partitions[id]
		if !known || p.beat == 0 {
			return // nobody speaks for this one
		}
		filling = filling || p.filling
		oldest = min(oldest, p.beat)
	}
	if filling && !f.lookup.filling.Load() {
		// What was read from this Redis a moment ago may be what it had lost.
		f.lookup.filling.Store(true)
		f.lookup.flush(byGap)
	}
	if !filling && f.lookup.filling.Load() {
		f.lookup.turn() // replicas may lack what was just written
	}
	f.lookup.filling.Store(filling)
	if filling {
		// What is changed now is behind what is being written again, and so is its
		// invalidation: only the origin vouches for an entry until then.
		f.lookup.lease.Store(0)
		f.cutOff = false
		return
	}
	lease, at := oldest+int64(Lease), f.lookup.since(now)
	if lease > at && f.lookup.lease.Load() <= at {
		// Positions are counted from here on. What was lost before is not noticed by
		// them, so nothing that was stored before is trusted for them.
		f.lookup.turn()
		if f.cutOff {
			f.cutOff = false
			f.log.Warn("heartbeats are back")
		}
	}
	f.lookup.lease.Store(lease)
}

// partition returns what is known of a partition. What is heard first is where
// counting begins: everything before the subscription was flushed.
func (f *Feed) partition(id int32) (p *position, known bool) {
	if p, known = f.partitions[id]; known {
		return p, true
	}
	p = &position{offset: -1}
	f.partitions[id] = p
	return p, false
}
