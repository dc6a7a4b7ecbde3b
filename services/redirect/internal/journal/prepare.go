package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// tryAgain is the pause after a segment could not be made.
	tryAgain = time.Second
	// maxAge is how long clicks that are settled may stay in a segment that an idle
	// edge does not fill. They hold addresses.
	maxAge = 24 * time.Hour
)

var errClosed = errors.New("the journal is closed")

// Run prepares segments ahead of the writer until ctx is done.
func (j *Journal) Run(ctx context.Context) error {
	tick := time.NewTicker(tryAgain)
	defer tick.Stop()
	for {
		j.prepare()
		select {
		case <-ctx.Done():
			return nil
		case <-j.wake:
		case now := <-tick.C:
			j.retire(now)
		}
	}
}

// prepare makes segments until enough wait for the writer, and removes those that
// nobody needs.
func (j *Journal) prepare() {
	for {
		j.tell()
		seg, excess, more := j.next()
		switch {
		case excess != nil:
			if err := excess.drop(); err != nil {
				j.failed(err)
			}
		case seg != nil:
			wipe(seg.mem)
			j.ready(seg, nil)
		case more:
			seg, err := j.create()
			j.ready(seg, err)
			if err != nil {
				return
			}
		default:
			return
		}
	}
}

// next says what is to be done: wipe a segment, remove one, or make one.
func (j *Journal) next() (wiped, excess *segment, more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ready := len(j.spare) + j.making
	if n := len(j.settled); n > 0 && !j.closed {
		seg := j.settled[n-1]
		j.settled = j.settled[:n-1]
		if ready >= keeps || len(seg.mem) != j.size {
			return nil, seg, false
		}
		j.making++
		return seg, nil, false
	}
	if ready >= spares || j.closed || j.count() >= j.most {
		return nil, nil, false
	}
	j.making++
	return nil, nil, true
}

// ready takes a segment that was prepared, or the reason why there is none.
func (j *Journal) ready(seg *segment, err error) {
	if err != nil {
		j.mu.Lock()
		j.making--
		j.mu.Unlock()
		j.failed(err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.making--
	if j.closed {
		_ = unix.Munmap(seg.mem) // the file is found at the next start
		return
	}
	j.spare = append(j.spare, seg)
	if j.err != nil {
		j.err = nil
		j.log.Info("the journal has room on the disk again")
	}
}

func (j *Journal) failed(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.log.Error("the disk gives the journal no room: clicks are dropped once the last segment is full", "err", err)
	}
	j.err = err
}

// tell logs the beginning and the end of a time in which clicks are given up.
func (j *Journal) tell() {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch room := len(j.settled) > 0 || len(j.spare) > 0; {
	case j.untold > 0 && !j.full:
		j.full = true
		j.log.Error("the journal is full: the oldest clicks are given up", "waiting", j.waiting(), "given_up", j.untold)
	case j.full && room:
		j.log.Info("the journal has room again", "given_up", j.untold)
		j.full, j.untold = false, 0
	}
}

// retire starts another segment when the newest one holds only clicks that were
// settled long ago, so that it can be wiped.
func (j *Journal) retire(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || len(j.spare) == 0 {
		return
	}
	last := j.live[len(j.live)-1]
	if last.end == last.base || last.since > now.Add(-maxAge).Unix() || j.state.get(offNext) < last.end || j.cursor.next < last.end {
		return
	}
	j.rotate()
	j.cursor = cursor{seg: j.live[len(j.live)-1], off: segmentHeader, next: j.cursor.next}
	j.settle(last.end)
}

// Err says why clicks are dropped, or soon will be: the disk gives no room.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil && len(j.spare) == 0 {
		return fmt.Errorf("the disk gives the journal no room: %w", j.err)
	}
	return nil
}
