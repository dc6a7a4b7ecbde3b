package domains

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

const (
	// compareEvery is how often table and copy are compared without news: a Redis that
	// lost the copy gets it again, and an edge that links does not answer gets what
	// another has heard.
	compareEvery = 2 * time.Second
	// redisTimeout bounds one question. The table is small.
	redisTimeout = time.Second
	// headBytes hold the revision, with which the value begins.
	headBytes = 40
)

// put replaces the copy only by a newer one. It reads the beginning alone, whatever the
// length. What is no copy is overwritten. Revisions stay below 2^53.
//
//nolint:gochecknoglobals // a constant in all but type
var put = redis.NewScript(`
local head = redis.pcall('GETRANGE', KEYS[1], 0, 39)
if type(head) == 'string' then
  local revision = string.match(head, '^{"revision":(%d+)[,}]')
  revision = revision and tonumber(revision)
  if revision and revision >= tonumber(ARGV[1]) and revision < 9007199254740992 then return 0 end
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`)

// Copy keeps a table and the copy in the region's Redis at the newer of the two.
type Copy struct {
	table  *Table
	client redis.UniversalClient
	head   *regexp.Regexp
	log    *slog.Logger
	failed bool
}

// NewCopy returns the keeper of a table's copy.
func NewCopy(table *Table, client redis.UniversalClient, log *slog.Logger) *Copy {
	return &Copy{table: table, client: client, head: regexp.MustCompile(`^\{"revision":(\d+)[,}]`), log: log}
}

// Run compares the two until ctx is done. A Redis that is away is no error.
func (c *Copy) Run(ctx context.Context) error {
	tick := time.NewTicker(compareEvery)
	defer tick.Stop()
	for {
		err := c.Compare(ctx)
		if err != nil && ctx.Err() == nil && !c.failed {
			c.log.WarnContext(ctx, "the region's copy of the domains is not kept", "err", err)
		}
		c.failed = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-c.table.news:
		case <-tick.C:
		}
	}
}

// Compare takes the copy if it is newer, and replaces it if it is older or missing.
func (c *Copy) Compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	copied, err := c.revision(ctx)
	if err != nil {
		return fmt.Errorf("reading the revision of %s: %w", linkcache.DomainsKey, err)
	}
	switch s := c.table.now.Load(); {
	case copied > c.table.Revision():
		return c.read(ctx)
	case s != nil && copied < s.revision:
		return c.write(ctx, s)
	}
	return nil
}

// revision is that of the copy, 0 for none.
func (c *Copy) revision(ctx context.Context) (uint64, error) {
	head, err := c.client.GetRange(ctx, linkcache.DomainsKey, 0, headBytes-1).Bytes()
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return 0, err
	}
	found := c.head.FindSubmatch(head)
	if found == nil {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(found[1]), 10, 53)
	if err != nil {
		return 0, nil //nolint:nilerr // no release wrote it: as good as none
	}
	return n, nil
}

// copied is the value of the key. The revision comes first: see put.
type copied struct {
	Revision uint64   `json:"revision"`
	Domains  []Domain `json:"domains"`
}

func (c *Copy) read(ctx context.Context) error {
	value, err := c.client.Get(ctx, linkcache.DomainsKey).Bytes()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("reading %s: %w", linkcache.DomainsKey, err)
	}
	var is copied
	if err := json.Unmarshal(value, &is); err != nil {
		return nil //nolint:nilerr // torn or a person's: as good as none, and replaced by the next table
	}
	c.table.Take(is.Revision, is.Domains)
	return nil
}

func (c *Copy) write(ctx context.Context, s *state) error {
	var value bytes.Buffer
	encoder := json.NewEncoder(&value)
	encoder.SetEscapeHTML(false) // for people who read URLs there
	if err := encoder.Encode(copied{Revision: s.revision, Domains: append([]Domain{}, s.domains...)}); err != nil {
		return fmt.Errorf("encoding the domains: %w", err)
	}
	if err := put.Run(ctx, c.client, []string{linkcache.DomainsKey}, s.revision, bytes.TrimSpace(value.Bytes())).Err(); err != nil {
		return fmt.Errorf("writing %s: %w", linkcache.DomainsKey, err)
	}
	return nil
}
