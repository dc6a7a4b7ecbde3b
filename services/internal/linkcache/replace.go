package linkcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// replace takes the place of everything but a newer record. An equal revision is
// replaced too: it is what a purge is for that two copies with one revision differ. The
// key is never empty in between, or a late writer could put an older record there.
//
//nolint:gochecknoglobals // a constant in all but type
var replace = redis.NewScript(`
local outcomes = {}
for i, key in ipairs(KEYS) do
  local current = redis.pcall('GET', key)
  local outcome = 1
  if type(current) == 'string' then
    local ok, record = pcall(cjson.decode, current)
    if ok and type(record) == 'table' and type(record.r) == 'number' and record.r > tonumber(ARGV[2 * i]) then
      outcome = 0
    end
  end
  if outcome == 1 then redis.call('SET', key, ARGV[2 * i + 1], 'PX', ARGV[1]) end
  outcomes[i] = outcome
end
return outcomes
`)

// Replace is Put for a purge: a record of the same revision, whatever it says, is
// replaced as well. The outcomes are Applied, or Stale for a newer record, which is
// kept.
func (s *Store) Replace(ctx context.Context, entries []Entry) ([]Outcome, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	outcomes, err := s.write(ctx, entries, replace)
	if err != nil {
		return nil, fmt.Errorf("replacing %d link records: %w", len(entries), err)
	}
	return outcomes, nil
}

// overrule replaces one value by another, and gives way to any third.
//
//nolint:gochecknoglobals // a constant in all but type
var overrule = redis.NewScript(`
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
`)

// Overrule replaces a record that Replace has kept for newer, though truth, which asks
// whoever knows, is older: a revision that was never given. truth is asked after the
// record was read, so that it knows of all that may rightly be there. The outcome is
// Applied if a revision that was never given was replaced, Same if the truth has that
// revision or a newer one and stands there now, and Stale if nothing was done: the
// truth is a deletion and so is the record, or something else came to stand there
// meanwhile.
func (s *Store) Overrule(ctx context.Context, key string, truth func(ctx context.Context) (Record, error)) (Outcome, error) {
	// A transaction is never sent to a replica.
	pipe := s.client.TxPipeline()
	answer := pipe.Get(ctx, key)
	_, _ = pipe.Exec(ctx) // answer has the error
	held, err := answer.Bytes()
	switch {
	case errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "WRONGTYPE"):
		return Stale, nil // Replace has written it, so somebody else was here since
	case err != nil:
		return Stale, fmt.Errorf("reading %s: %w", key, err)
	}
	right, err := truth(ctx)
	if err != nil {
		return Stale, err
	}
	r, err := Decode(held)
	if err == nil && r.Deleted() && right.Deleted() {
		return Stale, nil
	}
	given := err == nil && r.Revision <= right.Revision
	value, err := right.Encode()
	if err != nil {
		return Stale, err
	}
	n, err := overrule.Run(ctx, s.client, []string{key}, held, value, TTL.Milliseconds()).Int64()
	if err != nil {
		return Stale, fmt.Errorf("overruling %s: %w", key, err)
	}
	if Outcome(n) == Applied && given {
		return Same, nil
	}
	return Outcome(n), nil
}
