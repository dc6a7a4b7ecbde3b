package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// Classes is how many classes of requests Open can tell apart.
const Classes = 3

// Ask is one request of an open load.
type Ask struct {
	Slug  int32
	Class uint8 // below Classes
}

// Burst is how many requests are due at once. Setting a timer costs a virtual
// machine up to 15 microseconds (measured), more than a request does, so there
// cannot be one for each; and visitors do not come evenly spaced either. The last
// of a burst waits for those before it, which its latency shows.
const Burst = 10

// Open is a load of requests at fixed times, in bursts.
type Open struct {
	Addr        string
	Host        string
	Connections int
	Rate        float64 // a second
	Asks        []Ask   // each once
}

// Waits are what came of an open load.
type Waits struct {
	Count
	// Late counts requests for which no connection was free when they were due.
	// Their time of waiting is in the latencies.
	Late int
	// Latency of each class, in nanoseconds.
	Latency [Classes]*hdrhistogram.Histogram
}

// All are the latencies of all classes together.
func (w *Waits) All() *hdrhistogram.Histogram {
	all := newHistogram()
	for _, h := range w.Latency {
		all.Merge(h)
	}
	return all
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1000, (10 * time.Second).Nanoseconds(), 3)
}

// Run sends the load, from one thread: it sends what is due, then waits for
// answers until the next request is due.
func (l Open) Run(ctx context.Context) (*Waits, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	calm, err := cpu.Urgent()
	if err != nil {
		return nil, err
	}
	defer calm()
	s := &schedule{Open: l, waits: &Waits{}, request: wire.NewRequest(l.Host)}
	for i := range s.waits.Latency {
		s.waits.Latency[i] = newHistogram()
	}
	defer func() {
		for _, c := range s.conns {
			_ = c.file.Close()
		}
	}()
	for i := range l.Connections {
		c, err := dialBlocking(ctx, l.Addr)
		if err != nil {
			return nil, err
		}
		s.conns = append(s.conns, c)
		s.free = append(s.free, i)
	}
	s.visits = make([]visit, len(s.conns))
	poller, err := newPoller(s.conns)
	if err != nil {
		return nil, err
	}
	defer poller.close()
	s.interval = time.Duration(Burst / l.Rate * float64(time.Second))
	s.start = time.Now()
	s.heard = s.start
	for s.sent < len(l.Asks) || len(s.free) < len(s.conns) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		wait, err := s.send()
		if err != nil {
			return nil, err
		}
		// For half of the time between bursts answers are looked for without sleep,
		// which spares the server the call that wakes the load up. The other half is
		// for whatever else is on this processor.
		if len(s.free) < len(s.conns) && time.Since(s.sentAt) < s.interval/2 {
			wait = 0
		}
		if err := poller.wait(wait, s.take); err != nil {
			return nil, err
		}
		if len(s.free) < len(s.conns) && time.Since(s.heard) > answerLimit {
			return nil, fmt.Errorf("no answer within %v", answerLimit)
		}
	}
	s.waits.Took = time.Since(s.start)
	return s.waits, nil
}

// schedule is a load while it is sent.
type schedule struct {
	Open
	start    time.Time
	interval time.Duration // between bursts
	heard    time.Time     // the last answer, or the last time none was awaited
	sent     int
	sentAt   time.Time
	wasLate  bool // the next request has been counted as late
	conns    []*blocking
	visits   []visit // one on each connection
	free     []int   // connections
	request  *wire.Request
	waits    *Waits
}

// visit is what was asked on a connection.
type visit struct {
	ask  Ask
	due  time.Time
	have int // bytes of the answer
}

// send sends what is due, and says how long there is nothing to send.
func (s *schedule) send() (time.Duration, error) {
	for s.sent < len(s.Asks) {
		due := s.start.Add(time.Duration(float64(s.sent/Burst*Burst) / s.Rate * float64(time.Second)))
		now := time.Now()
		if wait := due.Sub(now); wait > 0 {
			return wait, nil
		}
		if len(s.free) == 0 {
			if !s.wasLate {
				s.waits.Late++
				s.wasLate = true
			}
			return answerLimit, nil
		}
		if len(s.free) == len(s.conns) {
			s.heard = now
		}
		// The first that became free: the longest rest, as a visitor's would be.
		conn := s.free[0]
		s.free = append(s.free[:0], s.free[1:]...)
		s.visits[conn] = visit{ask: s.Asks[s.sent], due: due}
		s.sent++
		s.sentAt = now
		s.wasLate = false
		if err := s.conns[conn].send(s.request.For(int(s.visits[conn].ask.Slug))); err != nil {
			return 0, err
		}
	}
	return answerLimit, nil
}

// take takes what has come of an answer.
func (s *schedule) take(conn int) error {
	c, v := s.conns[conn], &s.visits[conn]
	n, err := read(c.fd, c.room[v.have:])
	switch {
	case errors.Is(err, syscall.EINTR):
		return nil // the poller will say it again
	case err != nil:
		return fmt.Errorf("reading an answer: %w", err)
	case n == 0:
		return errors.New("reading an answer: the server closed the connection")
	}
	v.have += n
	a, whole, err := wire.Scan(c.room[:v.have])
	if err != nil || !whole {
		return err
	}
	s.heard = time.Now()
	waited := s.heard.Sub(v.due)
	s.waits.Answers++
	if a.Status != 302 || !wire.Leads(a.Location, int(v.ask.Slug)) {
		s.waits.Wrong++
	}
	if err := s.waits.Latency[v.ask.Class].RecordValue(waited.Nanoseconds()); err != nil {
		return fmt.Errorf("an answer took %v: %w", waited, err)
	}
	s.free = append(s.free, conn)
	return nil
}
