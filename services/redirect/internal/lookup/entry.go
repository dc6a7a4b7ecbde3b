package lookup

import (
	"math"

	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
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

// Entry is what is known of one address.
type Entry struct {
	// Record is the link, or the marker of a deleted one, or empty but for its
	// revision when no link lives here.
	linkcache.Record
	// Host and Slug are the address, parts of one string.
	Host, Slug string
	// Found says that a link lives here.
	Found bool
	// Program is what the record's options have become; those are not kept.
	Program option.Program

	key       string
	epoch     uint64 // of the fill's start
	filled    int64  // nanoseconds, see Lookup.since
	fresh     int64  // until when a trusted connection is enough
	confirmed int64  // until when it is trusted without one
	refresh   int64  // from when on a hit asks for the entry again, behind its back
}

func newEntry(key string, r linkcache.Record) *Entry {
	e := &Entry{Record: r, key: key, refresh: math.MaxInt64}
	e.derive()
	return e
}

// unreadable is a flag of no release: the link's options make no sense to this one.
const unreadable linkcache.Flags = 1 << 14

// newEntry compiles the options, too.
func (l *Lookup) newEntry(key string, r linkcache.Record) *Entry {
	if r.Options == "" {
		return newEntry(key, r)
	}
	program, err := option.Compile(r.Options, l.zones)
	if err != nil {
		l.log.Warn("the options of a link cannot be read; it is not served", "key", key, "err", err)
		r.Flags |= unreadable
	}
	r.Options = ""
	e := newEntry(key, r)
	e.Program = program
	return e
}

// derive sets what follows from the key and the record.
func (e *Entry) derive() {
	e.Found = e.Destination != "" && !e.Deleted()
	e.Host, e.Slug, _ = linkcache.SplitKey(e.key)
}

// unknown is the entry of an address without a link. Its revision is the newest
// that was known when the origin was asked: only something newer can change it.
func unknown(key string, revision uint64) *Entry {
	return newEntry(key, linkcache.Record{Revision: revision})
}
