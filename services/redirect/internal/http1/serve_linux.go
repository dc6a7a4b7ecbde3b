package http1

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// ready does what a connection's events call for.
func (l *loop) ready(c *conn, events uint32) {
	if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.close(c)
		return
	}
	if events&unix.EPOLLRDHUP != 0 {
		c.eof = true
	}
	if len(c.out) > 0 {
		if events&unix.EPOLLOUT != 0 {
			l.push(c)
			if !c.closed && len(c.out) == 0 {
				l.proceed(c)
			}
		}
		return // nothing is read for who does not take what there is
	}
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP) != 0 && !c.busy {
		l.read(c)
	}
}

// proceed answers what has come while the connection was not listened to.
func (l *loop) proceed(c *conn) {
	if len(c.rest) > 0 && !c.ends {
		n := copy(l.in, c.rest)
		c.rest = c.rest[:0]
		l.serve(c, l.in[:n])
	}
	if !c.closed && !c.busy && len(c.out) == 0 {
		l.read(c)
	}
}

// read takes what has come and answers it. The kernel tells of each arrival once, so
// it reads until there is no more, which a read that leaves room says.
func (l *loop) read(c *conn) {
	for {
		held := copy(l.in, c.rest)
		n, err := unix.Read(c.fd, l.in[held:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			l.heardOut(c)
			return
		case err != nil:
			l.close(c)
			return
		case n == 0:
			c.eof = true
			l.heardOut(c)
			return
		}
		more := held+n == len(l.in)
		if c.ends {
			continue // said after the last answer, and of no interest
		}
		had := len(c.rest) > 0
		c.rest = c.rest[:0]
		l.serve(c, l.in[:held+n])
		if !had {
			c.since = l.mono
		}
		if more && !c.busy {
			l.again = append(l.again, c) // others come first
		} else {
			l.heardOut(c)
		}
		return
	}
}

// heardOut closes a connection on which nothing more can happen.
func (l *loop) heardOut(c *conn) {
	if c.busy || c.owed > 0 || len(c.out) > 0 {
		return
	}
	if c.eof || l.stopping && len(c.rest) == 0 {
		l.close(c)
	}
}

// serve answers the requests in data in order, until one has to wait, and keeps what
// is left.
func (l *loop) serve(c *conn, data []byte) {
	from := len(l.out)
	l.req.Peer, l.req.Time = c.peer, l.now
	for len(data) > 0 && !c.ends {
		n, refusal := l.req.parse(data)
		if refusal != 0 {
			l.finish(c, from)
			l.refuse(c, refusal)
			return
		}
		size := n + l.req.bodyLen
		if n == 0 || len(data) < size {
			if n != 0 && l.req.expects && len(data) == n {
				l.out = append(l.out, continues...)
			}
			break
		}
		l.req.Body = data[n:size]
		l.res.Begin(l.out, &l.req, l.date.line)
		if l.stopping {
			l.res.Close()
		}
		if !l.worker.Answer(l.engine.lifetime, &l.req, &l.res) {
			l.finish(c, from)
			if l.over { // nobody can be asked any more
				c.ends = true
				return
			}
			l.waiting++
			c.busy = true
			c.keep(data[size:])
			whole := append([]byte(nil), data[:size]...)
			arrived := l.now
			l.engine.waiting.Go(func() { l.engine.later(l, c, whole, arrived) })
			return
		}
		l.out = l.res.buf
		c.ends, c.linger = l.res.ends, l.req.BodyUnread
		data = data[size:]
	}
	l.finish(c, from)
	if !c.ends {
		c.keep(data)
	}
}

// finish notes that what was added to out since from is this connection's.
func (l *loop) finish(c *conn, from int) {
	if len(l.out) > from {
		l.answers = append(l.answers, piece{conn: c, from: from, to: len(l.out)})
		c.owed++
		c.since = l.mono
	}
}

func (l *loop) refuse(c *conn, status int) {
	from := len(l.out)
	l.res.refuse(l.out, l.date.line)
	l.worker.Refuse(status, &l.res)
	l.out = l.res.buf
	c.ends, c.linger = true, true
	l.finish(c, from)
}

// keep copies what is not answered yet. Most connections never need it.
func (c *conn) keep(rest []byte) {
	if len(rest) == 0 && cap(c.rest) > smallRest {
		c.rest = nil
		return
	}
	c.rest = append(c.rest[:0], rest...)
}

// send writes the answers of this turn.
func (l *loop) send() {
	for i := range l.answers {
		a := &l.answers[i]
		c := a.conn
		a.conn = nil
		c.owed--
		if c.closed {
			continue
		}
		b := l.out[a.from:a.to]
		if len(c.out) == 0 {
			n, err := unix.Write(c.fd, b)
			switch {
			case err == nil:
				b = b[n:]
			case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
				l.close(c)
				continue
			}
		}
		if len(b) > 0 {
			c.out = append(c.out, b...)
			c.since = l.mono
			if l.push(c); c.closed || len(c.out) > 0 {
				continue
			}
		}
		l.written(c)
	}
	l.answers = l.answers[:0]
	l.out = l.out[:0]
	if cap(l.out) > 1<<20 { // after a burst of pipelined requests
		l.out = nil
	}
}

// push goes on writing an answer that the visitor was slow to take. The kernel says
// when there is room again, but only to who has been told that there was none.
func (l *loop) push(c *conn) {
	for len(c.out) > 0 {
		n, err := unix.Write(c.fd, c.out)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil:
			l.close(c)
			return
		}
		c.out = c.out[n:]
		c.since = l.mono
	}
	c.out = nil
	l.written(c)
}

// written closes a connection that has got its last answer.
func (l *loop) written(c *conn) {
	switch {
	case c.busy || c.owed > 0:
	case c.ends && c.linger && !c.eof:
		_ = unix.Shutdown(c.fd, unix.SHUT_WR)
	case c.ends || c.eof || l.stopping && len(c.rest) == 0:
		l.close(c)
	}
}

func address(from unix.Sockaddr) netip.Addr {
	switch a := from.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(a.Addr)
	case *unix.SockaddrInet6:
		return peerOf(netip.AddrFrom16(a.Addr))
	default:
		return netip.Addr{}
	}
}
