package linkcache

import (
	"context"
	"errors"
	"fmt"
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

// put replaces a record only by a newer one. What is not a record (a person's
// experiment, a torn value) is overwritten. Revisions stay below 2^53, so Lua's
// doubles hold them exactly.
//
//nolint:gochecknoglobals // a constant in all but type
var put = redis.NewScript(`
local current = redis.pcall('GET', KEYS[1])
if type(current) == 'string' then
  local ok, record = pcall(cjson.decode, current)
  if ok and type(record) == 'table' and type(record.r) == 'number' then
    local new = tonumber(ARGV[1])
    if record.r > new then return 0 end
    if record.r == new then
      redis.call('PEXPIRE', KEYS[1], ARGV[3])
      return 2
    end
  end
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
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
	results, err := s.run(ctx, entries, script.EvalSha)
	if err != nil && !redis.HasErrorPrefix(err, noScript) {
		return nil, err
	}
	outcomes := make([]Outcome, len(entries))
	var again []int // entries whose shard does not know the script
	for i, r := range results {
		n, err := r.Int64()
		switch {
		case redis.HasErrorPrefix(err, noScript):
			again = append(again, i)
		case err != nil:
			return nil, err
		}
		outcomes[i] = Outcome(n)
	}
	if len(again) == 0 {
		return outcomes, nil
	}
	// Only they run again: what the other shards have applied would answer that it is
	// the same. EVAL teaches the script to those who need it, and to nobody who is
	// away: SCRIPT LOAD on a cluster fails when one replica is.
	rest := make([]Entry, len(again))
	for i, at := range again {
		rest[i] = entries[at]
	}
	results, err = s.run(ctx, rest, script.Eval)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		n, err := r.Int64()
		if err != nil {
			return nil, err
		}
		outcomes[again[i]] = Outcome(n)
	}
	return outcomes, nil
}

// noScript begins Redis's error when it does not know a script.
const noScript = "NOSCRIPT"

type evaluate func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd

// run runs the script once for each entry, each on one key.
func (s *Store) run(ctx context.Context, entries []Entry, script evaluate) ([]*redis.Cmd, error) {
	pipe := s.client.Pipeline()
	results := make([]*redis.Cmd, len(entries))
	for i := range entries {
		value, err := entries[i].Record.Encode()
		if err != nil {
			return nil, err
		}
		results[i] = script(ctx, pipe, []string{entries[i].Key},
			entries[i].Record.Revision, value, TTL.Milliseconds())
	}
	_, err := pipe.Exec(ctx)
	return results, err
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

// PublishAll sends messages in order, in one round trip. On an error some may
// have been sent; sending them again is harmless.
func (s *Store) PublishAll(ctx context.Context, messages []Message) error {
	if len(messages) == 0 {
		return nil
	}
	speaker, err := s.speaker(ctx)
	if err != nil {
		return fmt.Errorf("publishing %d invalidations: %w", len(messages), err)
	}
	pipe := speaker.Pipeline()
	for i := range messages {
		b, err := messages[i].Encode()
		if err != nil {
			return err
		}
		pipe.Publish(ctx, Channel, b)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("publishing %d invalidations: %w", len(messages), err)
	}
	return nil
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
