package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// generation knows whether a Redis still holds what was written to it. For each
// partition it keeps the run id of the Redis that was filled: another run id means
// a restart or another primary, which may have lost the last writes; no entry at
// all means that the data is gone.
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
// partition: a run id or the mark of a fill.
func (g generation) read(ctx context.Context) (runID string, entries map[int32]string, err error) {
	pipe := g.client.Pipeline()
	info := pipe.Info(ctx, "server")
	hash := pipe.HGetAll(ctx, linkcache.GenerationKey)
	// A key of another type is not ours, and holds no entries.
	if _, err := pipe.Exec(ctx); err != nil && !redis.HasErrorPrefix(err, wrongType) {
		return "", nil, fmt.Errorf("reading the generation: %w", err)
	}
	lines := bufio.NewScanner(strings.NewReader(info.Val()))
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "run_id:"); ok {
			runID = strings.TrimSpace(id)
		}
	}
	if runID == "" {
		return "", nil, errors.New("reading the generation: Redis tells no run_id")
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
	err := g.client.HSet(ctx, linkcache.GenerationKey, values...).Err()
	if redis.HasErrorPrefix(err, wrongType) {
		pipe := g.client.TxPipeline()
		pipe.Del(ctx, linkcache.GenerationKey)
		pipe.HSet(ctx, linkcache.GenerationKey, values...)
		_, err = pipe.Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("beginning a fill: %w", err)
	}
	return nil
}

// complete replaces the mark by the run id. It says false when the mark is gone:
// the fill must begin again.
func (g generation) complete(ctx context.Context, partition int32, mark, runID string) (bool, error) {
	done, err := completeFill.Run(ctx, g.client, []string{linkcache.GenerationKey}, strconv.Itoa(int(partition)), mark, runID).Bool()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("completing a fill: %w", err)
	}
	return done, nil
}
