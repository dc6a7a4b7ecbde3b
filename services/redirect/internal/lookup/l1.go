package lookup

import (
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/dgraph-io/ristretto/v2"
)

// l1 is the cache in this process. Its keys are hashes with a seed of this
// process, so that nobody can choose slugs that collide; an entry knows its own
// key, so that those which collide by chance are a miss, not a wrong answer.
//
// The cache's own expiry is not used: an entry past its time is still needed when
// nobody else answers, and a map of expiry times would cost memory for each entry.
//
// Nor are its metrics: they cost two atomic additions a hit, and a map of when each of
// the newest 100,000 entries came in.
type l1 struct {
	cache *ristretto.Cache[uint64, packed]
	seed  maphash.Seed
}

// newL1 returns a cache that takes maxBytes with its counters. With counters 0 it has
// between five and ten for each entry that will fit: with fewer, the counts of one link
// mix with those of others.
func newL1(maxBytes, counters int64) (*l1, error) {
	if counters == 0 {
		counters = powerOf2(maxBytes/ordinaryBytes*10+1) / 2
	}
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, packed]{
		NumCounters:        counters,
		MaxCost:            maxBytes - counterBytes(counters),
		BufferItems:        64,
		IgnoreInternalCost: true, // entryBytes holds it
		// Newer is decided by revision. The same revision again is a renewal.
		ShouldUpdate: func(next, current packed) bool {
			return next.key() != current.key() || next.revision() >= current.revision()
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	return &l1{cache: cache, seed: maphash.MakeSeed()}, nil
}

// counterBytes is what the cache takes for counting visits: four rows of half a byte,
// and a filter of ten bits, each rounded up to a power of two.
func counterBytes(counters int64) int64 { return 2*powerOf2(counters) + powerOf2(10*counters)/8 }

// powerOf2 is the first that is not below n.
func powerOf2(n int64) int64 { return 1 << bits.Len64(uint64(n-1)) }

func (c *l1) hash(key []byte) uint64       { return maphash.Bytes(c.seed, key) }
func (c *l1) hashString(key string) uint64 { return maphash.String(c.seed, key) }

// get writes the entry of a key into e, and says false when there is none.
func (c *l1) get(h uint64, key []byte, e *Entry) bool {
	p, ok := c.cache.Get(h)
	if !ok || p.key() != string(key) {
		return false
	}
	p.unpack(e)
	return true
}

// getString returns the entry of a key, nil for none. It allocates. For the cache's
// admission, what is not there has been asked for by get alone: each visit counts once.
func (c *l1) getString(h uint64, key string) *Entry {
	if _, there := c.cache.GetTTL(h); !there {
		return nil
	}
	e := new(Entry)
	if p, ok := c.cache.Get(h); ok && p.key() == key {
		p.unpack(e)
		return e
	}
	return nil
}

func (c *l1) set(h uint64, e *Entry) {
	if fits(e) {
		p := pack(e)
		c.cache.Set(h, p, p.cost())
	}
}

// del removes a key, and whatever is buffered to be stored under it: the cache
// applies its buffer in order.
func (c *l1) del(h uint64) { c.cache.Del(h) }

func (c *l1) bytes() float64 { return float64(c.cache.MaxCost() - c.cache.RemainingCost()) }
