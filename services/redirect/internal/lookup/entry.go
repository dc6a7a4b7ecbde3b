package lookup

import (
	"math"
	"strings"
	"sync/atomic"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// Source says where an answer came from.
type Source uint8

// The sources, in the order in which they are asked. Stale is an entry that could
// not be confirmed because nobody answered.
const (
	L1 Source = iota
	L2
	Origin
	Stale
)

// Sources is how many there are.
const Sources = 4

// String is the name in metrics and in Server-Timing.
func (s Source) String() string {
	switch s {
	case L1:
		return "l1"
	case L2:
		return "l2"
	case Origin:
		return "origin"
	case Stale:
		return "stale"
	default:
		return "unknown"
	}
}

// Entry is what is known of one address. What a reader sees of it is never changed
// after it was made, so readers share it.
type Entry struct {
	// Record is the link, or the marker of a deleted one, or empty but for its
	// revision when no link lives here.
	linkcache.Record
	// Host and Slug are the address, parts of one string.
	Host, Slug string
	// Found says that a link lives here.
	Found bool

	key       string
	epoch     uint64 // of the fill's start
	filled    int64  // nanoseconds, see Lookup.since
	fresh     int64  // until when a trusted connection is enough
	confirmed int64  // until when it is trusted without one

	// refresh is from when on a hit asks for the entry again, behind its back. It is
	// the one thing of an entry that changes: whoever moves it on is the one who asks.
	refresh atomic.Int64
}

// entryBytes is what an entry costs beyond its strings: the struct (192, its size
// class), L1's item, key and frequency maps at their usual load (about 150), and
// the rounding of three strings. A guess until it is measured against a heap.
const entryBytes = 360

func newEntry(key string, r linkcache.Record) *Entry {
	e := &Entry{Record: r, key: key, Found: r.Destination != "" && !r.Deleted()}
	e.refresh.Store(math.MaxInt64)
	e.Host, e.Slug, _ = linkcache.SplitKey(key)
	return e
}

// unknown is the entry of an address without a link. Its revision is the newest
// that was known when the origin was asked: only something newer can change it.
func unknown(key string, revision uint64) *Entry {
	return newEntry(strings.Clone(key), linkcache.Record{Revision: revision})
}

func (e *Entry) cost() int64 {
	return int64(entryBytes + len(e.key) + len(e.Destination) + len(e.Fallback))
}
