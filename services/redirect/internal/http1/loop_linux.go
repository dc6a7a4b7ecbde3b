package http1

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	eventRoom  = 256
	acceptRoom = 64 // connections taken in one turn, so that others get theirs
	// uneven is how many connections more than another loop has one keeps.
	uneven = 16
	// turnsInARow is how many turns a loop that never waits takes before others get one.
	turnsInARow = 4
	// smallRest is the buffer that a connection keeps for the next partial request.
	smallRest = 4 << 10
)

// loop answers what comes on its connections.
type loop struct {
	engine *engine
	epoll  int
	file   *os.File // the epoll
	poller syscall.RawConn
	look   func(uintptr) bool // whether there are events: made once, what it finds is in found
	found  struct {
		n   int
		err error
	}
	busy   int // turns since others had one
	wake   int // eventfd: there is mail
	timer  int
	worker Worker

	events   [eventRoom]unix.EpollEvent
	conns    []*conn // by descriptor
	count    atomic.Int32
	turns    int32
	accepts  bool // the listener is among what epoll watches
	stopping bool
	over     bool
	waiting  int // requests that have left the loop and are not back

	now     time.Time
	mono    int64 // now, see engine.since
	date    clock
	req     Request
	res     Response
	in      []byte
	out     []byte // the answers of this turn
	answers []piece

	mu    sync.Mutex
	mail  []letter
	inbox []letter // being delivered

	again []*conn // that may have more to read
}

// piece is a part of out.
type piece struct {
	conn     *conn
	from, to int
}

type letterKind uint8

const (
	letterAnswer letterKind = iota // to a request that had to wait
	letterConn                     // a connection that another loop has accepted
	letterStop                     // take no new requests
	letterEnd                      // close everything
)

type letter struct {
	kind         letterKind
	conn         *conn
	answer       []byte
	ends, linger bool
}

func newLoop(e *engine) (*loop, error) {
	l := &loop{engine: e, epoll: -1, wake: -1, timer: -1, worker: e.handler.Worker(), in: make([]byte, maxHead+maxBody+64<<10)}
	l.look = func(uintptr) bool { return l.looks() }
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("making an epoll: %w", err)
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		l.release()
		return nil, fmt.Errorf("making an eventfd: %w", err)
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		l.release()
		return nil, fmt.Errorf("making a timerfd: %w", err)
	}
	if err = unix.SetNonblock(l.epoll, true); err == nil {
		l.file = os.NewFile(uintptr(l.epoll), "epoll")
		l.poller, err = l.file.SyscallConn()
	}
	if err != nil {
		l.release()
		return nil, fmt.Errorf("watching an epoll: %w", err)
	}
	every := unix.NsecToTimespec(e.Waits.sweepEvery().Nanoseconds())
	err = errors.Join(
		unix.TimerfdSettime(l.timer, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil),
		l.watch(l.wake, unix.EPOLLIN, 0),
		l.watch(l.timer, unix.EPOLLIN, 0),
		l.accept(true),
	)
	if err != nil {
		l.release()
		return nil, fmt.Errorf("setting up an epoll: %w", err)
	}
	return l, nil
}

func (l *loop) release() {
	if l.file != nil {
		_ = l.file.Close()
		l.epoll = -1
	}
	for _, fd := range []int{l.epoll, l.wake, l.timer} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

func (l *loop) watch(fd int, events uint32, turn int32) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd), Pad: turn})
}

// accept begins or stops to take connections.
func (l *loop) accept(accepts bool) error {
	if accepts == l.accepts {
		return nil
	}
	l.accepts = accepts
	if accepts {
		// Of the loops that wait, one is woken up for a connection.
		return l.watch(l.engine.listener, unix.EPOLLIN|unix.EPOLLEXCLUSIVE, 0)
	}
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, l.engine.listener, nil)
}

// post sends the loop a letter, from any goroutine.
func (l *loop) post(m letter) {
	l.mu.Lock()
	l.mail = append(l.mail, m)
	l.mu.Unlock()
	one := [8]byte{1} // in either byte order it is not 0
	_, _ = unix.Write(l.wake, one[:])
}

// run is the loop. It waits in Go's poller, which watches the epoll like any other
// descriptor. A thread that waited in the kernel would keep its processor in Go's eyes
// until the runtime's monitor takes it away, eight thousand times a second under half of
// the load that it can take (measured; the monitor alone took 12 % of the core).
func (l *loop) run() error {
	defer func() {
		for _, c := range l.conns {
			if c != nil {
				l.close(c)
			}
		}
	}()
	for !l.over || l.waiting > 0 {
		n, err := l.wait()
		if err != nil {
			return fmt.Errorf("waiting for requests: %w", err)
		}
		l.now = time.Now()
		l.mono = l.engine.since(l.now)
		l.date.at(l.now)
		for i := range n {
			l.event(&l.events[i])
		}
		l.goOn()
		l.worker.Flush()
		l.send()
		if l.stopping && l.count.Load() == 0 {
			return nil
		}
	}
	return nil
}

// wait returns how many events there are. It looks before it sleeps, and where there is
// always something, it lets others have a turn now and then: they run on no other
// processor where there is one.
func (l *loop) wait() (int, error) {
	if l.busy >= turnsInARow {
		l.busy = 0
		runtime.Gosched()
	}
	if l.looks() || len(l.again) > 0 {
		l.busy++
		return l.found.n, l.found.err
	}
	l.busy = 0
	if err := l.poller.Read(l.look); err != nil {
		return 0, err
	}
	return l.found.n, l.found.err
}

func (l *loop) looks() bool {
	for {
		l.found.n, l.found.err = unix.EpollWait(l.epoll, l.events[:], 0)
		if !errors.Is(l.found.err, unix.EINTR) {
			return l.found.n > 0 || l.found.err != nil
		}
	}
}

// goOn reads on where the last turn has left something.
func (l *loop) goOn() {
	unread := len(l.again)
	for i := range unread {
		if c := l.again[i]; !c.closed && !c.busy && len(c.out) == 0 {
			l.read(c)
		}
	}
	l.again = append(l.again[:0], l.again[unread:]...)
}

func (l *loop) event(ev *unix.EpollEvent) {
	switch fd := int(ev.Fd); fd {
	case l.engine.listener:
		l.take()
	case l.wake:
		l.deliver()
	case l.timer:
		l.sweep()
	default:
		if c := l.conns[fd]; c != nil && c.turn == ev.Pad {
			l.ready(c, ev.Events)
		}
	}
}

// take accepts what waits for it.
func (l *loop) take() {
	for range acceptRoom {
		fd, from, err := unix.Accept4(l.engine.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
		case errors.Is(err, unix.EAGAIN):
			return
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
			// Asking again at once would ask for ever. The next sweep does.
			_ = l.accept(false)
			l.engine.log.Error("a connection cannot be taken", "err", err)
			return
		default:
			continue // it is gone already
		}
		c := &conn{fd: fd, peer: address(from)}
		keeper := l
		for _, other := range l.engine.loops {
			if !l.engine.stopping.Load() && other.count.Load()+uneven < keeper.count.Load() {
				keeper = other
			}
		}
		keeper.count.Add(1)
		if keeper == l {
			l.adopt(c)
		} else {
			keeper.post(letter{kind: letterConn, conn: c})
		}
	}
}

// adopt makes a connection one of this loop's. It is counted already.
func (l *loop) adopt(c *conn) {
	l.turns++
	c.turn, c.since = l.turns, l.mono
	for c.fd >= len(l.conns) {
		l.conns = append(l.conns, nil)
	}
	l.conns[c.fd] = c
	if l.stopping || l.watch(c.fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|epollET, c.turn) != nil {
		l.close(c)
	}
}

// epollET is a bit that the package has as a negative number.
const epollET = 1 << 31

func (l *loop) close(c *conn) {
	_ = unix.Close(c.fd)
	l.conns[c.fd] = nil
	c.closed = true
	c.rest, c.out = nil, nil
	l.count.Add(-1)
}

// deliver handles the mail.
func (l *loop) deliver() {
	var counter [8]byte
	_, _ = unix.Read(l.wake, counter[:])
	l.mu.Lock()
	l.inbox, l.mail = l.mail, l.inbox[:0]
	l.mu.Unlock()
	for i := range l.inbox {
		m := &l.inbox[i]
		switch m.kind {
		case letterAnswer:
			l.waiting--
			l.answered(m)
		case letterConn:
			l.adopt(m.conn)
		case letterStop:
			l.stop()
		case letterEnd:
			l.over = true
		}
		*m = letter{}
	}
}

// answered goes on with a connection whose request had to wait.
func (l *loop) answered(m *letter) {
	c := m.conn
	if c.closed {
		return // the visitor did not wait
	}
	from := len(l.out)
	l.out = append(l.out, m.answer...)
	l.finish(c, from)
	c.busy, c.ends, c.linger = false, m.ends, m.linger
	l.proceed(c)
}

// stop lets go of everybody whose request has not begun.
func (l *loop) stop() {
	l.take() // who was let in by the kernel is answered
	_ = l.accept(false)
	l.stopping = true
	for _, c := range l.conns {
		if c != nil && !c.busy && len(c.out) == 0 {
			l.read(c) // a request may be there already
		}
	}
	if l.engine.stopped.Add(1) == int32(len(l.engine.loops)) {
		_ = unix.Shutdown(l.engine.listener, unix.SHUT_RDWR)
	}
}

// sweep lets go of connections that have waited too long.
func (l *loop) sweep() {
	var expirations [8]byte
	_, _ = unix.Read(l.timer, expirations[:])
	if !l.stopping {
		_ = l.accept(true)
	}
	for _, c := range l.conns {
		if c == nil || c.busy {
			continue
		}
		switch waited := time.Duration(l.mono - c.since); {
		case len(c.out) > 0:
			if waited > l.engine.Waits.Write {
				l.close(c)
			}
		case c.ends:
			if waited > l.engine.Waits.Linger {
				l.close(c)
			}
		case len(c.rest) > 0:
			if waited > l.engine.Waits.Head {
				c.rest = nil
				l.refuse(c, http.StatusRequestTimeout)
			}
		case waited > l.engine.Waits.Idle:
			l.close(c)
		}
	}
}
