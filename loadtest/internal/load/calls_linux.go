package load

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below do not tell Go's scheduler that they may block: a load has a
// thread and one of Go's two processors for itself. Telling it costs the load, on
// its one core, more than the calls do: the scheduler's watchdog gives the
// processor of a blocked thread away and the thread has to ask for it back.

func read(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func write(fd int, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// poller waits for the first of many connections. Go's own would need a goroutine
// for each and wakes up tens of microseconds late, which an open loop would report
// as the server's latency; epoll_pwait2 waits by the nanosecond.
type poller struct {
	fd     int
	events []unix.EpollEvent
}

func newPoller(conns []*blocking) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a poller: %w", err)
	}
	p := &poller{fd: fd, events: make([]unix.EpollEvent, len(conns))}
	for i, c := range conns {
		event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)} // the field is for the caller's use
		if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
			p.close()
			return nil, fmt.Errorf("making a poller: %w", err)
		}
	}
	return p, nil
}

// wait calls ready for every connection with something to read, by number. It
// returns at once, having called nothing, when the time is over.
func (p *poller) wait(limit time.Duration, ready func(conn int) error) error {
	ts := unix.NsecToTimespec(max(0, limit.Nanoseconds()))
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd),
		uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	switch {
	case errors.Is(errno, unix.EINTR):
		return nil
	case errno != 0:
		return fmt.Errorf("waiting for answers: %w", errno)
	}
	for i := range int(n) {
		if err := ready(int(p.events[i].Fd)); err != nil {
			return err
		}
	}
	return nil
}

func (p *poller) close() { _ = unix.Close(p.fd) }

// epollPwait2 waits by the nanosecond, too, and tells the scheduler.
func epollPwait2(fd int, events []unix.EpollEvent, limit time.Duration) (int, error) {
	ts := unix.NsecToTimespec(max(0, limit.Nanoseconds()))
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(fd),
		uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
