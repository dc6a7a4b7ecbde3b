// Package httpserver serves HTTP with a two-phase stop, and the admin listener
// that every process has.
//
// It promises that a server that was told to stop takes no new connection,
// answers what it has begun, and is gone within its grace period. It refuses to
// wait for ever for a slow client: every phase of a request has a limit.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of one request. A slow client holds a connection, not the process.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Server serves one handler on one listener.
type Server struct {
	listener net.Listener
	http     *http.Server
	grace    time.Duration
}

// Listen opens the address, so that a port that is in use stops the start of
// the process at once, with a message that names it.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", addr, err)
	}
	return l, nil
}

// New returns a server that has grace to answer what it has begun when it is
// stopped. Answers have no write limit, because exports and event streams are
// long: whoever writes them bounds them.
func New(listener net.Listener, handler http.Handler, grace time.Duration, log *slog.Logger) *Server {
	return &Server{
		listener: listener,
		grace:    grace,
		http: &http.Server{
			Handler:           withoutReadTimeout(handler),
			ReadHeaderTimeout: readHeaderTimeout,
			ReadTimeout:       readTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeaderBytes,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
	}
}

// withoutReadTimeout lifts the limit on reading from a request that has nothing more to
// be read: net/http would end its context when the limit passes, and with it an export or
// an event stream.
func withoutReadTimeout(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a connection that cannot has none
		}
		next.ServeHTTP(w, r)
	})
}

// Addr is where the server listens: with the port that it got, if it asked for any.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx is done, then stops in two phases: no new connections,
// then the open ones until the grace period ends.
func (s *Server) Run(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- s.http.Serve(s.listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serving %s: %w", s.listener.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	err := s.http.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		// Event streams never end by themselves: cutting them is the plan, not an error.
		err = s.http.Close()
	}
	if serveErr := <-stopped; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}
