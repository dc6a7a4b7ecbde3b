package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// sets x ways subjects are remembered while Redis is away, 1.5 MB of them.
	sets = 1 << 12
	ways = 8
	// shards is how many locks guard them.
	shards = 64
)

// table holds the buckets of this process. It never grows: where more subjects come
// than it holds, the one that has been silent for the longest is forgotten. Somebody
// may get a new bucket too early, and nobody is refused for what another did.
//
// Its time is the process's own monotonic clock, which no one sets.
type table struct {
	seed  maphash.Seed
	base  time.Time
	locks [shards]sync.Mutex
	sets  [][ways]place
}

type place struct {
	key uint64
	bucket
}

func newTable() *table {
	return &table{seed: maphash.MakeSeed(), base: time.Now(), sets: make([][ways]place, sets)}
}

// take decides a call of the subject whose bucket has the given key in Redis.
func (t *table) take(key string, q Quota, cost int64, now time.Time) Decision {
	h := maphash.String(t.seed, key) // seeded: nobody can choose who shares a set
	set := h % sets
	at := int64(now.Sub(t.base)/time.Microsecond) + 1 // 0 is for free places
	lock := &t.locks[set%shards]
	lock.Lock()
	defer lock.Unlock()
	p := &t.sets[set][0]
	for i := range t.sets[set] {
		other := &t.sets[set][i]
		if other.key == h && other.at != 0 {
			next, d := step(&other.bucket, q, cost, max(at, other.at))
			other.bucket = next
			return d
		}
		if other.at < p.at {
			p = other
		}
	}
	next, d := step(nil, q, cost, at)
	*p = place{key: h, bucket: next}
	return d
}
