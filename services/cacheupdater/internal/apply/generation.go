package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// generation knows whether a Redis still holds what was written to it. For each
// partition it keeps the run id of the Redis that was filled: another run id means
// a restart or another primary, which may have lost the last writes; no entry at
// all means that the data is gone.
//
// A cluster has one primary for each shard, and any of them may be replaced or wiped
// alone: each keeps entries of its own, and the changelog is written again from the
// start when one of them does not know what the others do.
//
// A fill leaves a mark first and is complete only if the mark is still there at
// the end, so that a Redis that is wiped during the fill is not taken for full.
type generation struct {
	client redis.UniversalClient
}

// wrongType begins Redis's error when somebody has put another type in a key.
const wrongType = "WRONGTYPE"

//nolint:gochecknoglobals // a constant in all but type
var completeFill = redis.NewScript(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
`)

// read returns the run id of the Redis that answers, and the entry of each
// partition: a run id or the mark of a fill. Of a cluster the run id is that of all
// primaries, one after the other, and an entry counts only if all of them have it.
func (g generation) read(ctx context.Context) (runID string, entries map[int32]string, err error) {
	shards, err := g.shards(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("reading the generation: %w", err)
	}
	runIDs, read := make([]string, len(shards)), make([]map[int32]string, len(shards))
	for i, s := range shards {
		if runIDs[i], read[i], err = s.read(ctx); err != nil {
			return "", nil, fmt.Errorf("reading the generation: %w", err)
		}
	}
	runID = strings.Join(runIDs, idSeparator)
	return runID, agreed(runID, runIDs, read), nil
}

// idSeparator is between the run ids of a cluster's primaries.
const idSeparator = "+"

// agreed is what all shards say of a partition: each its own run id, or all the same
// mark. What they do not agree on is left out, and so filled again.
func agreed(runID string, runIDs []string, read []map[int32]string) map[int32]string {
	entries := map[int32]string{}
	for id, first := range read[0] {
		same, filled := true, true
		for i := range read {
			entry := read[i][id]
			same = same && entry == first
			filled = filled && entry == runIDs[i]
		}
		switch {
		case filled:
			entries[id] = runID
		case same:
			entries[id] = first
		}
	}
	return entries
}

func (s shard) read(ctx context.Context) (runID string, entries map[int32]string, err error) {
	pipe := s.primary.Pipeline()
	info := pipe.Info(ctx, "server")
	hash := pipe.HGetAll(ctx, s.key)
	// A key of another type is not ours, and holds no entries.
	if _, err := pipe.Exec(ctx); err != nil && !redis.HasErrorPrefix(err, wrongType) {
		return "", nil, err
	}
	lines := bufio.NewScanner(strings.NewReader(info.Val()))
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "run_id:"); ok {
			runID = strings.TrimSpace(id)
		}
	}
	if runID == "" {
		return "", nil, errors.New("a Redis tells no run_id")
	}
	entries = map[int32]string{}
	for field, value := range hash.Val() {
		// A field that is no number is not ours; the partition it hides is filled again.
		if n, err := strconv.ParseInt(field, 10, 32); err == nil {
			entries[int32(n)] = value
		}
	}
	return runID, entries, nil
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

// complete replaces the mark by the run id. It says false when the mark is gone or
// the cluster has other primaries by now: the fill must begin again.
func (g generation) complete(ctx context.Context, partition int32, mark, runID string) (bool, error) {
	shards, err := g.shards(ctx)
	if err != nil {
		return false, fmt.Errorf("completing a fill: %w", err)
	}
	runIDs := strings.Split(runID, idSeparator)
	if len(runIDs) != len(shards) {
		return false, nil
	}
	for i, s := range shards {
		done, err := completeFill.Run(ctx, s.primary, []string{s.key}, strconv.Itoa(int(partition)), mark, runIDs[i]).Bool()
		if err != nil && !errors.Is(err, redis.Nil) {
			return false, fmt.Errorf("completing a fill: %w", err)
		}
		if !done {
			return false, nil
		}
	}
	return true, nil
}
