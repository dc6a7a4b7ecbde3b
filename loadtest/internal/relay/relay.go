// Package relay stands between a program and the server that it talks to, so that a
// scenario can lead it to another server, as an address that fails over does.
//
// It passes bytes on as they are. It promises that no connection is left when Run
// returns.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Dial makes a connection to where a relay leads.
type Dial func(ctx context.Context) (net.Conn, error)

// To dials an address.
func To(addr string) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "tcp", addr)
	}
}

// Relay is one listener.
type Relay struct {
	listener net.Listener

	mu    sync.Mutex
	dial  Dial
	conns map[net.Conn]struct{}
}

// New returns a relay from a listener, which it owns from here on.
func New(listener net.Listener, dial Dial) *Relay {
	return &Relay{listener: listener, dial: dial, conns: map[net.Conn]struct{}{}}
}

// Addr is where it listens.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Lead leads new connections elsewhere, and closes those that stand.
func (r *Relay) Lead(dial Dial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dial = dial
	r.cut()
}

func (r *Relay) cut() {
	for conn := range r.conns {
		_ = conn.Close()
	}
	clear(r.conns)
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() {
		<-ctx.Done()
		_ = r.listener.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cut()
	})
	for {
		conn, err := r.listener.Accept()
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("taking a connection: %w", err)
		}
		running.Go(func() { r.serve(ctx, conn) })
	}
}

func (r *Relay) serve(ctx context.Context, client net.Conn) {
	defer func() { _ = client.Close() }()
	r.mu.Lock()
	dial := r.dial
	r.mu.Unlock()
	server, err := dial(ctx)
	if err != nil {
		return // the client sees that nobody is there
	}
	defer func() { _ = server.Close() }()
	if !r.keep(ctx, client, server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_, _ = io.Copy(server, client)
	_ = server.Close()
	back.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, client)
	delete(r.conns, server)
}

// keep remembers connections, so that they can be cut.
func (r *Relay) keep(ctx context.Context, conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	for _, conn := range conns {
		r.conns[conn] = struct{}{}
	}
	return true
}
