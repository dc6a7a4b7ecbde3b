package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

const (
	// timersPerSecond bounds how often the thread wakes up to send: see Burst.
	timersPerSecond = 1000
	// sweepEvery is how often overdue requests are looked for.
	sweepEvery = 20 * time.Millisecond
	// aWhile is how long the thread sleeps at most; the end of the context is seen
	// after it.
	aWhile = 20 * time.Millisecond
)

// Run sends the load until all requests have been sent or ctx ends, and waits for
// what is under way then. It ends with an error only when the generator itself
// cannot go on.
func (f Fleet) Run(ctx context.Context) (*Course, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	calm, err := cpu.Urgent()
	if err != nil {
		return nil, err
	}
	defer calm()
	e := &engine{Fleet: f, course: &Course{Late: newHistogram()}, lines: map[int32]*line{}}
	for _, s := range f.Servers {
		addr, err := netip.ParseAddrPort(s.Addr)
		if err != nil {
			return nil, fmt.Errorf("reading a server's address: %w", err)
		}
		e.servers = append(e.servers, &server{Server: s, addr: addr})
	}
	if e.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("making a poller: %w", err)
	}
	defer e.close()
	e.burst = max(1, int(f.Rate/timersPerSecond))
	used, err := threadTime()
	if err != nil {
		return nil, err
	}
	e.start = time.Now()
	if err := e.loop(ctx); err != nil {
		return nil, err
	}
	e.course.Took = time.Since(e.start)
	now, err := threadTime()
	e.course.CPU = now - used
	return e.course, err
}

// engine is a fleet load while it runs.
type engine struct {
	Fleet
	servers []*server
	lines   map[int32]*line
	epoll   int
	events  [256]unix.EpollEvent
	burst   int
	start   time.Time
	swept   time.Time
	sent    int // requests that were due
	open    int // of those, without an outcome
	course  *Course
}

// server is one server, its connections and who waits for one.
type server struct {
	Server
	addr    netip.AddrPort
	free    []*line
	count   int // connections
	waiting []*errand
}

// errand is a request on its way.
type errand struct {
	visit   Visit
	request []byte
}

// line is a connection.
type line struct {
	fd        int
	server    int
	connected bool
	errand    *errand // nil while it is free
	have      int
	room      [wire.MaxAnswer]byte
}

func (e *engine) loop(ctx context.Context) error {
	for {
		ending := ctx.Err() != nil || e.Count > 0 && e.sent >= e.Count
		if ending && e.open == 0 {
			return nil
		}
		wait := aWhile
		if !ending {
			wait = min(wait, e.send())
		}
		if now := time.Now(); now.Sub(e.swept) > sweepEvery {
			e.swept = now
			e.sweep(now)
		}
		if err := e.wait(wait); err != nil {
			return err
		}
	}
}

// send asks what is due, and says how long there is nothing to ask.
func (e *engine) send() time.Duration {
	for e.Count == 0 || e.sent < e.Count {
		due := e.start.Add(time.Duration(float64(e.sent/e.burst*e.burst) / e.Rate * float64(time.Second)))
		now := time.Now()
		if wait := due.Sub(now); wait > 0 {
			return wait
		}
		Record(e.course.Late, now.Sub(due))
		q := e.Next(e.sent)
		e.sent++
		e.open++
		e.course.Requests++
		er := &errand{
			visit:   Visit{Server: q.Server, Class: q.Class, Key: q.Key, Due: due},
			request: append([]byte(nil), q.Request...),
		}
		s := e.servers[q.Server]
		s.waiting = append(s.waiting, er)
		if len(s.free) == 0 && s.count >= e.Connections {
			e.course.Behind++
		}
		e.pump(s, q.Server)
	}
	return aWhile
}

// pump gives connections to those who wait for one.
func (e *engine) pump(s *server, number int) {
	for len(s.waiting) > 0 {
		switch {
		case len(s.free) > 0:
			// The last that became free: those behind it may rest until they are needed.
			l := s.free[len(s.free)-1]
			s.free = s.free[:len(s.free)-1]
			l.errand = s.next()
			e.ask(l)
		case s.count < e.Connections:
			er := s.next()
			l, err := e.dial(number)
			if err != nil {
				e.end(er, refusalOf(err))
				continue
			}
			l.errand = er
			if l.connected {
				e.ask(l)
			}
		default:
			return
		}
	}
}

func (s *server) next() *errand {
	er := s.waiting[0]
	s.waiting = append(s.waiting[:0], s.waiting[1:]...)
	return er
}

func refusalOf(err error) Outcome {
	if errors.Is(err, unix.ECONNREFUSED) {
		return Refused
	}
	return Unsent
}

// ask sends a connection's request. It fits into any send buffer.
func (e *engine) ask(l *line) {
	l.have = 0
	for {
		n, err := unix.Write(l.fd, l.errand.request)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n < len(l.errand.request):
			// Nothing was taken by a server that has closed its side.
			e.drop(l, CutOff)
		default:
			l.errand.visit.Sent = time.Now()
		}
		return
	}
}

// take does what a connection's events call for.
func (e *engine) take(l *line, events uint32) {
	if !l.connected {
		code, err := unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil || code != 0:
			e.drop(l, refusalOf(unix.Errno(code)))
		case events&unix.EPOLLOUT != 0:
			l.connected = true
			if err := e.watch(unix.EPOLL_CTL_MOD, l, unix.EPOLLIN); err != nil {
				e.drop(l, Unsent)
				return
			}
			e.ask(l)
		}
		return
	}
	n, err := unix.Read(l.fd, l.room[l.have:])
	switch {
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		return
	case err != nil || n == 0 || l.errand == nil:
		e.drop(l, CutOff)
		return
	}
	l.have += n
	a, whole, err := wire.Scan(l.room[:l.have])
	switch {
	case err != nil:
		e.drop(l, CutOff)
	case whole:
		e.answered(l, a)
	}
}

func (e *engine) answered(l *line, a wire.Answer) {
	er, s := l.errand, e.servers[l.server]
	l.errand = nil
	answer := l.room[:a.Len]
	er.visit.Status, er.visit.Location, er.visit.Cache = a.Status, a.Location, wire.Cache(answer)
	closes := wire.Closes(answer) || l.have > a.Len
	e.report(er, Answered)
	if closes {
		e.hangUp(l)
	} else {
		s.free = append(s.free, l)
	}
	e.pump(s, l.server)
}

// drop ends a connection, and its request with that outcome.
func (e *engine) drop(l *line, outcome Outcome) {
	er := l.errand
	// What the server closed without a word of an answer may go to another one.
	silent := l.have == 0
	e.hangUp(l)
	if er == nil {
		return
	}
	if outcome == CutOff && e.Balance && silent && e.move(er) {
		return
	}
	e.end(er, outcome)
	e.pump(e.servers[l.server], l.server)
}

// end ends a request, or hands it to another server.
func (e *engine) end(er *errand, outcome Outcome) {
	if outcome == Refused && e.Balance && e.move(er) {
		return
	}
	e.report(er, outcome)
}

// move hands a request to the next server, unless it has been at all of them.
func (e *engine) move(er *errand) bool {
	if er.visit.Moved+1 >= len(e.servers) {
		return false
	}
	er.visit.Moved++
	er.visit.Server = (er.visit.Server + 1) % len(e.servers)
	er.visit.Sent = time.Time{}
	s := e.servers[er.visit.Server]
	s.waiting = append(s.waiting, er)
	e.pump(s, er.visit.Server)
	return true
}

func (e *engine) report(er *errand, outcome Outcome) {
	e.open--
	er.visit.Outcome, er.visit.Ended = outcome, time.Now()
	e.Seen(&er.visit)
}

// sweep ends what is overdue.
func (e *engine) sweep(now time.Time) {
	overdue := func(er *errand) bool { return er != nil && now.Sub(er.visit.Due) > e.Limit }
	for _, l := range e.lines {
		switch {
		case !overdue(l.errand):
		case l.errand.visit.Sent.IsZero():
			e.drop(l, Unsent)
		default:
			e.drop(l, TimedOut)
		}
	}
	for _, s := range e.servers {
		for len(s.waiting) > 0 && overdue(s.waiting[0]) {
			e.report(s.next(), Unsent)
		}
	}
}

func threadTime() (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		return 0, fmt.Errorf("asking for the used processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
