package clicks

import (
	"math/rand/v2"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

// Batch gathers the clicks of one round of an event loop. It belongs to one
// goroutine and is used again and again: once its buffer has grown, it allocates
// nothing. The zero value is empty.
type Batch struct {
	buf   []byte // clicks as the journal keeps them
	from  int    // of what is not handed over yet
	count int
	first int64 // time of the first click, Unix microseconds
}

// Add gives the click its id and takes a copy of it. What the click points to may be
// reused at once.
func (b *Batch) Add(c *events.Click) {
	c.ID = newID(c.TimeUnixMicro)
	if b.count == 0 {
		b.first = c.TimeUnixMicro
	}
	start := len(b.buf)
	b.buf = events.AppendClick(journal.OpenClick(b.buf), c)
	journal.CloseClick(b.buf, start)
	b.count++
}

// Len is how many clicks it holds.
func (b *Batch) Len() int { return b.count }

// head is as much as fits in one block of the journal: all of it, but for a round
// with thousands of clicks.
func (b *Batch) head() (payload []byte, count int) {
	payload = b.buf[b.from:]
	if len(payload) <= journal.MaxPayload {
		return payload, b.count
	}
	rest := payload
	for {
		click, behind, ok := journal.NextClick(rest)
		if !ok || count > 0 && len(payload)-len(behind) > journal.MaxPayload {
			return payload[:len(payload)-len(rest)], count
		}
		_, rest = click, behind
		count++
	}
}

func (b *Batch) cut(bytes, count int) { b.from, b.count = b.from+bytes, b.count-count }

func (b *Batch) reset() { b.buf, b.from, b.count = b.buf[:0], 0, 0 }

// newID is a UUIDv7: milliseconds, then 74 random bits. The generator of
// math/rand/v2 is ChaCha8, seeded by the system for every thread, so it needs no
// lock and no system call; ids need to be unique, not secret.
func newID(unixMicro int64) (id [16]byte) {
	millis, a, b := uint64(unixMicro/1000), rand.Uint64(), rand.Uint64()
	for i := range 6 {
		id[i] = byte(millis >> (40 - 8*i))
	}
	id[6], id[7] = 0x70|byte(a>>8)&0x0f, byte(a)
	for i := range 8 {
		id[8+i] = byte(b >> (56 - 8*i))
	}
	id[8] = 0x80 | id[8]&0x3f
	return id
}
