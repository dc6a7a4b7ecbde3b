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
	// floorsPerShard bounds the memory: see floorsBytes. Beyond it the oldest floors of
	// the shard are dropped, and with them the trust in what was filled under them:
	// the shard's keys ask again. A bulk change of a million links makes each key ask
	// again about four times, as often as its age would have.
	floorsPerShard = 1024
	// floorsBytes is what they take when there are as many as there can be. Measured:
	// go test -run '^$' -bench FloorsMemory -benchtime 1x ./services/redirect/internal/lookup
	floorsBytes = 20 << 20
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
	drops      atomic.Uint64 // how often floors were dropped before their time
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

// drops is how often floors of a key's shard were dropped before their time.
func (f *floors) drops(h uint64) uint64 { return f.shards[h%floorShards].drops.Load() }

// raise notes a revision. It says true when it had to drop floors before their
// time.
func (f *floors) raise(h, revision uint64, now int64) (dropped bool) {
	s := &f.shards[h%floorShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	full, aged := len(s.young) >= floorsPerShard, now-s.turned > int64(floorLife)
	if s.young == nil || full || aged {
		if dropped = full && !aged && len(s.old) > 0; dropped {
			s.drops.Add(1) // before they are gone: who no longer sees the floor sees this
		}
		s.old, s.young, s.turned = s.young, make(map[uint64]uint64), now
	}
	s.young[h] = max(s.young[h], s.old[h], revision)
	s.any.Store(true)
	return dropped
}
