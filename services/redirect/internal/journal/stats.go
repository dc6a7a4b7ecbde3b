package journal

import "time"

// Stats are counts from the journal's birth. Accepted is Produced, the dropped ones
// and Waiting together.
type Stats struct {
	Accepted uint64
	Produced uint64
	Full     uint64 // dropped: the bound was reached
	Damaged  uint64 // dropped: the disk gave back something else
	Disk     uint64 // dropped: the disk gave no room
	Waiting  uint64
	Bytes    uint64    // what Waiting takes
	Oldest   time.Time // of the oldest that waits, zero when none does
}

// Stats returns the counts; of a closed journal, those at its end.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return j.last
	}
	return j.stats()
}

func (j *Journal) stats() Stats {
	disk := j.state.get(offDisk)
	s := Stats{
		Accepted: j.state.get(offAppended) + disk, Produced: j.state.get(offProduced),
		Full: j.state.get(offFull), Damaged: j.state.get(offDamaged), Disk: disk, Waiting: j.waiting(),
	}
	for _, seg := range j.live {
		switch {
		case seg == j.cursor.seg:
			s.Bytes += uint64(max(seg.tail-j.cursor.off, 0))
			if b, ok := parse(j.table, seg.mem[:min(seg.tail, len(seg.mem))], j.cursor.off); ok {
				s.Oldest = time.UnixMicro(b.unixMicros)
			}
		case seg.end > j.cursor.next:
			s.Bytes += uint64(seg.tail - segmentHeader)
			if b, ok := parse(j.table, seg.mem, segmentHeader); ok && s.Oldest.IsZero() && seg.base >= j.cursor.next {
				s.Oldest = time.UnixMicro(b.unixMicros)
			}
		}
	}
	return s
}

// waiting is how many clicks are neither produced nor dropped.
func (j *Journal) waiting() uint64 {
	settled := j.state.get(offProduced) + j.state.get(offFull) + j.state.get(offDamaged)
	return max(j.state.get(offAppended), settled) - settled
}
