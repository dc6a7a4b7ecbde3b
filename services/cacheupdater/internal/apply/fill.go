package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// quietEnd ends a fill that stopped short of the end offset: the last offsets of
// a partition may be gone to compaction, and no record ever says so. The figure
// is a guess: much longer than a partition waits for its turn in a large fill.
const quietEnd = 15 * time.Second

// verify compares what was filled with the Redis that answers now, begins the
// fills that are needed and completes those that have caught up. It runs between
// a poll and AllowRebalance, as SetOffsets wants.
func (u *Updater) verify(ctx context.Context) error {
	runID, entries, err := u.generation.read(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	reading := u.lastFetch.silent() <= readSilence
	var begin []int32
	ended := map[int32]*fill{}
	u.partitions.mu.Lock()
	for id, p := range u.partitions.byID {
		switch {
		case p.fill == nil && entries[id] == runID:
			p.complete = true
		case p.fill != nil && p.fill.runID == runID && p.fill.mark == entries[id]:
			if !reading {
				p.moved = now // the broker is away: that is no end
			}
			if p.next >= p.fill.until || now.Sub(p.moved) > quietEnd {
				ended[id] = p.fill
			}
		default:
			p.complete = false
			begin = append(begin, id)
		}
	}
	u.partitions.mu.Unlock()

	for id, f := range ended {
		if err := u.endFill(ctx, id, f); err != nil {
			return err
		}
	}
	if len(begin) == 0 {
		return nil
	}
	return u.beginFill(ctx, runID, begin)
}

func (u *Updater) endFill(ctx context.Context, id int32, f *fill) error {
	done, err := u.generation.complete(ctx, id, f.mark, f.runID)
	if err != nil {
		return err
	}
	u.partitions.with(id, func(p *partition) {
		if p.fill == f {
			p.fill, p.complete = nil, done // not done: the next verify begins again
		}
	})
	return nil
}

func (u *Updater) beginFill(ctx context.Context, runID string, ids []int32) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	admin := kadm.NewClient(u.client)
	starts, err := admin.ListStartOffsets(ctx, u.topic)
	if err != nil {
		return fmt.Errorf("asking for the start of the changelog: %w", err)
	}
	ends, err := admin.ListEndOffsets(ctx, u.topic)
	if err != nil {
		return fmt.Errorf("asking for the end of the changelog: %w", err)
	}
	mark := "filling " + uuid.NewString()
	if err := u.generation.begin(ctx, mark, ids); err != nil {
		return err
	}
	now := time.Now()
	offsets := map[int32]kgo.EpochOffset{}
	for _, id := range ids {
		start, ok1 := starts.Lookup(u.topic, id)
		end, ok2 := ends.Lookup(u.topic, id)
		if !ok1 || !ok2 || start.Err != nil || end.Err != nil {
			continue // the partition's leader is away: the next verify tries again
		}
		offsets[id] = kgo.EpochOffset{Epoch: -1, Offset: start.Offset}
		u.partitions.with(id, func(p *partition) {
			p.fill = &fill{mark: mark, runID: runID, until: end.Offset}
			p.next, p.end, p.moved = start.Offset, max(p.end, end.Offset), now
		})
	}
	u.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{u.topic: offsets})
	u.metrics.refills.Add(float64(len(offsets)))
	u.log.Info("filling redis from the start of the changelog", "partitions", len(offsets), "run_id", runID)
	return nil
}
