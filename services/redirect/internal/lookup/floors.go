package lookup

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	floorShards = 256
	// floorLife is how long a floor is kept at least: far longer than any fill, and
	// longer than a Redis that lost writes takes to be written again.
	floorLife = 5 * time.Minute
	// floorsPerShard bounds the memory: 2 x 256 x 1024 floors of about 25 bytes are
	// 13 MB. Beyond it the oldest are dropped and the caller flushes, which makes
	// floors unnecessary for everything that was filled before.
	floorsPerShard = 1024
)

// floors are the newest revisions that this process has heard of, by key hash.
// They are kept in two generations; the older one is dropped as a whole.
//
// Two keys with one hash share the higher floor. Revisions come from one sequence
// over all links, so that would make one link of 2^64 ask the origin more often.
type floors struct {
	shards [floorShards]floorShard
}

type floorShard struct {
	any        atomic.Bool
	mu         sync.RWMutex
	young, old map[uint64]uint64
	turned     int64
}

// at returns the floor of a key, 0 for none.
func (f *floors) at(h uint64) uint64 {
	s := &f.shards[h%floorShards]
	if !s.any.Load() {
		return 0
	}
	s.mu.RLock()
	revision := max(s.young[h], s.old[h])
	s.mu.RUnlock()
	return revision
}

// raise notes a revision. It says true when it had to drop floors before their
// time.
func (f *floors) raise(h, revision uint64, now int64) (dropped bool) {
	s := &f.shards[h%floorShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	full, aged := len(s.young) >= floorsPerShard, now-s.turned > int64(floorLife)
	if s.young == nil || full || aged {
		dropped = full && !aged && len(s.old) > 0
		s.old, s.young, s.turned = s.young, make(map[uint64]uint64), now
	}
	s.young[h] = max(s.young[h], s.old[h], revision)
	s.any.Store(true)
	return dropped
}
