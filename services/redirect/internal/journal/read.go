package journal

import (
	"fmt"
	"hash/crc32"
)

// Chunk is what Take copied out: whole blocks, in order.
type Chunk struct {
	From, To uint64 // numbers of the first click and behind the last
	Clicks   int    // how many are in Payload: To-From without those that are damaged
	Payload  []byte // see NextClick
}

// Lost is how many clicks of the chunk's numbers were damaged.
func (c Chunk) Lost() uint64 { return c.To - c.From - uint64(c.Clicks) }

// Take copies the next blocks into room, no more than limit bytes of payload unless
// the first block is longer, and goes past them. It says false when there are none.
//
// The copy is made without the lock: a segment that is given up meanwhile is
// noticed afterwards, and the copy thrown away.
func (j *Journal) Take(room []byte, limit int) (Chunk, bool) {
	for {
		at, tail, upTo, ok := j.locate()
		if !ok {
			return Chunk{}, false
		}
		chunk, off := j.copy(room, limit, at, tail, upTo)
		if j.advance(at, chunk, off) {
			if chunk.To > chunk.From {
				return chunk, true
			}
			continue // this segment is done
		}
		room = chunk.Payload[:0]
	}
}

// locate finds the segment of the next click, how far it is written and which
// click comes behind it.
func (j *Journal) locate() (at cursor, tail int, upTo uint64, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.cursor.next >= j.live[len(j.live)-1].end {
		return cursor{}, 0, 0, false
	}
	if j.cursor.seg == nil {
		seg := j.live[0]
		for _, s := range j.live {
			if s.base > j.cursor.next {
				break
			}
			seg = s
		}
		j.cursor = cursor{seg: seg, off: segmentHeader, next: max(j.cursor.next, seg.base)}
	}
	seg := j.cursor.seg
	return j.cursor, min(seg.tail, len(seg.mem)), seg.end, true
}

// copy reads blocks up to the limit. It returns where it stopped. Reading past the
// end of what a segment holds yields an empty chunk at its end.
func (j *Journal) copy(room []byte, limit int, at cursor, tail int, upTo uint64) (Chunk, int) {
	c := Chunk{From: at.next, To: at.next, Payload: room[:0]}
	mem, off := at.seg.mem[:tail], at.off
	for c.To < upTo {
		b, ok := parse(j.table, mem, off)
		switch {
		case ok && b.end() <= c.To: // read and settled before
			off += b.size()
			continue
		case ok && b.first <= c.To && b.end() <= upTo:
			if len(c.Payload) > 0 && len(c.Payload)+b.length > limit {
				return c, off
			}
			start := len(c.Payload)
			c.Payload = append(c.Payload, mem[off+blockHeader:off+blockHeader+b.length]...)
			off += b.size()
			fresh, n, whole := behind(c.Payload[start:], b, c.To)
			if !whole || crc32.Checksum(c.Payload[start:], j.table) != b.sum {
				c.Payload = c.Payload[:start] // damaged: its clicks are lost
			} else {
				c.Payload = c.Payload[:start+copy(c.Payload[start:], fresh)]
				c.Clicks += n
			}
			c.To = b.end()
		default: // damage: go on at the next block, or at the next segment
			next, more := resync(j.table, mem, off+align, c.To, upTo)
			if !more {
				c.To = upTo
				return c, len(mem)
			}
			b, _ = parse(j.table, mem, next)
			off, c.To = next, max(c.To, b.first)
		}
	}
	return c, off
}

// behind is the part of a block's payload from click number from on, and how many
// clicks that is. It says false when the payload does not hold what its header says.
func behind(payload []byte, b block, from uint64) (part []byte, n int, ok bool) {
	part = payload
	for number, rest := b.first, payload; number < b.end(); number++ {
		if number == max(from, b.first) {
			part = rest
		}
		if _, rest, ok = NextClick(rest); !ok {
			return nil, 0, false
		}
	}
	return part, int(b.end() - max(from, b.first)), true
}

// advance moves the cursor, unless its segment was given up while it was read.
func (j *Journal) advance(at cursor, c Chunk, off int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.cursor != at {
		return false
	}
	j.cursor.off, j.cursor.next = off, c.To
	for i, s := range j.live[:len(j.live)-1] {
		if s == at.seg && c.To >= s.end {
			next := j.live[i+1]
			j.cursor = cursor{seg: next, off: segmentHeader, next: max(c.To, next.base)}
		}
	}
	return true
}

// Committing notes a transaction whose end is about to be asked for.
func (j *Journal) Committing(c Commit) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.state.putCommit(c)
	}
}

// Unknown is the last transaction that was noted.
func (j *Journal) Unknown() (Commit, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return Commit{}, false
	}
	return j.state.commit()
}

// Checkpoint is where sending stands.
type Checkpoint struct {
	Journal  [16]byte // whose it is
	Next     uint64   // number of the first click that is not settled
	Produced uint64   // clicks that were produced from the journal's birth
}

// Local is the checkpoint as this machine knows it. The broker's is ahead of it after
// a crash. That of a closed journal is zero.
func (j *Journal) Local() Checkpoint {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return Checkpoint{}
	}
	return Checkpoint{Journal: j.id, Next: j.state.get(offNext), Produced: j.state.get(offProduced)}
}

// Settle says that all clicks before next are at the broker, produced of them since
// the journal's birth, or lost to damage. Their segments may be used again.
func (j *Journal) Settle(next, produced, damaged uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.state.set(offProduced, produced)
	j.state.add(offDamaged, damaged)
	j.settle(next)
}

// settle frees the segments before a click.
func (j *Journal) settle(next uint64) {
	j.state.raise(offNext, next)
	n := 0
	for n < len(j.live)-1 && j.live[n].end <= next && j.live[n] != j.cursor.seg {
		n++
	}
	if n > 0 {
		j.settled = append(j.settled, j.live[:n]...)
		j.live = append(j.live[:0], j.live[n:]...)
		j.signal()
	}
}

// Rewind starts reading at the broker's checkpoint, or at the local one if that is
// newer or the broker's is of another journal. It returns how many clicks turn out
// to be lost: given up while they were on their way, or damaged.
//
// A checkpoint that is ahead of all that was here when the journal was opened means
// that the directory is an older copy. What it held was sent; what was appended since
// has numbers that are taken, so the journal gets an id of its own from here on.
func (j *Journal) Rewind(c Checkpoint) (lost uint64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, fmt.Errorf("reading the journal: %w", errClosed)
	}
	next, produced := j.state.get(offNext), j.state.get(offProduced)
	switch {
	case c.Journal != j.id:
	case !j.rewound && c.Next > j.opened:
		j.id = newID()
		j.state.rename(j.id)
		next = j.opened
		produced = next - min(next, j.state.get(offFull)+j.state.get(offDamaged))
	case c.Next > next:
		next, produced = c.Next, c.Produced
	}
	j.rewound = true
	start := max(next, j.live[0].base)
	j.cursor = cursor{next: start}
	j.state.set(offProduced, produced)
	j.settle(start)
	// Every click before the cursor was produced or dropped. What is missing was read
	// and then given up, or its count was lost with the last process.
	if settled := produced + j.state.get(offFull) + j.state.get(offDamaged); settled < start {
		lost = start - settled
		j.state.add(offFull, lost)
		j.untold += lost
	}
	return lost, nil
}
