package lookup

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

const (
	// replaceTimeout bounds how long a purge waits for Redis. Whoever asked for it waits
	// twice as long for the edge.
	replaceTimeout = time.Second
	// markLife is how long a purge is remembered after it has replaced the copy in Redis:
	// longer than any fill takes, and than a replica that still answers may lag.
	markLife = time.Minute
	// maxMarks bounds the memory, to about 1 MB. A purge beyond it is refused, and its
	// caller counts an edge that did not confirm.
	maxMarks = 1 << 14
	// sweepEvery is how often marks are looked through for those that are over.
	sweepEvery = 10 * time.Second
)

// errTooManyPurges says that no further purge can be remembered.
var errTooManyPurges = errors.New("too many purges are under way")

// l2Use says which copy in Redis a fill may believe, beyond what holds for all keys.
type l2Use uint8

const (
	l2Nearest l2Use = iota // whichever the client reads
	l2Primary              // a replica may still hold what a purge has replaced
	l2Never                // a purge has not replaced the copy yet
)

// mark is what a purge leaves behind for its key.
type mark struct {
	at    int64 // what was read up to then is void, see Lookup.since
	l2    l2Use
	until int64 // 0 while the copy in Redis is not replaced
}

// purges are the marks of keys that were purged a short while ago. A revision cannot
// tell a wrong copy from the right one when both bear the same, so a purge goes by
// time: whatever began to be read before it is void, wherever it is by now.
//
// Two keys with one hash share a mark: one of them is asked for once more.
type purges struct {
	any   atomic.Bool // nearly always false, and then nobody takes the lock
	mu    sync.RWMutex
	marks map[uint64]mark
}

// begin makes void what was read of a key up to now, and keeps fills from Redis. It
// returns the time by which settle knows the mark.
func (p *purges) begin(h uint64, clock func() int64) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.marks == nil {
		p.marks = make(map[uint64]mark)
	}
	if _, again := p.marks[h]; !again && len(p.marks) >= maxMarks {
		p.drop(clock())
		if len(p.marks) >= maxMarks {
			return 0, errTooManyPurges
		}
	}
	// Before the clock is read: a fill that reads a later time sees that there are
	// marks, and finds this one once the lock is free.
	p.any.Store(true)
	at := clock()
	p.marks[h] = mark{at: at, l2: l2Never}
	return at, nil
}

// settle lets fills read Redis again, unless a later purge of the key has begun.
func (p *purges) settle(h uint64, at, now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.marks[h]; m.at == at && m.l2 == l2Never {
		p.marks[h] = mark{at: at, l2: l2Primary, until: now + int64(markLife)}
	}
}

// sweep forgets what is over.
func (p *purges) sweep(now int64) {
	if !p.any.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(now)
	p.any.Store(len(p.marks) > 0)
}

func (p *purges) drop(now int64) {
	for h, m := range p.marks {
		if m.until != 0 && now >= m.until {
			delete(p.marks, h)
		}
	}
}

// void says whether what began to be read at a time is void.
func (p *purges) void(h uint64, began int64) bool {
	return p.any.Load() && p.voidMarked(h, began)
}

func (p *purges) voidMarked(h uint64, began int64) bool {
	p.mu.RLock()
	m, marked := p.marks[h]
	p.mu.RUnlock()
	return marked && began <= m.at
}

// use says which copy in Redis may be believed.
func (p *purges) use(h uint64) l2Use {
	if !p.any.Load() {
		return l2Nearest
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.marks[h].l2
}

// Purge drops what is held of each entry's key, whatever its revision, replaces the
// copy in Redis by the entry, and says whether Redis has taken all of them. From its
// first moment on nothing that was read before is served, by whomever; until Redis has
// the entry, fills ask the origin, also after Purge has returned.
func (l *Lookup) Purge(ctx context.Context, entries []linkcache.Entry) (redisDone bool, err error) {
	clock := func() int64 { return l.since(time.Now()) }
	marks := make([]int64, len(entries))
	for i, entry := range entries {
		h := l.l1.hashString(entry.Key)
		if marks[i], err = l.purges.begin(h, clock); err != nil {
			return false, err
		}
		if l.floors.raise(h, entry.Record.Revision, marks[i]) {
			l.flush(byGap)
		}
		l.flights.forget(entry.Key)
		l.probes.forget(entry.Key)
		l.l1.del(h)
		l.metrics.invalidation[byPurge].Inc()
	}
	// Past the circuit breaker: a take-down is worth a try.
	ctx, cancel := context.WithTimeout(ctx, replaceTimeout)
	defer cancel()
	if _, err := l.records.Replace(ctx, entries); err != nil {
		l.metrics.l2Fail.Inc()
		l.log.WarnContext(ctx, "a purge did not reach redis: its keys are asked of the origin", "err", err)
		return false, nil
	}
	for i, entry := range entries {
		l.purges.settle(l.l1.hashString(entry.Key), marks[i], clock())
	}
	return true, nil
}
