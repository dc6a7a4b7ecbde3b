package linkcache

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// replace takes the place of everything but a newer record. An equal revision is
// replaced too: it is what a purge is for that two copies with one revision differ. The
// key is never empty in between, or a late writer could put an older record there.
//
//nolint:gochecknoglobals // a constant in all but type
var replace = redis.NewScript(`
local current = redis.pcall('GET', KEYS[1])
if type(current) == 'string' then
  local ok, record = pcall(cjson.decode, current)
  if ok and type(record) == 'table' and type(record.r) == 'number' and record.r > tonumber(ARGV[1]) then
    return 0
  end
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
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
