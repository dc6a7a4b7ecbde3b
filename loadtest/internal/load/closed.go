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
	"slices"
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
	// Constant says that every answer leads to the target of link 0.
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

// groups that the connections are in. While the load serves one, the server has
// the requests of the others to work on.
const groups = 4

// Run sends the load.
//
// The connections of a group are served together, with blocking reads: two system
// calls for a request and no polling, about the least that a generator can cost.
// The one that was asked last is waited for first. When its answer is there the
// others are too, so that the server wakes the load up once for a group and not
// once for every answer, which would cost the server more than the answer itself.
func (l Closed) Run(ctx context.Context) (Count, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all []*blocking
	defer func() {
		for _, c := range all {
			_ = c.file.Close()
		}
	}()
	for range l.Connections {
		c, err := dialBlocking(ctx, l.Addr)
		if err != nil {
			return Count{}, err
		}
		all = append(all, c)
	}
	var (
		count   Count
		next    int
		request = wire.NewRequest(l.Host)
		start   = time.Now()
	)
	ask := func(group []*blocking) error {
		for _, c := range group {
			c.asked = int(l.Slugs[next%len(l.Slugs)])
			next++
			if err := c.send(request.For(c.asked)); err != nil {
				return err
			}
		}
		return nil
	}
	take := func(group []*blocking) error {
		for _, c := range slices.Backward(group) {
			right, err := l.answer(c)
			if err != nil {
				return err
			}
			count.Answers++
			if !right {
				count.Wrong++
			}
		}
		return nil
	}
	if err := ask(all); err != nil {
		return count, err
	}
	for ctx.Err() == nil {
		for group := range slices.Chunk(all, max(1, len(all)/groups)) {
			if err := take(group); err != nil {
				return count, err
			}
			if err := ask(group); err != nil {
				return count, err
			}
		}
		count.Took = time.Since(start)
		if count.Took >= l.Duration && (l.Duration > 0 || count.Answers >= len(l.Slugs)) {
			// What is still to come is taken but not counted, so that the server has
			// nothing left to do when the next one is measured.
			counted := count
			return counted, take(all)
		}
	}
	return count, ctx.Err()
}

// answer takes one and says whether it is right.
func (l Closed) answer(c *blocking) (bool, error) {
	a, err := c.receive()
	want := c.asked
	if l.Constant {
		want = 0
	}
	return a.Status == 302 && wire.Leads(a.Location, want), err
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
		n, err := write(c.fd, request)
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
		n, err := read(c.fd, c.room[have:])
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
