package redirect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// Limits of one request. A slow client holds a connection, not the edge.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 10 * time.Second
	idleTimeout  = 75 * time.Second // longer than most load balancers keep theirs
	// maxHeader is how long a request's head may be: browsers send the cookies of
	// the whole domain along.
	maxHeader = 16 << 10
	// maxBody is what an edge reads of a body before it says 405.
	maxBody = 64 << 10
)

// Server serves a Handler on one listener.
type Server struct {
	listener net.Listener
	handler  *Handler
	grace    time.Duration
	log      *slog.Logger
}

// NewServer returns a server that has grace to answer what it has begun when it is
// stopped.
func NewServer(listener net.Listener, handler *Handler, grace time.Duration, log *slog.Logger) *Server {
	return &Server{listener: listener, handler: handler, grace: grace, log: log}
}

// Run serves until ctx is done, then stops in two phases: no new connections, then
// the requests that have begun until the grace period ends. What is still waiting
// for somebody's answer then gets 503. When Run has returned, nothing is looked up
// any more.
func (s *Server) Run(ctx context.Context) error {
	// What a request starts may outlive it and the signal to stop, but not the server.
	lifetime, end := context.WithCancel(context.WithoutCancel(ctx))
	// A drain that has timed out leaves connections behind, and fasthttp goes on
	// answering on them. The look-up may be closed when this returns, so from then on
	// they are answered without it.
	var (
		answering sync.RWMutex // held for reading by each request
		ended     bool
	)
	defer func() {
		end() // whoever still asks others stops asking
		answering.Lock()
		ended = true
		answering.Unlock()
	}()
	server := &fasthttp.Server{
		Handler: func(rc *fasthttp.RequestCtx) {
			answering.RLock()
			if ended {
				s.handler.tooLate(rc)
			} else {
				s.handler.Serve(lifetime, rc)
			}
			answering.RUnlock()
		},
		ErrorHandler:          s.handler.unreadable,
		Logger:                quiet{s.log},
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		ReadBufferSize:        maxHeader,
		MaxRequestBodySize:    maxBody,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		CloseOnShutdown:       true,
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(s.listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serving %s: %w", s.listener.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(lifetime, s.grace)
	defer cancel()
	err := server.ShutdownWithContext(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("requests were cut off at the end of the grace period")
	}
	return errors.Join(err, <-stopped)
}

// tooLate answers what comes on a connection that has outlived the server.
func (h *Handler) tooLate(rc *fasthttp.RequestCtx) {
	h.unavailable(rc)
	rc.SetConnectionClose()
	h.metrics.answered(fasthttp.StatusServiceUnavailable)
}

// unreadable answers what is no HTTP request.
func (h *Handler) unreadable(rc *fasthttp.RequestCtx, err error) {
	status := fasthttp.StatusBadRequest
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.As(err, &small):
		status = fasthttp.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		status = fasthttp.StatusRequestEntityTooLarge
	case errors.As(err, &timeout) && timeout.Timeout():
		status = fasthttp.StatusRequestTimeout
	}
	h.page(rc, status, h.pages.bad)
	h.metrics.answered(status)
}

// quiet takes the server's own lines. They are about what single clients do, so
// they are for debugging only.
type quiet struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (q quiet) Printf(format string, args ...any) {
	q.log.Debug("fasthttp", "text", fmt.Sprintf(format, args...))
}
