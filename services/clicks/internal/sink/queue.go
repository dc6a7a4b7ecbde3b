package sink

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recordOverhead is what a record takes beside its value, in bytes: kgo.Record and
// the slices around it.
const recordOverhead = 256

func size(r *kgo.Record) int { return len(r.Value) + recordOverhead }

// limits close a batch, whichever comes first. Bytes are those of the records in
// memory: they bound the memory of a partition to about twice that, one batch in
// hand and the next one.
type limits struct {
	rows  int
	bytes int
	wait  time.Duration
}

// batch is a range of a partition with its records. Offsets in it that no record has
// are the broker's own (ends of transactions) or of transactions that were aborted:
// committed records alone are read, and those of a range are the same whoever reads
// it. A redone range may have lost records to the topic's retention, even all of them.
type batch struct {
	span
	records []*kgo.Record
	// redone says that the range may have been inserted before, at when it was noted.
	redone bool
	at     time.Time
}

// queue holds the records of one partition that have been fetched and not yet
// taken. Its bound is one batch: the fetching of the partition is paused when it
// is reached and goes on when the batch is taken (overflow policy: block, the
// broker keeps the rest).
type queue struct {
	limits limits
	pause  func()
	resume func()
	wake   chan struct{} // holds one: something changed

	mu      sync.Mutex
	records []*kgo.Record
	bytes   int
	since   time.Time // when the oldest record came
	next    int64     // the first offset that is not done; -1 before the first record of a partition without commit
	redo    *noted    // the range that an earlier owner noted
	paused  bool
	closed  bool
}

func newQueue(limits limits, committed int64, redo *noted, pause, resume func()) *queue {
	return &queue{limits: limits, pause: pause, resume: resume, wake: make(chan struct{}, 1), next: committed, redo: redo}
}

// offer adds records in the order of their offsets.
func (q *queue) offer(records []*kgo.Record, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(records) == 0 {
		return
	}
	if n := len(q.records); n > 0 && records[0].Offset <= q.records[n-1].Offset {
		// The broker lost the end of its log and the client went back: what is
		// queued is no longer in the log, or comes again.
		q.records, q.bytes = nil, 0
	}
	if len(q.records) == 0 {
		q.since = now
	}
	q.records = append(q.records, records...)
	for _, r := range records {
		q.bytes += size(r)
	}
	if q.full() && !q.paused {
		q.paused = true
		q.pause()
	}
	q.signal()
}

// full says whether there is a whole batch.
func (q *queue) full() bool {
	if q.redo != nil && !q.redoComplete() {
		return false // pausing now would leave the range incomplete for ever
	}
	return len(q.records) >= q.limits.rows || q.bytes >= q.limits.bytes
}

func (q *queue) redoComplete() bool {
	n := len(q.records)
	return n > 0 && (q.records[n-1].Offset >= q.redo.to-1 || q.records[0].Offset < q.redo.from)
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// ready says whether take has a batch, and if not how long to wait for one; 0 is
// until something changes.
func (q *queue) ready(now time.Time) (time.Duration, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.records) == 0:
		return 0, false
	case q.redo != nil:
		return 0, q.redoComplete()
	case q.full():
		return 0, true
	}
	wait := q.limits.wait - now.Sub(q.since)
	return max(wait, 0), wait <= 0
}

// take returns the next batch, which is what is there once ready has said so: more
// may have come since, up to the limits.
func (q *queue) take(now time.Time) (batch, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.records) == 0 {
		return batch{}, false
	}
	if q.redo != nil {
		if !q.redoComplete() {
			return batch{}, false
		}
		redo := *q.redo
		q.redo = nil
		if q.records[0].Offset >= redo.from {
			n := 0
			for n < len(q.records) && q.records[n].Offset < redo.to {
				n++
			}
			return batch{span: redo.span, records: q.cut(n, redo.to, now), redone: true, at: redo.at}, true
		}
		// The client starts below the note: the broker lost its log and the noted
		// offsets will name other records.
	}
	n, bytes := 0, 0
	for n < len(q.records) && n < q.limits.rows && bytes < q.limits.bytes {
		bytes += size(q.records[n])
		n++
	}
	s := span{from: q.records[0].Offset, to: q.records[n-1].Offset + 1}
	if q.next >= 0 && q.next < s.from {
		s.from = q.next // offsets in between are the broker's own records and those of aborted transactions
	}
	return batch{span: s, records: q.cut(n, s.to, now), at: now.Truncate(time.Millisecond)}, true
}

// cut takes the first n records and lets fetching go on.
func (q *queue) cut(n int, next int64, now time.Time) []*kgo.Record {
	taken := q.records[:n:n]
	q.records = append([]*kgo.Record(nil), q.records[n:]...) // the taken ones must not stay in memory with the rest
	for _, r := range taken {
		q.bytes -= size(r)
	}
	q.since, q.next = now, next
	if q.paused && !q.full() {
		q.paused = false
		q.resume()
	}
	return taken
}

// close drops what is queued: it has not been committed and will be read again.
// The pause must not outlive the assignment, because the client would remember it.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.records, q.bytes = nil, 0
	if q.paused {
		q.paused = false
		q.resume()
	}
}
