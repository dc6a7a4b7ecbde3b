package apply

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// waitReplica is how long a batch waits for a replica to have it. A replica in the
	// same region has it in less than a millisecond; one that needs longer than this
	// must not hold up the invalidation, which is due within 50 ms.
	waitReplica = 25 * time.Millisecond
	// closeBehind is how many seconds ago a replica may have answered its primary and
	// still be waited for. It answers once a second.
	closeBehind = 2
)

// follows says whether a line of INFO replication names a replica that is worth
// waiting for: slave0:ip=...,port=...,state=online,offset=...,lag=0.
func follows(name, value string) bool {
	if n, ok := strings.CutPrefix(name, "slave"); !ok || n == "" || strings.Trim(n, "0123456789") != "" {
		return false
	}
	online, lag := false, closeBehind+1
	for field := range strings.SplitSeq(value, ",") {
		switch key, v, _ := strings.Cut(field, "="); key {
		case "state":
			online = v == "online"
		case "lag":
			if n, err := strconv.Atoi(v); err == nil && n >= 0 {
				lag = n
			}
		}
	}
	return online && lag <= closeBehind
}

// step is how far a partition was noted, and how far it has been written now.
type step struct {
	partition int32
	from, to  int64
}

// keepNote moves the offsets of partitions on. It does so only where the entry is this
// Redis's own and not behind the last note: otherwise records are missing in between.
//
//nolint:gochecknoglobals // a constant in all but type
var keepNote = redis.NewScript(`
local kept = 1
for i = 2, #ARGV, 3 do
  local value = redis.pcall('HGET', KEYS[1], ARGV[i])
  local id, offset
  if type(value) == 'string' then id, offset = string.match(value, '^(%S+) (%-?%d+)$') end
  if id == ARGV[1] and tonumber(offset) >= tonumber(ARGV[i + 1]) then
    if tonumber(ARGV[i + 2]) > tonumber(offset) then
      redis.call('HSET', KEYS[1], ARGV[i], id .. ' ' .. ARGV[i + 2])
    end
  else
    kept = 0
  end
end
return kept
`)

// note tells every primary how far the changelog has been written to it, and waits
// until one of its replicas has that, and with it every write before. kept is false
// when a primary is not the one that was looked at, or has lost something: it must be
// looked at again. replicated is false when a replica did not answer in time.
func (v view) note(ctx context.Context, steps []step) (kept, replicated bool, err error) {
	kept, replicated = true, true
	for _, s := range v.shards {
		k, r, err := s.note(ctx, steps)
		if err != nil {
			return false, false, fmt.Errorf("noting how far redis is written: %w", err)
		}
		kept, replicated = kept && k, replicated && r
	}
	return kept, replicated, nil
}

func (s seenShard) note(ctx context.Context, steps []step) (kept, replicated bool, err error) {
	args := make([]any, 0, 1+3*len(steps))
	args = append(args, s.runID)
	for _, st := range steps {
		args = append(args, int64(st.partition), st.from, st.to)
	}
	kept, replicated, err = s.evaluate(ctx, keepNote.EvalSha, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		kept, replicated, err = s.evaluate(ctx, keepNote.Eval, args)
	}
	return kept, replicated, err
}

// evaluate sends the note and the wait on one connection: WAIT is for the writes of
// its own connection, and the stream to the replicas has all earlier ones before them.
func (s seenShard) evaluate(
	ctx context.Context, script func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd, args []any,
) (kept, replicated bool, err error) {
	pipe := s.primary.Pipeline()
	answer := script(ctx, pipe, []string{s.key}, args...)
	var waited *redis.Cmd
	if s.replicas > 0 {
		waited = pipe.Do(ctx, "wait", 1, waitReplica.Milliseconds())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return false, false, err
	}
	kept, err = answer.Bool()
	if err != nil || waited == nil {
		return kept, true, err
	}
	have, err := waited.Int()
	return kept, have > 0, err
}
