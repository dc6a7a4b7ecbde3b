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
	// marksPerShard bounds the memory: 256 x 128 marks of some 50 bytes are 2 MB. A purge
	// beyond it is refused, and its caller counts an edge that did not confirm.
	purgeShards   = 256
	marksPerShard = 128
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
	shards [purgeShards]purgeShard
}

type purgeShard struct {
	any   atomic.Bool // nearly always false, and then nobody takes the lock
	mu    sync.RWMutex
	marks map[uint64]mark
}

func (p *purges) shard(h uint64) *purgeShard { return &p.shards[h%purgeShards] }

// begin makes void what was read of a key up to now, and keeps fills from Redis. It
// returns the time by which settle knows the mark.
func (p *purges) begin(h uint64, clock func() int64) (int64, error) {
	s := p.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marks == nil {
		s.marks = make(map[uint64]mark)
	}
	if _, again := s.marks[h]; !again && len(s.marks) >= marksPerShard {
		s.drop(clock())
		if len(s.marks) >= marksPerShard {
			return 0, errTooManyPurges
		}
	}
	// Before the clock is read: a fill that reads a later time sees that there are
	// marks, and finds this one once the lock is free.
	s.any.Store(true)
	at := clock()
	s.marks[h] = mark{at: at, l2: l2Never}
	return at, nil
}

// settle lets fills read Redis again, unless a later purge of the key has begun.
func (p *purges) settle(h uint64, at, now int64) {
	s := p.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.marks[h]; m.at == at && m.l2 == l2Never {
		s.marks[h] = mark{at: at, l2: l2Primary, until: now + int64(markLife)}
	}
}

// sweep forgets what is over.
func (p *purges) sweep(now int64) {
	for i := range p.shards {
		s := &p.shards[i]
		if !s.any.Load() {
			continue
		}
		s.mu.Lock()
		s.drop(now)
		s.any.Store(len(s.marks) > 0)
		s.mu.Unlock()
	}
}

func (s *purgeShard) drop(now int64) {
	for h, m := range s.marks {
		if m.until != 0 && now >= m.until {
			delete(s.marks, h)
		}
	}
}

// void says whether what began to be read at a time is void.
func (p *purges) void(h uint64, began int64) bool {
	s := p.shard(h)
	return s.any.Load() && s.void(h, began)
}

func (s *purgeShard) void(h uint64, began int64) bool {
	s.mu.RLock()
	m, marked := s.marks[h]
	s.mu.RUnlock()
	return marked && began <= m.at
}

// use says which copy in Redis may be believed.
func (p *purges) use(h uint64) l2Use {
	s := p.shard(h)
	if !s.any.Load() {
		return l2Nearest
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.marks[h].l2
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
			l.metrics.floorsDropped.Inc()
		}
		l.flights.forget(entry.Key)
		l.probes.forget(entry.Key)
		l.l1.del(h)
		l.metrics.invalidation[byPurge].Inc()
	}
	// Past the circuit breaker: a take-down is worth a try.
	ctx, cancel := context.WithTimeout(ctx, replaceTimeout)
	defer cancel()
	if err := l.replace(ctx, entries); err != nil {
		l.metrics.l2Fail.Inc()
		l.log.WarnContext(ctx, "a purge did not reach redis: its keys are asked of the origin", "err", err)
		return false, nil
	}
	for i, entry := range entries {
		l.purges.settle(l.l1.hashString(entry.Key), marks[i], clock())
	}
	return true, nil
}

// replace puts entries into Redis. What Redis holds to be newer than an entry may have
// changed since the purge was asked for, or have a revision that nobody gave: the
// origin knows.
func (l *Lookup) replace(ctx context.Context, entries []linkcache.Entry) error {
	outcomes, err := l.records.Replace(ctx, entries)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if outcomes[i] != linkcache.Stale {
			continue
		}
		outcome, err := l.records.Overrule(ctx, entry.Key, func(ctx context.Context) (linkcache.Record, error) { return l.truth(ctx, entry) })
		if err != nil {
			return err
		}
		if outcome == linkcache.Applied {
			l.log.WarnContext(ctx, "redis held a record with a revision that was never given", "key", entry.Key)
		}
	}
	return nil
}

// truth is what lives at an address now, as the origin has it.
func (l *Lookup) truth(ctx context.Context, entry linkcache.Entry) (linkcache.Record, error) {
	link, err := l.resolve(ctx, entry.Key)
	if err != nil {
		return linkcache.Record{}, err
	}
	if link != nil {
		found, err := linkcache.Entries(link)
		if err != nil {
			return linkcache.Record{}, err
		}
		if found[0].Key == entry.Key {
			return found[0].Record, nil
		}
	}
	gone := entry.Record // nothing lives there
	gone.Destination, gone.Fallback, gone.Flags = "", "", linkcache.FlagDeleted
	return gone, nil
}
