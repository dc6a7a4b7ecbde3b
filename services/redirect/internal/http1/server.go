package http1

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// errCutOff says that the grace period was too short for somebody.
var errCutOff = errors.New("requests were cut off at the end of the grace period")

// Server serves a Handler on one listener.
type Server struct {
	listener *net.TCPListener
	handler  Handler
	Settings
	log *slog.Logger
}

// Settings of a Server.
type Settings struct {
	Loops int           // event loops, of which each can keep a processor busy; at least 1
	Grace time.Duration // what a stop may take to answer what has begun
	Waits Waits
}

// Waits are how long a visitor is waited for. They are kept to a second or a quarter
// of the shortest, whichever is less.
type Waits struct {
	Head   time.Duration // for the rest of a request that has begun
	Write  time.Duration // for room to write an answer
	Idle   time.Duration // for the next request
	Linger time.Duration // for the end of what came with a request that was refused
}

// DefaultWaits are those for visitors out there.
func DefaultWaits() Waits {
	return Waits{
		Head:   10 * time.Second,
		Write:  10 * time.Second,
		Idle:   75 * time.Second, // longer than most load balancers keep theirs
		Linger: 2 * time.Second,
	}
}

func (w Waits) sweepEvery() time.Duration {
	return min(time.Second, min(w.Head, w.Write, w.Idle, w.Linger)/4)
}

// NewServer returns a server.
func NewServer(listener net.Listener, handler Handler, settings Settings, log *slog.Logger) (*Server, error) {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("serving HTTP needs a TCP listener, not a %T", listener)
	}
	return &Server{listener: tcp, handler: handler, Settings: settings, log: log}, nil
}

// Run serves until ctx is done, then stops in two phases: no new connections and no
// new requests, then the requests that have begun until the grace period ends. What
// is still waiting for somebody's answer is then answered with what there is. When Run
// has returned, every connection is closed and no worker is used any more.
func (s *Server) Run(ctx context.Context) error {
	// What a request starts may outlive it and the signal to stop, but not the server.
	lifetime, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	return s.run(ctx, lifetime, end)
}
