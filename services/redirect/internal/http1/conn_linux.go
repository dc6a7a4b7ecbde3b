package http1

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// conn is a connection of a loop, which alone touches it.
type conn struct {
	fd   int
	turn int32 // tells it from others that had its descriptor
	peer netip.Addr

	rest []byte // what has come of a request that is not answered yet
	out  []byte // what the visitor has not taken of an answer
	// since is when it began to wait for what it waits for, in nanoseconds since the
	// engine's start.
	since int64

	owed   int  // answers of this turn that are not written yet
	busy   bool // its request waits for somebody's answer
	eof    bool // the visitor will send nothing more
	ends   bool // nothing more is answered; it is closed when out is gone
	linger bool // then not at once: what is still coming in would destroy the answer
	closed bool
}

// The three calls below are what a request costs in system time. None of them blocks,
// so Go's scheduler need not hear of them: it costs 60 to 80 ns each time
// (BenchmarkCalls).

func read(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

func write(fd int, b []byte) (int, unix.Errno) {
	// Not write: a visitor who has gone must not send the process a signal.
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}
