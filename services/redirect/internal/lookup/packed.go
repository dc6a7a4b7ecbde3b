package lookup

import (
	"encoding/binary"
	"strings"

	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
)

// packed is an entry as L1 holds it: numbers, ids and texts, one after the other in one
// string. A collection looks at every pointer in memory, and half a million entries with
// five of them each cost a quarter of a second of a core, every time; a string without
// any costs a third of that, and a fifth less memory.
type packed string

// Where things are. Key, destination and fallback follow in this order. Those of a link
// with a title or options are followed by these, and by the lengths of fallback and title:
// a plain link does not pay for them.
const (
	atVersion = 8 * iota
	atRevision
	atStarts
	atExpires
	atEpoch
	atFilled
	atFresh
	atConfirmed
	atRefresh
	atLink
	_
	atWorkspace
	_
	atLengths // two bytes each for those of key and destination, for status and flags
	packedBytes

	// hasMore is a bit of the status: there are a title or options.
	hasMore   = 1 << 15
	moreBytes = 8
)

const (
	// entryBytes is what an entry costs beyond its text: packedBytes, its places in L1's
	// two maps, which are half empty when they have just grown, and rounding. Measured,
	// and the most of it taken:
	// go test -run '^$' -bench Memory/ -benchtime 1x ./services/redirect/internal/lookup
	entryBytes = 315
	// ordinaryBytes is an entry with the text of an ordinary link.
	ordinaryBytes = 480
)

func pack(e *Entry) packed {
	var head [packedBytes]byte
	put := func(at int, n uint64) { binary.LittleEndian.PutUint64(head[at:], n) }
	put(atVersion, e.Version)
	put(atRevision, e.Revision)
	put(atStarts, uint64(e.StartsAt))
	put(atExpires, uint64(e.ExpiresAt))
	put(atEpoch, e.epoch)
	put(atFilled, uint64(e.filled))
	put(atFresh, uint64(e.fresh))
	put(atConfirmed, uint64(e.confirmed))
	put(atRefresh, uint64(e.refresh))
	copy(head[atLink:], e.LinkID[:])
	copy(head[atWorkspace:], e.WorkspaceID[:])
	status, more := uint16(e.Status), len(e.Title)+len(e.Program)
	if more > 0 {
		status |= hasMore
		more += moreBytes
	}
	put(atLengths, uint64(len(e.key))|uint64(len(e.Destination))<<16|uint64(e.Flags)<<48|uint64(status)<<32)
	var b strings.Builder
	b.Grow(packedBytes + len(e.key) + len(e.Destination) + len(e.Fallback) + more)
	b.Write(head[:])
	b.WriteString(e.key)
	b.WriteString(e.Destination)
	b.WriteString(e.Fallback)
	if more > 0 {
		b.WriteString(e.Title)
		b.WriteString(string(e.Program))
		var tail [moreBytes]byte
		binary.LittleEndian.PutUint64(tail[:], uint64(len(e.Fallback))|uint64(len(e.Title))<<32)
		b.Write(tail[:])
	}
	return packed(b.String())
}

// fits says whether the lengths have room. A key has a few hundred bytes at most, and a
// destination 8,000.
func fits(e *Entry) bool { return len(e.key) < 1<<16 && len(e.Destination) < 1<<16 }

func (p packed) word(at int) uint64 {
	s := p[at : at+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (p packed) key() string { return string(p[packedBytes:][:uint16(p.word(atLengths))]) }

func (p packed) revision() uint64 { return p.word(atRevision) }

func (p packed) cost() int64 { return int64(entryBytes - packedBytes + len(p)) }

// unpack writes the entry over e. Its texts are parts of p.
func (p packed) unpack(e *Entry) {
	lengths := p.word(atLengths)
	text := string(p[packedBytes:])
	key, destination := int(uint16(lengths)), int(uint16(lengths>>16))
	e.Version, e.Revision = p.word(atVersion), p.word(atRevision)
	e.StartsAt, e.ExpiresAt = int64(p.word(atStarts)), int64(p.word(atExpires))
	e.epoch = p.word(atEpoch)
	e.filled, e.fresh = int64(p.word(atFilled)), int64(p.word(atFresh))
	e.confirmed, e.refresh = int64(p.word(atConfirmed)), int64(p.word(atRefresh))
	copy(e.LinkID[:], p[atLink:])
	copy(e.WorkspaceID[:], p[atWorkspace:])
	status := uint16(lengths >> 32)
	e.Status, e.Flags = int(status&^hasMore), linkcache.Flags(lengths>>48)
	e.key, e.Destination, e.Fallback = text[:key], text[key:key+destination], text[key+destination:]
	e.Title, e.Program, e.Options = "", "", ""
	if status&hasMore != 0 {
		p.unpackMore(e)
	}
	e.derive()
}

// unpackMore takes title and options off the end of what unpack took for the fallback.
func (p packed) unpackMore(e *Entry) {
	lengths, rest := p.word(len(p)-moreBytes), e.Fallback[:len(e.Fallback)-moreBytes]
	fallback, title := int(uint32(lengths)), int(lengths>>32)
	e.Fallback, e.Title, e.Program = rest[:fallback], rest[fallback:fallback+title], option.Program(rest[fallback+title:])
}
