package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// gateMode is what a gate does with what passes through it.
type gateMode int

const (
	passing gateMode = iota
	deaf             // invalidations are dropped, heartbeats and answers pass
	stalled          // nothing passes, and nobody is told: a cable that was pulled
	refused          // connections are closed, and new ones too
)

// gate stands between one program and Redis, and spoils what passes when it is told to.
type gate struct {
	listener net.Listener

	mu      sync.Mutex
	changed *sync.Cond
	mode    gateMode
	target  string
	conns   map[net.Conn]struct{}
	dropped int
	closed  bool
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: listener, target: target, conns: map[net.Conn]struct{}{}}
	g.changed = sync.NewCond(&g.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { g.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		g.mu.Lock()
		g.closed = true
		g.mu.Unlock()
		g.set(refused)
		running.Wait()
	})
	return g
}

func (g *gate) url() string { return "redis://" + g.listener.Addr().String() }

// set changes what happens from now on, also to the connections that stand.
func (g *gate) set(mode gateMode) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = mode
	if mode == refused {
		g.cut()
	}
	g.changed.Broadcast()
}

// lead sends new connections to another server, and closes those that stand.
func (g *gate) lead(target string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.target = target
	g.cut()
}

func (g *gate) cut() {
	for conn := range g.conns {
		_ = conn.Close()
	}
	clear(g.conns)
}

// losses is how many messages were dropped.
func (g *gate) losses() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dropped
}

func (g *gate) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	g.mu.Lock()
	target, ok := g.target, g.mode != refused && !g.closed
	if ok {
		g.conns[client] = struct{}{}
	}
	g.mu.Unlock()
	if !ok {
		return
	}
	var dialer net.Dialer
	server, err := dialer.DialContext(context.Background(), "tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	g.mu.Lock()
	if g.closed || g.target != target {
		g.mu.Unlock()
		return
	}
	g.conns[server] = struct{}{}
	g.mu.Unlock()

	var back sync.WaitGroup
	back.Go(func() {
		defer func() { _ = client.Close() }()
		answers := bufio.NewReader(server)
		for {
			frame, err := readFrame(answers, nil)
			if err != nil || !g.let(frame) {
				return
			}
			if frame != nil && g.drops(frame) {
				continue
			}
			if _, err := client.Write(frame); err != nil {
				return
			}
		}
	})
	part := make([]byte, 32<<10)
	for {
		n, err := client.Read(part)
		if n > 0 && g.let(part[:n]) {
			if _, err := server.Write(part[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_ = server.Close()
	back.Wait()
	g.mu.Lock()
	delete(g.conns, client)
	delete(g.conns, server)
	g.mu.Unlock()
}

// let waits while nothing passes, and says whether something does.
func (g *gate) let([]byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.mode == stalled && !g.closed {
		g.changed.Wait()
	}
	return g.mode != refused && !g.closed
}

// drops says whether a message from Redis is lost here: an invalidation names keys.
func (g *gate) drops(frame []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mode != deaf || !bytes.Contains(frame, []byte("invalidate:redirect")) || !bytes.Contains(frame, []byte(`"k":[`)) {
		return false
	}
	g.dropped++
	return true
}

// readFrame reads one answer or message of Redis' protocol (RESP2 or 3) and appends it
// to frame.
func readFrame(r *bufio.Reader, frame []byte) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("Redis says %q", line)
	}
	frame = append(frame, line...)
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	switch line[0] {
	case '$', '=', '!':
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return frame, nil
		}
		at := len(frame)
		frame = append(frame, make([]byte, n+2)...)
		_, err = io.ReadFull(r, frame[at:])
		return frame, err
	case '*', '~', '>', '%', '|':
		if err != nil {
			return nil, err
		}
		if line[0] == '%' || line[0] == '|' {
			n *= 2
		}
		for range n {
			if frame, err = readFrame(r, frame); err != nil {
				return nil, err
			}
		}
		return frame, nil
	default:
		return frame, nil
	}
}
