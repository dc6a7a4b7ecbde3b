package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// dial begins a connection. It has not to be there yet when dial returns.
func (e *engine) dial(number int) (*line, error) {
	s := e.servers[number]
	if s.Enter != nil {
		leave, err := s.Enter()
		if err != nil {
			return nil, err
		}
		l, err := e.connect(number)
		return l, errors.Join(err, leave())
	}
	return e.connect(number)
}

func (e *engine) connect(number int) (*line, error) {
	s := e.servers[number]
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(s.addr.Port()), Addr: s.addr.Addr().As16()})
	if s.addr.Addr().Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(s.addr.Port()), Addr: s.addr.Addr().As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making a socket: %w", err)
	}
	l := &line{fd: fd, server: number}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // a request is one write anyway
	events := uint32(unix.EPOLLOUT)
	switch err := unix.Connect(fd, to); {
	case err == nil:
		l.connected, events = true, unix.EPOLLIN
	case !errors.Is(err, unix.EINPROGRESS):
		_ = unix.Close(fd)
		return nil, err
	}
	if err := e.watch(unix.EPOLL_CTL_ADD, l, events); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	e.lines[int32(fd)] = l
	s.count++
	return l, nil
}

func (e *engine) watch(op int, l *line, events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(l.fd)}
	if err := unix.EpollCtl(e.epoll, op, l.fd, &event); err != nil {
		return fmt.Errorf("watching a connection: %w", err)
	}
	return nil
}

// hangUp ends a connection, whatever state it is in.
func (e *engine) hangUp(l *line) {
	s := e.servers[l.server]
	s.free = slices.DeleteFunc(s.free, func(other *line) bool { return other == l })
	s.count--
	delete(e.lines, int32(l.fd))
	_ = unix.Close(l.fd) // and out of the poller
	l.errand = nil
}

// wait takes what comes until the time is over. Unlike a load of one server this one
// tells Go's scheduler that it may block: others work in this process meanwhile.
func (e *engine) wait(limit time.Duration) error {
	n, err := epollPwait2(e.epoll, e.events[:], limit)
	switch {
	case errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return fmt.Errorf("waiting for answers: %w", err)
	}
	for _, event := range e.events[:n] {
		// An earlier event may have closed it.
		if l := e.lines[event.Fd]; l != nil {
			e.take(l, event.Events)
		}
	}
	return nil
}

func (e *engine) close() {
	for _, l := range e.lines {
		_ = unix.Close(l.fd)
	}
	_ = unix.Close(e.epoll)
}
