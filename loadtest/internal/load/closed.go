// Package load sends requests to one server, over connections that it keeps, one
// request at a time on each.
//
// Closed asks as fast as answers come: it measures what a server can do. Open asks
// when it is due: it measures what a visitor waits, from the time a request was to
// be sent, so that a stalled server cannot hide behind a generator that waits for
// it. Both check every answer and allocate nothing while they send.
package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// answerLimit is how long one answer may take.
const answerLimit = 5 * time.Second

// Closed is a load of as many requests as the server answers.
type Closed struct {
	Addr        string
	Host        string // in the request
	Connections int
	// Stop after this time, or after all of Slugs if it is zero.
	Duration time.Duration
	// Slugs are asked for in order, again and again.
	Slugs []int32
	// Constant says that every answer leads to the target of Slugs[0].
	Constant bool
}

// Count is what came of a load.
type Count struct {
	Answers int // of which
	Wrong   int // another status than 302, or another Location
	Took    time.Duration
}

// Rate is in answers a second.
func (c Count) Rate() float64 { return float64(c.Answers) / c.Took.Seconds() }

// Run sends the load.
//
// Connections are served in turn, with blocking reads: two system calls a request
// and no polling, about the least that a generator can cost. An answer waits for
// those before it, which does not matter here, because the server always has the
// requests of all other connections to work on.
func (l Closed) Run(ctx context.Context) (Count, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	conns := make([]*blocking, 0, l.Connections)
	defer func() {
		for _, c := range conns {
			_ = c.file.Close()
		}
	}()
	for range l.Connections {
		c, err := dialBlocking(ctx, l.Addr)
		if err != nil {
			return Count{}, err
		}
		conns = append(conns, c)
	}
	var (
		count   Count
		request = wire.NewRequest(l.Host)
		next    int
		start   = time.Now()
	)
	send := func(c *blocking) error {
		c.asked = int(l.Slugs[next%len(l.Slugs)])
		next++
		return c.send(request.For(c.asked))
	}
	for _, c := range conns {
		if err := send(c); err != nil {
			return count, err
		}
	}
	for ctx.Err() == nil {
		for _, c := range conns {
			a, err := c.receive()
			if err != nil {
				return count, err
			}
			want := c.asked
			if l.Constant {
				want = int(l.Slugs[0])
			}
			count.Answers++
			if a.Status != 302 || !wire.Leads(a.Location, want) {
				count.Wrong++
			}
			if err := send(c); err != nil {
				return count, err
			}
		}
		count.Took = time.Since(start)
		if count.Took >= l.Duration && (l.Duration > 0 || count.Answers >= len(l.Slugs)) {
			return count, l.drain(conns)
		}
	}
	return count, ctx.Err()
}

// drain takes the answers that are still to come, so that the server has nothing
// left to do when the next one is measured.
func (l Closed) drain(conns []*blocking) error {
	for _, c := range conns {
		if _, err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

// blocking is a connection outside of Go's poller.
type blocking struct {
	file  *os.File
	fd    int
	asked int
	room  [wire.MaxAnswer]byte
}

func dialBlocking(ctx context.Context, addr string) (*blocking, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	defer func() { _ = conn.Close() }() // the file is a copy
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.New("connecting: not a TCP connection")
	}
	file, err := tcp.File()
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	c := &blocking{file: file, fd: int(file.Fd())} // Fd makes it a blocking one
	limit := syscall.NsecToTimeval(answerLimit.Nanoseconds())
	if err := syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return c, nil
}

func (c *blocking) send(request []byte) error {
	for {
		n, err := syscall.Write(c.fd, request)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("sending a request: %w", err)
		case n < len(request):
			request = request[n:]
		default:
			return nil
		}
	}
}

func (c *blocking) receive() (wire.Answer, error) {
	have := 0
	for {
		n, err := syscall.Read(c.fd, c.room[have:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return wire.Answer{}, fmt.Errorf("waiting for an answer: %w", err)
		case n == 0:
			return wire.Answer{}, errors.New("waiting for an answer: the server closed the connection")
		}
		have += n
		a, whole, err := wire.Scan(c.room[:have])
		switch {
		case err != nil:
			return a, err
		case whole && have > a.Len:
			return a, errors.New("there is more than one answer")
		case whole:
			return a, nil
		}
	}
}
