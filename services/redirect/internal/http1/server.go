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
	grace    time.Duration
	loops    int
	log      *slog.Logger
}

// NewServer returns a server with that many event loops, of which each keeps a
// processor busy. It has grace to answer what it has begun when it is stopped.
func NewServer(listener net.Listener, handler Handler, loops int, grace time.Duration, log *slog.Logger) (*Server, error) {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("serving HTTP needs a TCP listener, not a %T", listener)
	}
	return &Server{listener: tcp, handler: handler, grace: grace, loops: loops, log: log}, nil
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
