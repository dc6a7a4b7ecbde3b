// Package redistest gives tests a real Redis, or a Redis Cluster, of their own.
package redistest

import (
	"context"
	"net"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

// Server is a Redis that a test may stop and start again on the same address.
type Server struct {
	// URL is what a service is configured with.
	URL string

	addr     string
	settings []string // more arguments
	process  *testproc.Process
}

// Start starts an empty Redis that ends with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return startWith(tb)
}

// Kill ends the Redis with SIGKILL: its data is gone.
func (s *Server) Kill() { s.process.Kill() }

// Restart starts it again, empty, on the same address.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	program, ok := testproc.Look("redis-server")
	if !ok {
		testproc.Missing(tb, "redis-server")
	}
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		tb.Fatal(err)
	}
	arguments := append([]string{"--port", port, "--bind", host, "--save", "", "--appendonly", "no", "--dir", tb.TempDir()}, s.settings...)
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), program, arguments...)
	client := s.Client(tb)
	s.process, err = testproc.Start(cmd, func(ctx context.Context) error { return client.Ping(ctx).Err() })
	if err != nil {
		tb.Fatal(err)
	}
}

// Client returns a client that is closed with the test.
func (s *Server) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	opened, err := redisconn.Open(s.URL)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = opened.Close() })
	client, ok := opened.(*redis.Client)
	if !ok {
		tb.Fatalf("%s opens a %T", s.URL, opened)
	}
	return client
}

// Pause stops the Redis without ending it, as a hung machine would; Resume lets it go
// on.
func (s *Server) Pause() { s.process.Pause() }

// Resume undoes Pause.
func (s *Server) Resume() { s.process.Resume() }
