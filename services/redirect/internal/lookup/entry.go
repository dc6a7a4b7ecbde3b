package lookup

import (
	"math"
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

const (
	// entryBytes is what an entry costs beyond its text: the struct (208), its places in
	// L1's two maps, which are half empty when they have just grown, and the rounding of
	// the text. Measured, and the most of it taken:
	// go test -run '^$' -bench Memory/ -benchtime 1x ./services/redirect/internal/lookup
	entryBytes = 390
	// ordinaryBytes is an entry with the text of an ordinary link.
	ordinaryBytes = 560
)

// newEntry copies the texts of a record into one string, so that an entry is two objects
// on the heap: collections look at each, and there are half a million of them.
func newEntry(key string, r linkcache.Record) *Entry {
	e := &Entry{Record: r, Found: r.Destination != "" && !r.Deleted()}
	text := key + r.Destination + r.Fallback
	e.key, text = text[:len(key)], text[len(key):]
	e.Destination, e.Fallback = text[:len(r.Destination)], text[len(r.Destination):]
	e.refresh.Store(math.MaxInt64)
	e.Host, e.Slug, _ = linkcache.SplitKey(e.key)
	return e
}

// unknown is the entry of an address without a link. Its revision is the newest
// that was known when the origin was asked: only something newer can change it.
func unknown(key string, revision uint64) *Entry {
	return newEntry(key, linkcache.Record{Revision: revision})
}

func (e *Entry) cost() int64 {
	return int64(entryBytes + len(e.key) + len(e.Destination) + len(e.Fallback))
}
