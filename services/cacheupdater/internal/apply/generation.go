package apply

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// generation knows whether a Redis still holds what was written to it. For each
// partition it keeps the run id of the Redis that was filled, and the newest offset
// that was written. The replication stream is in order, so a replica that takes over
// has the records up to the offset that it has, and none of those behind: what a
// failover lost is exactly what has to be written again. The same holds for a restart
// from an old snapshot. No entry at all means that the data is gone.
//
// The run id keeps a writer that has not noticed the change from moving the offset
// over the hole: its next note finds another offset or another run id and is refused.
//
// A cluster has one primary for each shard, and any of them may be replaced or wiped
// alone: each keeps entries of its own. What counts is the lowest offset of all.
//
// A fill leaves a mark first and is complete only if the mark is still there at
// the end, so that a Redis that is wiped during the fill is not taken for full.
type generation struct {
	client redis.UniversalClient
}

// entry is what Redis says of a partition.
type entry struct {
	id     string // run id of the Redis that was filled, or the mark of a fill
	offset int64  // newest record that was written, if held
	held   bool   // everything up to offset is there
}

// view is what all primaries said at one time.
type view struct {
	runID   string // of all primaries, one after the other
	entries map[int32]entry
	shards  []seenShard
}

type seenShard struct {
	shard
	runID    string
	replicas int // that follow closely
	entries  map[int32]entry
}

// wrongType begins Redis's error when somebody has put another type in a key.
const wrongType = "WRONGTYPE"

//nolint:gochecknoglobals // a constant in all but type
var completeFill = redis.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`)

// look asks all primaries. An entry counts only if all of them have it.
func (g generation) look(ctx context.Context) (view, error) {
	shards, err := g.shards(ctx)
	if err != nil {
		return view{}, fmt.Errorf("reading the generation: %w", err)
	}
	v := view{shards: make([]seenShard, len(shards))}
	runIDs := make([]string, len(shards))
	for i, s := range shards {
		if v.shards[i], err = s.look(ctx); err != nil {
			return view{}, fmt.Errorf("reading the generation: %w", err)
		}
		runIDs[i] = v.shards[i].runID
	}
	v.runID = strings.Join(runIDs, idSeparator)
	v.entries = agreed(v.runID, v.shards)
	return v, nil
}

// idSeparator is between the run ids of a cluster's primaries.
const idSeparator = "+"

// agreed is what all shards say of a partition: each its own run id, or all the same
// mark, or at least an offset each. What they do not agree on is left out, and so
// filled again from the start.
func agreed(runID string, shards []seenShard) map[int32]entry {
	entries := map[int32]entry{}
	for id, first := range shards[0].entries {
		same, filled, held, lowest := true, true, true, first.offset
		for _, s := range shards {
			e := s.entries[id]
			same = same && e.id == first.id
			filled = filled && e.id == s.runID
			held = held && e.held
			lowest = min(lowest, e.offset)
		}
		switch {
		case held && filled:
			entries[id] = entry{id: runID, offset: lowest, held: true}
		case held:
			entries[id] = entry{offset: lowest, held: true}
		case same:
			entries[id] = entry{id: first.id, offset: none}
		}
	}
	return entries
}

// none is the offset before the first.
const none = -1

// parseEntry reads "RUN-ID OFFSET", or the mark of a fill, which has no offset.
func parseEntry(value string) entry {
	if id, text, ok := strings.Cut(value, " "); ok {
		if offset, err := strconv.ParseInt(text, 10, 64); err == nil {
			return entry{id: id, offset: offset, held: true}
		}
	}
	return entry{id: value, offset: none}
}

func filledEntry(runID string, offset int64) string {
	return runID + " " + strconv.FormatInt(offset, 10)
}

func (s shard) look(ctx context.Context) (seenShard, error) {
	pipe := s.primary.Pipeline()
	info := pipe.Info(ctx, "server", "replication")
	hash := pipe.HGetAll(ctx, s.key)
	// A key of another type is not ours, and holds no entries.
	if _, err := pipe.Exec(ctx); err != nil && !redis.HasErrorPrefix(err, wrongType) {
		return seenShard{}, err
	}
	seen := seenShard{shard: s, entries: map[int32]entry{}}
	for line := range strings.Lines(info.Val()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case name == "run_id":
			seen.runID = value
		case follows(name, value):
			seen.replicas++
		}
	}
	if seen.runID == "" {
		return seenShard{}, errors.New("a Redis tells no run_id")
	}
	for field, value := range hash.Val() {
		// A field that is no number is not ours; the partition it hides is filled again.
		if n, err := strconv.ParseInt(field, 10, 32); err == nil {
			seen.entries[int32(n)] = parseEntry(value)
		}
	}
	return seen, nil
}

// begin leaves the mark of a fill for each partition.
func (g generation) begin(ctx context.Context, mark string, partitions []int32) error {
	values := make([]any, 0, 2*len(partitions))
	for _, p := range partitions {
		values = append(values, strconv.Itoa(int(p)), mark)
	}
	shards, err := g.shards(ctx)
	for i := 0; i < len(shards) && err == nil; i++ {
		err = shards[i].begin(ctx, values)
	}
	if err != nil {
		return fmt.Errorf("beginning a fill: %w", err)
	}
	return nil
}

func (s shard) begin(ctx context.Context, values []any) error {
	err := s.primary.HSet(ctx, s.key, values...).Err()
	if redis.HasErrorPrefix(err, wrongType) {
		pipe := s.primary.TxPipeline()
		pipe.Del(ctx, s.key)
		pipe.HSet(ctx, s.key, values...)
		_, err = pipe.Exec(ctx)
	}
	return err
}

// complete replaces the mark by the run id and the offset that the fill has come to.
// It says false when the mark is gone or the cluster has other primaries by now: the
// fill must begin again.
func (g generation) complete(ctx context.Context, partition int32, f *fill, offset int64) (bool, error) {
	shards, err := g.shards(ctx)
	if err != nil {
		return false, fmt.Errorf("completing a fill: %w", err)
	}
	runIDs := strings.Split(f.runID, idSeparator)
	if len(runIDs) != len(shards) {
		return false, nil
	}
	for i, s := range shards {
		done, err := completeFill.Run(ctx, s.primary, []string{s.key},
			strconv.Itoa(int(partition)), f.mark, filledEntry(runIDs[i], offset)).Bool()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, fmt.Errorf("completing a fill: %w", err)
		}
		if !done {
			return false, nil
		}
	}
	return true, nil
}
