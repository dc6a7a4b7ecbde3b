package http1

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// engine is the loops of a server while it runs.
type engine struct {
	*Server
	lifetime context.Context //nolint:containedctx // it is the server's, and ends with it
	start    time.Time
	listener int
	loops    []*loop
	stopping atomic.Bool
	stopped  atomic.Int32   // loops that have stopped
	waiting  sync.WaitGroup // requests that have left a loop
	workers  sync.Pool      // those that answer them
}

func (s *Server) run(ctx, lifetime context.Context, end func()) error {
	e := &engine{Server: s, lifetime: lifetime, start: time.Now()}
	e.workers.New = func() any { return s.handler.Worker() }
	file, err := s.listener.File() // a descriptor of our own
	if err != nil {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	defer func() { _ = file.Close() }()
	if err := s.listener.Close(); err != nil { // Go's poller would be woken up for each connection, too
		return fmt.Errorf("serving HTTP: %w", err)
	}
	e.listener = int(file.Fd())
	if err := e.prepare(); err != nil {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	defer func() {
		for _, l := range e.loops {
			l.release()
		}
	}()
	for range max(1, s.Loops) {
		l, err := newLoop(e)
		if err != nil {
			return fmt.Errorf("serving HTTP: %w", err)
		}
		e.loops = append(e.loops, l)
	}
	return e.serve(ctx, end)
}

// prepare sets up the listener. Its connections inherit the options.
func (e *engine) prepare() error {
	return errors.Join(
		unix.SetNonblock(e.listener, true),
		unix.SetsockoptInt(e.listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptInt(e.listener, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
	)
}

func (e *engine) serve(ctx context.Context, end func()) error {
	var running sync.WaitGroup
	failed := make(chan error, len(e.loops))
	for _, l := range e.loops {
		running.Go(func() {
			if err := l.run(); err != nil {
				failed <- err
			}
		})
	}
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	// What the loops have started has ended when they have, but for its last steps.
	defer e.waiting.Wait()
	finish := func() {
		end()
		e.tell(letter{kind: letterEnd})
		<-ended
	}
	select {
	case err := <-failed:
		finish()
		return err
	case <-ctx.Done():
	}
	e.stopping.Store(true)
	e.tell(letter{kind: letterStop})
	grace := time.NewTimer(e.Grace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		finish()
		return errCutOff
	}
	end() // somebody may have left without waiting for an answer
	return nil
}

func (e *engine) tell(m letter) {
	for _, l := range e.loops {
		l.post(m)
	}
}

// since is a time on the engine's own clock.
func (e *engine) since(t time.Time) int64 { return int64(t.Sub(e.start)) }

// later answers a request that has to wait, and sends the answer back to its loop.
func (e *engine) later(l *loop, c *conn, whole []byte, arrived time.Time) {
	worker, _ := e.workers.Get().(Worker)
	defer e.workers.Put(worker)
	req, res := Request{Peer: c.peer, Time: arrived}, Response{}
	n, _ := req.parse(whole) // it was parsed before
	req.Body = whole[n:]
	var date clock
	res.Begin(nil, &req, date.at(time.Now()))
	if e.stopping.Load() {
		res.Close()
	}
	worker.Wait(e.lifetime, &req, &res)
	worker.Flush()
	l.post(letter{kind: letterAnswer, conn: c, answer: res.buf, ends: res.ends, linger: req.BodyUnread})
}
