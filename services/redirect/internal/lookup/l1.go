package lookup

import (
	"fmt"
	"hash/maphash"

	"github.com/dgraph-io/ristretto/v2"
)

// l1 is the cache in this process. Its keys are hashes with a seed of this
// process, so that nobody can choose slugs that collide; an entry knows its own
// key, so that those which collide by chance are a miss, not a wrong answer.
//
// The cache's own expiry is not used: an entry past its time is still needed when
// nobody else answers, and a map of expiry times would cost memory for each entry.
type l1 struct {
	cache *ristretto.Cache[uint64, *Entry]
	seed  maphash.Seed
}

func newL1(maxBytes, counters int64) (*l1, error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *Entry]{
		NumCounters:        counters,
		MaxCost:            maxBytes,
		BufferItems:        64,
		Metrics:            true,
		IgnoreInternalCost: true, // entryBytes holds it
		// Newer is decided by revision. The same revision again is a renewal.
		ShouldUpdate: func(next, current *Entry) bool {
			return next.key != current.key || next.Revision >= current.Revision
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	return &l1{cache: cache, seed: maphash.MakeSeed()}, nil
}

func (c *l1) hash(key []byte) uint64       { return maphash.Bytes(c.seed, key) }
func (c *l1) hashString(key string) uint64 { return maphash.String(c.seed, key) }

// get returns the entry of a key, nil for none.
func (c *l1) get(h uint64, key []byte) *Entry {
	e, ok := c.cache.Get(h)
	if !ok || e.key != string(key) {
		return nil
	}
	return e
}

func (c *l1) getString(h uint64, key string) *Entry {
	e, ok := c.cache.Get(h)
	if !ok || e.key != key {
		return nil
	}
	return e
}

func (c *l1) set(h uint64, e *Entry) { c.cache.Set(h, e, e.cost()) }

// del removes a key, and whatever is buffered to be stored under it: the cache
// applies its buffer in order.
func (c *l1) del(h uint64) { c.cache.Del(h) }

func (c *l1) bytes() float64 { return float64(c.cache.MaxCost() - c.cache.RemainingCost()) }
