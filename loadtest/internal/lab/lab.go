// Package lab is one more region of a running stack, for faults that the local stack
// cannot have: its Redis is a primary with a replica, and a relay stands between them
// and every program of the region, as the address of a managed Redis does.
//
// It promises that nothing of it is left after Close.
package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/relay"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
)

const (
	region     = "lab"
	readyLimit = time.Minute
)

// Edge is one of the region's.
type Edge struct{ Name, Addr, Admin string }

// Lab is a running region.
type Lab struct {
	Edges []Edge

	stack            *stack.Stack
	bin, dir         string
	environ          []string
	primary, replica *server
	relays           []*relay.Relay
	running          []*child // in the order of their start
	stop             func()
	relaying         sync.WaitGroup
	failed           chan error
}

// server is a Redis.
type server struct {
	*child
	addr string
}

// Start starts a region with that many edges. Close has to be called in any case.
func Start(ctx context.Context, s *stack.Stack, bin string, environ []string, edges int) (*Lab, error) {
	l := &Lab{stack: s, bin: bin, environ: without(environ), failed: make(chan error, edges+1)}
	var err error
	if l.dir, err = os.MkdirTemp("", "linkstream-lab-"); err != nil {
		return l, fmt.Errorf("making a folder: %w", err)
	}
	if l.primary, err = l.redis(ctx, "redis-0"); err != nil {
		return l, err
	}
	host, port, err := net.SplitHostPort(l.primary.addr)
	if err != nil {
		return l, err
	}
	if l.replica, err = l.redis(ctx, "redis-1", "--replicaof", host+" "+port); err != nil {
		return l, err
	}
	relaying, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	if err := l.program(ctx, relaying, "cacheupdater", "cacheupdater-"+region, nil); err != nil {
		return l, err
	}
	for n := range edges {
		if err := l.edge(ctx, relaying, n); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *Lab) edge(ctx, relaying context.Context, n int) error {
	addr, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("redirect-%s-%d", region, n)
	l.Edges = append(l.Edges, Edge{Name: name, Addr: addr})
	return l.program(ctx, relaying, "redirect", name, map[string]string{
		"LINKSTREAM_EDGE_NAME": name, "LINKSTREAM_HTTP_ADDR": addr, "LINKSTREAM_JOURNAL_DIR": filepath.Join(l.dir, "journal-"+name),
	})
}

// program starts a program of the region behind a relay of its own, and waits until it
// is ready.
func (l *Lab) program(ctx, relaying context.Context, binary, name string, more map[string]string) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for %s: %w", name, err)
	}
	r := relay.New(listener, relay.To(l.primary.addr))
	l.relays = append(l.relays, r)
	l.relaying.Go(func() {
		if err := r.Run(relaying); err != nil {
			l.failed <- err
		}
	})
	admin, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	env := map[string]string{
		"LINKSTREAM_REGION": region, "LINKSTREAM_REDIS_URL": "redis://" + r.Addr(), "LINKSTREAM_ADMIN_ADDR": admin,
		"LINKSTREAM_KAFKA_BROKERS": l.stack.Kafka,
	}
	if binary == "redirect" {
		maps.Copy(env, map[string]string{
			"LINKSTREAM_ORIGIN_URL": l.stack.RPC, "LINKSTREAM_DEFAULT_DOMAIN": "localhost", "LINKSTREAM_SERVER_TIMING": "true",
		})
		l.Edges[len(l.Edges)-1].Admin = "http://" + admin
	}
	maps.Copy(env, more)
	c, err := start(here, name, filepath.Join(l.dir, name+".log"), with(l.environ, env), filepath.Join(l.bin, binary))
	if err != nil {
		return err
	}
	l.running = append(l.running, c)
	return c.until(ctx, name+" is ready", func(ctx context.Context) error { return stack.Ready(ctx, "http://"+admin) })
}

func (l *Lab) redis(ctx context.Context, name string, settings ...string) (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("finding redis-server: %w", err)
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(l.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	args := append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--repl-diskless-sync-delay", "0",
	}, settings...)
	c, err := start(here, name, filepath.Join(l.dir, name+".log"), l.environ, path, args...)
	if err != nil {
		return nil, err
	}
	l.running = append(l.running, c)
	return &server{child: c, addr: addr}, c.until(ctx, name+" answers", func(ctx context.Context) error {
		answer, err := stack.Redis(ctx, addr, "PING")
		if err == nil && answer != "+PONG" {
			err = errors.New(answer)
		}
		return err
	})
}

// Detach cuts the replica off from its primary, which is not told: what is written
// from now on is lost when the replica takes over.
func (l *Lab) Detach(ctx context.Context) error {
	for _, to := range []struct{ addr, command string }{
		{l.replica.addr, "CONFIG SET masteruser nobody"}, {l.replica.addr, "CONFIG SET masterauth nothing"}, {l.primary.addr, "CLIENT KILL TYPE replica"},
	} {
		if _, err := stack.Redis(ctx, to.addr, to.command); err != nil {
			return err
		}
	}
	return nil
}

// FailOver kills the primary; the replica takes over, at the same addresses.
func (l *Lab) FailOver(ctx context.Context) error {
	if err := l.primary.end(syscall.SIGKILL); err != nil {
		return err
	}
	if _, err := stack.Redis(ctx, l.replica.addr, "REPLICAOF NO ONE"); err != nil {
		return err
	}
	l.primary, l.replica = l.replica, l.primary
	for _, r := range l.relays {
		r.Lead(relay.To(l.primary.addr))
	}
	return nil
}

// Close stops everything and removes the folder.
func (l *Lab) Close() error {
	var errs []error
	for _, c := range slices.Backward(l.running) {
		errs = append(errs, c.end(syscall.SIGTERM))
	}
	if l.stop != nil {
		l.stop()
	}
	l.relaying.Wait()
	close(l.failed)
	for err := range l.failed {
		errs = append(errs, err)
	}
	if l.dir != "" {
		errs = append(errs, os.RemoveAll(l.dir))
	}
	return errors.Join(errs...)
}

// without is an environment without what is meant for another stack.
func without(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool { return strings.HasPrefix(pair, "LINKSTREAM_") })
}

func with(environ []string, env map[string]string) []string {
	all := slices.Clone(environ)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		all = append(all, key+"="+env[key])
	}
	return all
}

func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
