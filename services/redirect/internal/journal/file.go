package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linkstream/linkstream/services/redirect/internal/yield"
)

const (
	// step is what files are made of, in size and in writing.
	step = 256 << 10
	// stretch is how much is wiped or prepared without a pause: an event loop may share
	// the processor, and waits for it.
	stretch = 32 << 10
	// lockEvery is the pause between two tries to get the lock.
	lockEvery = 50 * time.Millisecond
)

// ErrLocked says that another process has the journal.
var ErrLocked = errors.New("another process uses this journal")

// lock takes the directory's lock, which the system frees when the process ends,
// however it ends. One that is just being killed may still hold it, so a lock that
// is taken is tried again for as long as patience.
func lock(ctx context.Context, dir string, patience time.Duration) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-deadline:
			return nil, errors.Join(fmt.Errorf("%w: %s is locked", ErrLocked, path), f.Close())
		case <-tick.C:
		}
	}
}

// openMapped maps a whole file, which is made and reserved when it is not there or
// too short. A file that could not be made whole is removed again.
func openMapped(path string, size int) (_ []byte, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }() // the mapping stays
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", path, err)
	}
	if info.Size() < int64(size) {
		if err := reserve(f, int64(size)); err != nil {
			return nil, errors.Join(fmt.Errorf("making %s: %w", path, err), os.Remove(path))
		}
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return mem, nil
}

// prepare takes the page faults of a mapping ahead of its use, step by step.
func prepare(mem []byte) error {
	for off := 0; off < len(mem); off += stretch {
		if err := populate(mem[off:min(off+stretch, len(mem))]); err != nil {
			return err
		}
		yield.ToVisitors()
	}
	return nil
}

// wipe overwrites what a segment held: clicks have addresses, which must not stay
// longer than they are needed. It takes the page faults of the next use as well.
func wipe(mem []byte) {
	for off := 0; off < len(mem); off += stretch {
		clear(mem[off:min(off+stretch, len(mem))])
		yield.ToVisitors()
	}
}

// touch stores into every page what is there already.
func touch(mem []byte) {
	for off := 0; off+align <= len(mem); off += unix.Getpagesize() {
		w := word(mem, off)
		w.Store(w.Load())
	}
}

func writeZeros(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reserving %d bytes: %w", size, err)
	}
	zeros := make([]byte, step)
	for at := info.Size(); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return fmt.Errorf("reserving %d bytes: %w", size, err)
		}
	}
	return nil
}
