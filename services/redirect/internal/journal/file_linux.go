package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes sure that the disk has room for the whole file, so that a store
// into its mapping never meets a full one (which would be a signal, not an error).
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeZeros(f, size)
	}
	if err != nil {
		return fmt.Errorf("reserving %d bytes: %w", size, err)
	}
	return nil
}

// populate takes the page faults of the first stores ahead of them.
func populate(mem []byte) error {
	err := unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // before Linux 5.14
		touch(mem)
		return nil
	}
	if err != nil {
		return fmt.Errorf("preparing pages: %w", err)
	}
	return nil
}
