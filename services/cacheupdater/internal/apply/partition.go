package apply

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// partition is what the updater knows of one partition it reads.
type partition struct {
	published int64     // newest offset whose invalidation was published, -1 for none
	next      int64     // offset of the next record to apply, as far as known
	end       int64     // end offset, as far as known
	noted     int64     // offset up to which Redis is known to say that it is written, none before that
	moved     time.Time // when next last moved, or a fill began
	complete  bool      // the Redis that answers now has been filled
	fill      *fill     // under way
	ends      ends
}

// followed says whether Redis's entry is to move on with what is written: it does not
// while the mark of a fill is there.
func (p *partition) followed() bool { return p.complete || (p.fill != nil && p.fill.mark == "") }

// fill is one pass over a partition, from where Redis lacks something.
type fill struct {
	mark  string // empty when Redis lacks only what nobody has written yet
	runID string
	until int64 // end offset when it began
}

// partitions is shared by the loop, the group's callbacks and the checks.
type partitions struct {
	mu     sync.Mutex
	joined bool  // the group has assigned something, maybe nothing
	count  int32 // partitions of the whole changelog, 0 until known
	byID   map[int32]*partition
}

func (ps *partitions) assign(ids []int32, now time.Time) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.joined = true
	ps.count = 0 // it may have grown: that is one reason for an assignment
	for _, id := range ids {
		if ps.byID[id] == nil {
			ps.byID[id] = &partition{published: none, noted: none, moved: now}
		}
	}
}

// resume notes where a newly assigned partition is read from: everything below
// was written and published by whoever committed it.
func (ps *partitions) resume(id int32, offset int64, now time.Time) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.byID[id]
	if p == nil {
		p = &partition{moved: now}
		ps.byID[id] = p
	}
	p.published, p.noted, p.next, p.end = offset-1, offset-1, offset, max(p.end, offset)
}

func (ps *partitions) revoke(ids []int32) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, id := range ids {
		delete(ps.byID, id)
	}
}

// with runs f on a partition, if it is still assigned.
func (ps *partitions) with(id int32, f func(p *partition)) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.byID[id]; p != nil {
		f(p)
	}
}

func (ps *partitions) setCount(n int32) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.count = n
}

// counted says whether the number of partitions is known.
func (ps *partitions) counted() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.count > 0
}

// heartbeat is the message that speaks for all partitions, and false when there
// are none.
func (ps *partitions) heartbeat() (linkcache.Message, bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	m := linkcache.Message{Partitions: ps.count}
	for _, id := range slices.Sorted(maps.Keys(ps.byID)) {
		p := ps.byID[id]
		m.Heartbeat = append(m.Heartbeat, linkcache.Position{Partition: id, Offset: p.published})
		m.Filling = m.Filling || !p.complete || p.ends.behind
	}
	return m, len(m.Heartbeat) > 0
}

func (ps *partitions) lag() float64 {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var sum int64
	for _, p := range ps.byID {
		sum += max(0, p.end-p.next)
	}
	return float64(sum)
}

// filling says whether the group has joined and how many partitions are not
// complete.
func (ps *partitions) filling() (joined bool, incomplete, assigned int) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.byID {
		if !p.complete {
			incomplete++
		}
	}
	return ps.joined, incomplete, len(ps.byID)
}
