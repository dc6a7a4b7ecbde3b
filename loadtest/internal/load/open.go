package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
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

// Open is a load of requests at fixed times.
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

// visit is one connection and what was asked on it.
type visit struct {
	conn net.Conn
	ask  Ask
	due  time.Time
	room [wire.MaxAnswer]byte
}

// Run sends the load.
func (l Open) Run(ctx context.Context) (*Waits, error) {
	w := &Waits{}
	for i := range w.Latency {
		w.Latency[i] = newHistogram()
	}
	var (
		free  = make(chan *visit, l.Connections)
		conns = make([]net.Conn, 0, l.Connections)
		over  = make(chan struct{}) // closed at the first failure
		once  sync.Once
		fault error
		mu    sync.Mutex // of w
		wg    sync.WaitGroup
	)
	fail := func(err error) {
		once.Do(func() {
			fault = err
			close(over)
		})
	}
	defer wg.Wait()
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	limit := time.Now().Add(time.Duration(float64(len(l.Asks))/l.Rate*float64(time.Second)) + 2*answerLimit)
	var dialer net.Dialer
	for range l.Connections {
		conn, err := dialer.DialContext(ctx, "tcp", l.Addr)
		if err != nil {
			return nil, fmt.Errorf("connecting: %w", err)
		}
		conns = append(conns, conn)
		if err := conn.SetDeadline(limit); err != nil {
			return nil, fmt.Errorf("connecting: %w", err)
		}
		v := &visit{conn: conn}
		free <- v
		wg.Go(func() {
			for {
				a, err := v.receive()
				if err != nil {
					fail(err)
					return
				}
				waited := time.Since(v.due)
				mu.Lock()
				w.Answers++
				if a.Status != 302 || !wire.Leads(a.Location, int(v.ask.Slug)) {
					w.Wrong++
				}
				err = w.Latency[v.ask.Class].RecordValue(max(1, waited.Nanoseconds()))
				mu.Unlock()
				if err != nil {
					fail(fmt.Errorf("an answer took %v: %w", waited, err))
					return
				}
				free <- v
			}
		})
	}
	start := time.Now()
	late, err := l.send(ctx, start, free, over)
	if err == nil {
		err = l.settle(ctx, free, over)
	}
	select {
	case <-over:
		err = fault
	default:
	}
	mu.Lock()
	defer mu.Unlock()
	w.Late, w.Took = late, time.Since(start)
	return w, err
}

// send keeps the schedule.
func (l Open) send(ctx context.Context, start time.Time, free <-chan *visit, over <-chan struct{}) (late int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cpu.SharpTimers(); err != nil {
		return 0, err
	}
	request := wire.NewRequest(l.Host)
	for i, ask := range l.Asks {
		due := start.Add(time.Duration(float64(i) / l.Rate * float64(time.Second)))
		for wait := time.Until(due); wait > 0; wait = time.Until(due) {
			cpu.Pause(wait)
		}
		var v *visit
		select {
		case v = <-free:
		default:
			late++
			select {
			case v = <-free:
			case <-over:
				return late, errors.New("the load ended early")
			case <-ctx.Done():
				return late, ctx.Err()
			}
		}
		v.ask, v.due = ask, due
		if _, err := v.conn.Write(request.For(int(ask.Slug))); err != nil {
			return late, fmt.Errorf("sending a request: %w", err)
		}
	}
	return late, nil
}

// settle waits until every answer has come: every connection is free again.
func (l Open) settle(ctx context.Context, free <-chan *visit, over <-chan struct{}) error {
	for range l.Connections {
		select {
		case <-free:
		case <-over:
			return errors.New("the load ended early")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (v *visit) receive() (wire.Answer, error) {
	have := 0
	for {
		n, err := v.conn.Read(v.room[have:])
		if err != nil {
			return wire.Answer{}, fmt.Errorf("waiting for an answer: %w", err)
		}
		have += n
		a, whole, err := wire.Scan(v.room[:have])
		if whole || err != nil {
			return a, err
		}
	}
}
