package journal

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MinBytes is the smallest bound that makes sense.
	MinBytes = 4 << 20
	// segmentBytes is the size of a segment where the bound allows it: at 150,000
	// clicks a second it lasts for a sixth of a second and two are ready, which is
	// enough to prepare the next; an edge that has nothing to do holds three of them,
	// in files and in its resident memory.
	segmentBytes = 8 << 20
	// spares is how many prepared segments wait for the writer.
	spares = 2
	// keeps is how many at most wait for it that were used before: wiping one costs a
	// tenth of making one, and those that are sent come back several at a time.
	keeps = 6
)

// Settings of a journal.
type Settings struct {
	Dir      string
	MaxBytes int64         // what all segments may take, at least MinBytes
	LockWait time.Duration // how long a process that is ending may still hold the lock
}

// Journal is an open journal. Append, Stats and Err are safe for concurrent use;
// Take, Settle and Rewind are for one reader.
type Journal struct {
	dir   string
	size  int // of a segment
	most  int // segments
	table *crc32.Table
	log   *slog.Logger
	lock  *os.File
	state state

	wake chan struct{} // a segment was used up or settled

	mu      sync.Mutex
	closed  bool
	last    Stats // when it was closed
	id      [16]byte
	opened  uint64     // number of the first click of this process
	live    []*segment // in order, the last is written to
	spare   []*segment // ready
	settled []*segment // to be wiped
	making  int        // being made
	err     error      // why the last segment could not be made
	rewound bool       // reading has started
	full    bool       // clicks are being given up, and that was logged
	untold  uint64     // of them, not logged yet
	cursor  cursor
}

// cursor is where the reader is.
type cursor struct {
	seg  *segment // nil: to be found by the number
	off  int
	next uint64 // number of the next click
}

// Open opens the journal in a directory, made when it is not there. ErrLocked says
// that another process has it.
func Open(ctx context.Context, s Settings, log *slog.Logger) (_ *Journal, err error) {
	if s.MaxBytes < MinBytes {
		return nil, fmt.Errorf("a journal needs %d bytes at least, not %d", MinBytes, s.MaxBytes)
	}
	size := int(min(segmentBytes, s.MaxBytes/4/step*step))
	j := &Journal{
		dir: s.Dir, size: size, most: int(s.MaxBytes) / size, table: castagnoli(), log: log,
		wake: make(chan struct{}, 1),
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the journal's directory: %w", err)
	}
	if j.lock, err = lock(ctx, s.Dir, s.LockWait); err != nil {
		return nil, err
	}
	if err := j.load(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// load maps what is there and makes what is missing.
func (j *Journal) load() error {
	mem, err := openMapped(filepath.Join(j.dir, "state"), stateSize)
	if err != nil {
		return err
	}
	j.state = state{mem: mem, table: j.table}
	id, known := j.state.load()
	paths, err := segmentPaths(j.dir)
	if err != nil {
		return err
	}
	var newest [16]byte
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("looking at a segment: %w", err)
		}
		// Segments of another bound are read at their own size and not used again.
		size := int(info.Size()) / unix.Getpagesize() * unix.Getpagesize()
		if size < segmentHeader+blockHeader {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("removing an unfinished segment: %w", err)
			}
			continue
		}
		seg, err := openSegment(path, size)
		if err != nil {
			return err
		}
		of, used := seg.load(j.table)
		if used {
			newest = of
			j.live = append(j.live, seg)
		} else {
			j.settled = append(j.settled, seg) // wiped, if it was not before
		}
	}
	slices.SortFunc(j.live, func(a, b *segment) int {
		if a.base < b.base {
			return -1
		}
		return 1
	})
	if !known {
		id = newID()
		if newest != [16]byte{} {
			id = newest // the page was lost, the clicks were not
		}
		j.state.begin(id)
	}
	j.id = id
	return j.resume()
}

// resume finds where the last process stopped and goes on there.
func (j *Journal) resume() error {
	end := max(j.state.get(offAppended), j.state.get(offNext))
	clean := false
	if n := len(j.live); n > 0 {
		last := j.live[n-1]
		clean = last.scan(j.table) && len(last.mem) == j.size
		clean = clean && last.end >= end
		end = max(end, last.end)
		for i, s := range j.live[:n-1] {
			s.end = j.live[i+1].base
		}
	}
	j.opened = end
	j.state.raise(offAppended, end)
	if !clean {
		if n := len(j.live); n > 0 {
			j.live[n-1].end = end // what was appended and is not there is missing
		}
		seg, err := j.make()
		if err != nil {
			return err
		}
		j.begin(seg)
	}
	j.cursor.next = max(j.state.get(offNext), j.live[0].base)
	return nil
}

// make makes a segment, or wipes one that was settled.
func (j *Journal) make() (*segment, error) {
	for len(j.settled) > 0 {
		seg := j.settled[len(j.settled)-1]
		j.settled = j.settled[:len(j.settled)-1]
		if len(seg.mem) == j.size {
			wipe(seg.mem)
			return seg, nil
		}
		if err := seg.drop(); err != nil {
			return nil, err
		}
	}
	return j.create()
}

// create makes a new file. Its name is one that is free and says nothing.
func (j *Journal) create() (*segment, error) {
	id := newID()
	seg, err := openSegment(filepath.Join(j.dir, fmt.Sprintf("%x%s", id[:8], segmentSuffix)), j.size)
	if err != nil {
		return nil, err
	}
	if err := prepare(seg.mem); err != nil {
		return nil, errors.Join(err, seg.drop())
	}
	return seg, nil
}

// begin makes a segment the one that is written to.
func (j *Journal) begin(seg *segment) {
	seg.begin(j.table, j.id, j.state.get(offAppended), time.Now().Unix())
	j.live = append(j.live, seg)
}

// Close lets the journal go. Clicks that are appended afterwards are not taken.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	if j.state.mem != nil {
		j.last = j.stats()
	}
	j.closed = true
	var errs []error
	for _, seg := range slices.Concat(j.live, j.spare, j.settled) {
		errs = append(errs, unix.Munmap(seg.mem))
	}
	if j.state.mem != nil {
		errs = append(errs, unix.Munmap(j.state.mem))
	}
	j.live, j.spare, j.settled = nil, nil, nil
	return errors.Join(append(errs, j.lock.Close())...)
}
