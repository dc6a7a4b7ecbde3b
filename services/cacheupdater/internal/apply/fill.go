package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// quietEnd ends a fill that stopped short of the end offset: the last offsets of
// a partition may be gone to compaction, and no record ever says so. The figure
// is a guess: much longer than a partition waits for its turn in a large fill.
const quietEnd = 15 * time.Second

// verify compares what was written with the Redis that answers now, begins the
// fills that are needed and completes those that have caught up. It runs between
// a poll and AllowRebalance, as SetOffsets wants.
func (u *Updater) verify(ctx context.Context) error {
	var seen view
	err := u.redis(func() (err error) {
		seen, err = u.generation.look(ctx)
		return err
	})
	if err != nil {
		return err
	}
	u.seen = seen
	now := time.Now()
	reading := u.lastFetch.silent() <= readSilence
	var takenOver []int32
	begin := map[int32]entry{}
	ended := map[int32]*fill{}
	u.partitions.mu.Lock()
	for id, p := range u.partitions.byID {
		e := seen.entries[id]
		intact := e.held && e.id == seen.runID && e.offset >= p.noted
		switch f := p.fill; {
		case f == nil && intact && p.complete:
			p.noted = e.offset
		case f == nil && intact:
			takenOver = append(takenOver, id)
			p.noted = e.offset
		case f != nil && f.runID == seen.runID && (f.mark == e.id || (f.mark == "" && intact)):
			if !reading {
				p.moved = now // the broker is away: that is no end
			}
			if p.next >= f.until || now.Sub(p.moved) > quietEnd {
				ended[id] = f
			}
		default:
			p.complete, p.fill = false, nil
			begin[id] = e
		}
	}
	u.partitions.mu.Unlock()

	for id, f := range ended {
		if err := u.endFill(ctx, id, f); err != nil {
			return err
		}
	}
	if len(takenOver) > 0 {
		if err := u.catchUp(ctx, takenOver); err != nil {
			return err
		}
	}
	if len(begin) == 0 {
		return nil
	}
	return u.beginFill(ctx, begin)
}

// endFill ends a fill that has reached its end. One without a mark had Redis's entry
// all the time.
func (u *Updater) endFill(ctx context.Context, id int32, f *fill) error {
	var written int64
	u.partitions.with(id, func(p *partition) { written = p.next - 1 })
	done := true
	if f.mark != "" {
		var err error
		err = u.redis(func() error {
			done, err = u.generation.complete(ctx, id, f, written)
			return err
		})
		if err != nil {
			return err
		}
	}
	u.partitions.with(id, func(p *partition) {
		if p.fill != f {
			return
		}
		p.fill, p.complete = nil, done // not done: the next verify begins again
		if f.mark != "" && done {
			p.noted = written
		}
	})
	return nil
}

// catchUp begins with partitions that were written before, by this process or another:
// what has been changed since, while nobody wrote, may still be old in Redis, so they
// are not complete before the end that the changelog has now.
func (u *Updater) catchUp(ctx context.Context, ids []int32) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	ends, err := kadm.NewClient(u.client).ListEndOffsets(ctx, u.topic)
	if err != nil {
		return fmt.Errorf("asking for the end of the changelog: %w", ofBroker(err))
	}
	now := time.Now()
	for _, id := range ids {
		end, ok := ends.Lookup(u.topic, id)
		if !ok || end.Err != nil {
			continue // the partition's leader is away: the next verify tries again
		}
		u.partitions.with(id, func(p *partition) {
			p.end, p.moved = max(p.end, end.Offset), now
			if p.complete = p.next >= end.Offset; !p.complete {
				p.fill = &fill{runID: u.seen.runID, until: end.Offset}
			}
		})
	}
	return nil
}

// beginFill rewinds partitions: to behind the newest record that Redis still has, or
// to the start when it does not know, and leaves the mark of a new fill in Redis.
// Whoever reads a partition meanwhile is told by the heartbeats. The end is asked for
// before anything is written.
func (u *Updater) beginFill(ctx context.Context, held map[int32]entry) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	admin := kadm.NewClient(u.client)
	starts, err := admin.ListStartOffsets(ctx, u.topic)
	if err != nil {
		return fmt.Errorf("asking for the start of the changelog: %w", ofBroker(err))
	}
	ends, err := admin.ListEndOffsets(ctx, u.topic)
	if err != nil {
		return fmt.Errorf("asking for the end of the changelog: %w", ofBroker(err))
	}
	mark := "filling " + uuid.NewString()
	err = u.redis(func() error { return u.generation.begin(ctx, mark, slices.Collect(maps.Keys(held))) })
	if err != nil {
		return err
	}
	now, runID := time.Now(), u.seen.runID
	offsets := map[int32]kgo.EpochOffset{}
	var records int64
	for id, e := range held {
		start, ok1 := starts.Lookup(u.topic, id)
		end, ok2 := ends.Lookup(u.topic, id)
		if !ok1 || !ok2 || start.Err != nil || end.Err != nil {
			continue // the partition's leader is away: the next verify tries again
		}
		from := start.Offset
		if e.held && e.offset+1 > from && e.offset+1 <= end.Offset {
			from = e.offset + 1
		}
		records += end.Offset - from
		offsets[id] = kgo.EpochOffset{Epoch: -1, Offset: from}
		u.partitions.with(id, func(p *partition) {
			p.fill = &fill{mark: mark, runID: runID, until: end.Offset}
			p.next, p.noted, p.end, p.moved = from, none, max(p.end, end.Offset), now
		})
	}
	u.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{u.topic: offsets})
	u.metrics.refills.Add(float64(len(offsets)))
	u.log.Info("writing to redis again what it has lost", "partitions", len(offsets), "records", records, "run_id", runID)
	return nil
}
