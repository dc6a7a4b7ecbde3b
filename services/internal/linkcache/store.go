package linkcache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// TTL is how long a record stays without being written or filled again. It only
// bounds memory: freshness never rests on it.
const TTL = 24 * time.Hour

// Outcome is what a write did.
type Outcome int64

// What the script answers.
const (
	// Stale: the key holds a newer revision, which was kept.
	Stale Outcome = 0
	// Applied: the record was written.
	Applied Outcome = 1
	// Same: the key held this revision already; its TTL starts again.
	Same Outcome = 2
)

// scriptEntries bounds how many entries one call of a script writes: while it runs,
// Redis answers nobody else. 64 take some 200 microseconds.
const scriptEntries = 64

// put replaces records only by newer ones. What is not a record (a person's
// experiment, a torn value) is overwritten. Revisions stay below 2^53, so Lua's
// doubles hold them exactly. Most records are new, and a new one takes one command.
//
// The scripts take any number of keys, and as arguments the time to live and then each
// record's revision and value; they answer with one outcome for each key.
//
//nolint:gochecknoglobals // a constant in all but type
var put = redis.NewScript(`
local outcomes = {}
for i, key in ipairs(KEYS) do
  local value = ARGV[2 * i + 1]
  local outcome = 1
  if not redis.call('SET', key, value, 'PX', ARGV[1], 'NX') then
    local current = redis.pcall('GET', key)
    if type(current) == 'string' then
      local ok, record = pcall(cjson.decode, current)
      if ok and type(record) == 'table' and type(record.r) == 'number' then
        local new = tonumber(ARGV[2 * i])
        if record.r > new then
          outcome = 0
        elseif record.r == new then
          redis.call('PEXPIRE', key, ARGV[1])
          outcome = 2
        end
      end
    end
    if outcome == 1 then redis.call('SET', key, value, 'PX', ARGV[1]) end
  end
  outcomes[i] = outcome
end
return outcomes
`)

// Store reads and writes the records of one region.
type Store struct {
	client redis.UniversalClient
}

// NewStore returns a store over a region's Redis.
func NewStore(client redis.UniversalClient) *Store { return &Store{client: client} }

// Put writes all entries in one round trip (to each shard; two after a Redis has lost
// its scripts) and returns one outcome for each. On an error some entries may have
// been written; writing them again is harmless.
func (s *Store) Put(ctx context.Context, entries []Entry) ([]Outcome, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	outcomes, err := s.write(ctx, entries, put)
	if err != nil {
		return nil, fmt.Errorf("writing %d link records: %w", len(entries), err)
	}
	return outcomes, nil
}

func (s *Store) write(ctx context.Context, entries []Entry, script *redis.Script) ([]Outcome, error) {
	calls := s.calls(entries)
	err := s.run(ctx, calls, script.EvalSha)
	if err != nil && !redis.HasErrorPrefix(err, noScript) {
		return nil, err
	}
	var again []*call // whose shard does not know the script
	for _, c := range calls {
		switch err := c.read(); {
		case redis.HasErrorPrefix(err, noScript):
			again = append(again, c)
		case err != nil:
			return nil, err
		}
	}
	// Only they run again: what the other shards have applied would answer that it is
	// the same. EVAL teaches the script to those who need it, and to nobody who is
	// away: SCRIPT LOAD on a cluster fails when one replica is.
	if len(again) > 0 {
		if err := s.run(ctx, again, script.Eval); err != nil {
			return nil, err
		}
		for _, c := range again {
			if err := c.read(); err != nil {
				return nil, err
			}
		}
	}
	outcomes := make([]Outcome, 0, len(entries))
	for _, c := range calls {
		outcomes = append(outcomes, c.outcomes...)
	}
	return outcomes, nil
}

// noScript begins Redis's error when it does not know a script.
const noScript = "NOSCRIPT"

type evaluate func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd

// call is one call of a script, and what it did to each of its entries.
type call struct {
	entries  []Entry
	answer   *redis.Cmd
	outcomes []Outcome
}

// calls parts entries, in their order. On a cluster each goes alone: the keys of a call
// have to be in one slot.
func (s *Store) calls(entries []Entry) []*call {
	size := scriptEntries
	if _, ok := s.client.(*redis.ClusterClient); ok {
		size = 1
	}
	calls := make([]*call, 0, len(entries)/size+1)
	for part := range slices.Chunk(entries, size) {
		calls = append(calls, &call{entries: part})
	}
	return calls
}

func (c *call) read() error {
	numbers, err := c.answer.Int64Slice()
	if err != nil {
		return err
	}
	if len(numbers) != len(c.entries) {
		return fmt.Errorf("the script answers %d outcomes for %d entries", len(numbers), len(c.entries))
	}
	c.outcomes = make([]Outcome, len(numbers))
	for i, n := range numbers {
		c.outcomes[i] = Outcome(n)
	}
	return nil
}

// run sends all calls in one round trip.
func (s *Store) run(ctx context.Context, calls []*call, script evaluate) error {
	pipe := s.client.Pipeline()
	for _, c := range calls {
		keys, args := make([]string, len(c.entries)), make([]any, 0, 1+2*len(c.entries))
		args = append(args, TTL.Milliseconds())
		for i := range c.entries {
			value, err := c.entries[i].Record.Encode()
			if err != nil {
				return err
			}
			keys[i], args = c.entries[i].Key, append(args, c.entries[i].Record.Revision, value)
		}
		c.answer = script(ctx, pipe, keys, args...)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// Get reads a key, from a replica if the client was opened so: it may be older than
// what is known. It says false when the key is not there or holds something that is
// no record.
func (s *Store) Get(ctx context.Context, key string) (Record, bool, error) {
	return decodeValue(key, s.client.Get(ctx, key))
}

// GetNewest is Get from the primary, for whoever knows of something newer than Get
// answers.
func (s *Store) GetNewest(ctx context.Context, key string) (Record, bool, error) {
	// A transaction is never sent to a replica, and follows a slot that moves.
	pipe := s.client.TxPipeline()
	value := pipe.Get(ctx, key)
	_, _ = pipe.Exec(ctx) // value has the error
	return decodeValue(key, value)
}

func decodeValue(key string, answer *redis.StringCmd) (Record, bool, error) {
	value, err := answer.Bytes()
	switch {
	case errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "WRONGTYPE"):
		return Record{}, false, nil
	case err != nil:
		return Record{}, false, fmt.Errorf("reading %s: %w", key, err)
	}
	record, err := Decode(value)
	if errors.Is(err, ErrBadRecord) {
		return Record{}, false, nil
	}
	return record, err == nil, err
}

// PublishAll sends invalidations that follow each other, as one message. On an error
// they may have been sent; sending them again is harmless.
func (s *Store) PublishAll(ctx context.Context, messages []Message) error {
	if len(messages) == 0 {
		return nil
	}
	joined := Join(messages)
	return s.Publish(ctx, &joined)
}

// Publish sends a message to every edge of the region that is listening.
func (s *Store) Publish(ctx context.Context, m *Message) error {
	b, err := m.Encode()
	if err != nil {
		return err
	}
	speaker, err := s.speaker(ctx)
	if err == nil {
		err = speaker.Publish(ctx, Channel, b).Err()
	}
	if err != nil {
		return fmt.Errorf("publishing an invalidation: %w", err)
	}
	return nil
}

// speaker is whom messages are published through. A cluster passes a publication on
// to all its nodes, but keeps only those in order that came in at one: so all go
// through the primary of the channel's slot.
func (s *Store) speaker(ctx context.Context) (redis.UniversalClient, error) {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, Channel)
	}
	return s.client, nil
}
