package journal

import "hash/crc32"

// Append takes a payload of count clicks, the first of which happened at the given
// time. It says false, and counts, when it cannot: the disk gave no room. It never
// waits for a disk; when the bound is reached it gives up the oldest clicks.
//
// A payload longer than MaxPayload is not taken at all.
func (j *Journal) Append(payload []byte, count int, unixMicros int64) bool {
	sum := crc32.Checksum(payload, j.table) // not under the lock
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		j.last.Accepted += uint64(count)
		j.last.Disk += uint64(count)
		return false
	}
	seg := j.live[len(j.live)-1]
	if len(payload) > MaxPayload || count <= 0 || seg.room() < blockSize(len(payload)) {
		if len(payload) > MaxPayload || count <= 0 || !j.rotate() {
			j.state.add(offDisk, uint64(count))
			return false
		}
		seg = j.live[len(j.live)-1]
	}
	b := block{length: len(payload), first: seg.end, count: uint32(count), sum: sum, unixMicros: unixMicros}
	put(j.table, seg.mem, seg.tail, b, payload)
	seg.tail += b.size()
	seg.end = b.end()
	j.state.set(offAppended, seg.end)
	return true
}

// rotate goes on in the next segment: one that is ready or, at the bound, the
// oldest. It says false when there is neither.
func (j *Journal) rotate() bool {
	switch {
	case len(j.spare) > 0:
		seg := j.spare[len(j.spare)-1]
		j.spare = j.spare[:len(j.spare)-1]
		j.begin(seg)
	case j.count() >= j.most && len(j.live) > 1 && len(j.live[0].mem) == j.size:
		j.begin(j.giveUp())
	default:
		j.signal()
		return false
	}
	j.signal()
	return true
}

// giveUp takes the oldest segment out and counts what nobody has read of it. What
// was read and is not settled counts as dropped when the reader comes back for it.
func (j *Journal) giveUp() *segment {
	seg := j.live[0]
	j.live = append(j.live[:0], j.live[1:]...)
	if from := max(j.cursor.next, seg.base); from < seg.end {
		lost := seg.end - from
		j.state.add(offFull, lost)
		j.untold += lost
	}
	if j.cursor.seg == seg || j.cursor.next < seg.end {
		j.cursor = cursor{next: max(j.cursor.next, seg.end)}
	}
	return seg
}

// count is how many segments there are or will be.
func (j *Journal) count() int { return len(j.live) + len(j.spare) + len(j.settled) + j.making }

// signal wakes the one who prepares segments.
func (j *Journal) signal() {
	select {
	case j.wake <- struct{}{}:
	default: // it is awake
	}
}

// Refused counts clicks that came before the journal was open.
func (j *Journal) Refused(count uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		j.last.Accepted += count
		j.last.Disk += count
		return
	}
	j.state.add(offDisk, count)
}
