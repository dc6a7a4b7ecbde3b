package apply

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/trace"
)

// change is one decoded record and where its entries are in the batch.
type change struct {
	record      *kgo.Record
	event       *eventspb.LinkChanged
	first, last int // entries[first:last]
}

// batch is what one round trip to Redis writes.
type batch struct {
	changes []change
	entries []linkcache.Entry
	dead    []*kgo.Record
}

// apply does everything that a chunk of records asks for and marks them. Its only
// error is that ctx ended; then nothing is marked and the records are read again.
func (u *Updater) apply(ctx context.Context, records []*kgo.Record) error {
	b := u.decode(records)
	spans := u.follow(b)
	var outcomes []linkcache.Outcome
	err := u.persist(ctx, "writing to redis", func() error {
		return u.redis(func() (err error) {
			outcomes, err = u.store.Put(ctx, b.entries)
			return err
		})
	})
	if err != nil {
		return err
	}
	// Before anybody is told: what the edges hear of, a replica has too.
	u.noteWritten(ctx, records)
	messages, fresh := u.messages(b, outcomes)
	err = u.persist(ctx, "publishing invalidations", func() error {
		return u.redis(func() error { return u.store.PublishAll(ctx, messages) })
	})
	if err != nil {
		return err
	}
	if err := u.bury(ctx, b.dead); err != nil {
		return err
	}
	u.count(b, outcomes, fresh)
	u.advance(records, messages)
	u.client.MarkCommitRecords(records...)
	for _, s := range spans {
		s.End(false)
	}
	return nil
}

// followedFor is how long after its publication a record is part of its change's way. A
// region that is filled anew reads all that there is, and would tell of all of it.
const followedFor = time.Minute

// follow begins spans for the changes that are in a trace: from when they were read until
// the region's edges are told.
func (u *Updater) follow(b batch) (spans []*trace.Span) {
	if u.tracer == nil {
		return nil
	}
	for _, c := range b.changes {
		if time.Since(c.record.Timestamp) > followedFor {
			continue
		}
		for _, h := range c.record.Headers {
			if h.Key != trace.Header {
				continue
			}
			at, _ := trace.Parse(string(h.Value)) // what cannot be read is not followed
			if s := u.tracer.Follow(at, "apply", trace.Consumer); s != nil {
				s.Set("linkstream.region", u.region)
				s.Set("messaging.destination.partition.id", strconv.Itoa(int(c.record.Partition)))
				s.Set("messaging.kafka.offset", strconv.FormatInt(c.record.Offset, 10))
				spans = append(spans, s)
			}
		}
	}
	return spans
}

// noteWritten notes in Redis how far it has been written, and gives a replica a moment
// to have it. One that does not have it in time is counted and not waited for: should it
// take over, its own note says from where on the changelog is written again.
//
// A note that could not be left is not tried again here: the primary may be another one
// by now, which the next look at it tells, and the next note counts for this one.
func (u *Updater) noteWritten(ctx context.Context, records []*kgo.Record) {
	newest := map[int32]int64{}
	for _, r := range records {
		newest[r.Partition] = r.Offset
	}
	steps := make([]step, 0, len(newest))
	for id, offset := range newest {
		u.partitions.with(id, func(p *partition) {
			if p.followed() {
				steps = append(steps, step{partition: id, from: p.noted, to: offset})
			}
		})
	}
	if len(steps) == 0 {
		return // a fill: its mark stays until the end
	}
	var kept, replicated bool
	err := u.redis(func() (err error) {
		kept, replicated, err = u.seen.note(ctx, steps)
		return err
	})
	if err != nil && ctx.Err() == nil {
		u.log.Warn("redis was written, and could not be told how far", "err", err)
	}
	if !replicated {
		u.metrics.unreplicated.Inc()
	}
	if !kept {
		u.suspicious = true
		return
	}
	for _, st := range steps {
		u.partitions.with(st.partition, func(p *partition) { p.noted = max(p.noted, st.to) })
	}
}

func (u *Updater) decode(records []*kgo.Record) batch {
	b := batch{changes: make([]change, 0, len(records)), entries: make([]linkcache.Entry, 0, len(records))}
	for _, r := range records {
		if r.Attrs.IsControl() {
			continue
		}
		event, err := events.DecodeLinkChanged(r)
		if errors.Is(err, events.ErrTombstone) {
			continue // the deletion came first, and left its marker
		}
		var entries []linkcache.Entry
		if err == nil {
			entries, err = linkcache.Entries(event)
		}
		if err != nil {
			u.log.Error("a record of the changelog cannot be decoded", "partition", r.Partition, "offset", r.Offset, "err", err)
			b.dead = append(b.dead, events.DeadRecord(events.DeadLinksChangelog, u.prefix, r, err))
			continue
		}
		first := len(b.entries)
		b.entries = append(b.entries, entries...)
		b.changes = append(b.changes, change{record: r, event: event, first: first, last: len(b.entries)})
	}
	return b
}

// messages are the invalidations of a batch. A change that Redis had already is
// published too: this process may have ended between the write and the
// publication last time. Only what this process itself has published and now
// reads once more, to fill Redis, is left out where it changed nothing.
//
// fresh says for each change whether it is published for the first time, as far
// as this process knows.
func (u *Updater) messages(b batch, outcomes []linkcache.Outcome) (out []linkcache.Message, fresh []bool) {
	fresh = make([]bool, len(b.changes))
	previous := map[int32]int64{}
	for i, c := range b.changes {
		id, offset := c.record.Partition, c.record.Offset
		var published int64
		u.partitions.with(id, func(p *partition) { published = p.published })
		if running, ok := previous[id]; ok {
			published = max(published, running)
		}
		fresh[i] = offset > published
		applied := false
		keys := make([]string, 0, c.last-c.first)
		for j := c.first; j < c.last; j++ {
			keys = append(keys, b.entries[j].Key)
			applied = applied || outcomes[j] == linkcache.Applied
		}
		if !fresh[i] && !applied {
			continue
		}
		out = append(out, linkcache.Message{
			Keys:     keys,
			Version:  c.event.GetVersion(),
			Revision: c.event.GetRevision(),
			Position: linkcache.Position{Partition: id, Offset: offset},
			// Everything up to `published` has been published. In a second pass
			// that is more than this message's own offset, and no edge can have
			// missed what lies between.
			Previous: min(published, offset-1),
		})
		previous[id] = max(published, offset)
	}
	return out, fresh
}

// advance notes what has been done, which the next heartbeat tells.
func (u *Updater) advance(records []*kgo.Record, messages []linkcache.Message) {
	now := time.Now()
	for _, r := range records {
		u.partitions.with(r.Partition, func(p *partition) { p.next, p.moved = r.Offset+1, now })
	}
	for i := range messages {
		at := messages[i].Position
		u.partitions.with(at.Partition, func(p *partition) { p.published = max(p.published, at.Offset) })
	}
}

func (u *Updater) count(b batch, outcomes []linkcache.Outcome, fresh []bool) {
	now := time.Now()
	for i, c := range b.changes {
		if outcomes[c.first] == linkcache.Stale {
			u.metrics.stale.Inc()
		} else {
			u.metrics.applied.Inc()
		}
		// A first fill reads changes of last year: they say nothing about speed.
		caughtUp := false
		u.partitions.with(c.record.Partition, func(p *partition) { caughtUp = p.complete })
		if fresh[i] && caughtUp {
			u.metrics.propagation.Observe(now.Sub(c.event.GetChangedAt().AsTime()).Seconds())
		}
	}
	u.metrics.dead.Add(float64(len(b.dead)))
}

func (u *Updater) bury(ctx context.Context, dead []*kgo.Record) error {
	if len(dead) == 0 {
		return nil
	}
	return u.persist(ctx, "writing to the dead topic", func() error {
		if err := u.client.ProduceSync(ctx, dead...).FirstErr(); err != nil {
			return ofBroker(err)
		}
		return nil
	})
}

// persist tries until it works or ctx ends. Records are never passed over.
func (u *Updater) persist(ctx context.Context, what string, try func() error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = retryFirst, retryMax
	failing := false
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, try() },
		backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) {
			if !failing { // one line an outage
				failing = true
				u.log.Warn("trying again until it works", "what", what, "err", err)
			}
			u.note(err)
		}))
	if err == nil {
		u.note(nil)
	}
	return err
}
