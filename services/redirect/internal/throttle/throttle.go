// Package throttle bounds how many requests a second one address may make of this
// process.
//
// It promises a token bucket for each address, counted in whole nanoseconds, in a table
// that never grows and a step that allocates nothing. An IPv6 address stands for its
// /64, because whoever has one has them all. Where more addresses come than the table
// holds, the one that has used least is forgotten: somebody may get a new bucket too
// early, and nobody is refused for what another did.
//
// It refuses to be exact over a fleet: each process counts for itself.
package throttle

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"
)

const (
	// sets x ways addresses are remembered, 2 MB of them. A set is what one address
	// may be in, and two cache lines long.
	sets = 1 << 14
	ways = 8
	// shards is how many locks guard them.
	shards = 256

	// MaxRate is the highest rate there can be: a token comes back in a microsecond.
	MaxRate = 1_000_000
	// MaxBurst is the largest burst, far from what an int64 of nanoseconds holds.
	MaxBurst = 1_000_000
)

// Table holds the buckets. It is safe for concurrent use.
//
// A bucket is one number, the time at which it is full again: each token taken moves
// it on by the time in which one comes back, and as long as it is not further away
// than burst tokens take, there was one to take.
type Table struct {
	every int64 // nanoseconds in which one token comes back
	most  int64 // how far from full a bucket may get
	seed  maphash.Seed
	base  time.Time
	locks [shards]sync.Mutex
	sets  [][ways]bucket
}

type bucket struct {
	key  uint64
	full int64 // when, since the table's base; 0 for a place nobody has
}

// New returns a table of full buckets: rate tokens come back a second, and burst is
// how many there are at most. Both are at least 1 and at most MaxRate and MaxBurst.
func New(rate, burst int, now time.Time) *Table {
	every := int64(time.Second) / int64(rate)
	return &Table{
		every: every,
		most:  every * int64(burst),
		seed:  maphash.MakeSeed(),
		base:  now,
		sets:  make([][ways]bucket, sets),
	}
}

// Take takes a token of an address. Where there is none it says after how long there
// is one.
func (t *Table) Take(addr netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	key := keyOf(addr)
	var room [8]byte
	binary.LittleEndian.PutUint64(room[:], key)
	set := maphash.Bytes(t.seed, room[:]) % sets // seeded: nobody can choose who shares a set
	at := int64(now.Sub(t.base)) + 1             // 0 is for free places
	lock := &t.locks[set%shards]
	lock.Lock()
	defer lock.Unlock()
	b := place(&t.sets[set], key)
	// A clock that was set back must not make anybody wait longer than an empty bucket.
	full := min(max(b.full, at), at+t.most)
	if wait := full + t.every - at - t.most; wait > 0 {
		b.full = full
		return time.Duration(wait), false
	}
	b.full = full + t.every
	return 0, true
}

// place returns the bucket of a key. A key without one takes over that which is, or
// soonest will be, full.
func place(set *[ways]bucket, key uint64) *bucket {
	free, least := 0, int64(math.MaxInt64)
	for i := range set {
		b := &set[i]
		if b.key == key && b.full != 0 {
			return b
		}
		if b.full < least {
			free, least = i, b.full
		}
	}
	set[free] = bucket{key: key}
	return &set[free]
}

// v4 marks the keys of IPv4 addresses: as IPv6 it would be a multicast network, where
// nobody comes from.
const v4 = 0xffff_ffff << 32

func keyOf(addr netip.Addr) uint64 {
	addr = addr.Unmap()
	if addr.Is4() {
		four := addr.As4()
		return v4 | uint64(binary.BigEndian.Uint32(four[:]))
	}
	sixteen := addr.As16()
	return binary.BigEndian.Uint64(sixteen[:8])
}
