package redistest

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/testproc"
)

// Pair is a Redis with one replica, behind one address that follows the primary, as
// a Sentinel, a managed service or a virtual address would have it.
type Pair struct {
	// URL is what a service is configured with.
	URL string

	Primary, Replica *Server
	door             *door
}

// StartPair starts an empty primary and its replica, which end with the test. Settings
// are more arguments of both servers.
func StartPair(tb testing.TB, settings ...string) *Pair {
	tb.Helper()
	settings = append([]string{"--repl-diskless-sync-delay", "0"}, settings...)
	p := &Pair{Primary: startWith(tb, settings...)}
	host, port, err := net.SplitHostPort(p.Primary.addr)
	if err != nil {
		tb.Fatal(err)
	}
	p.Replica = startWith(tb, append(settings, "--replicaof", host+" "+port)...)
	p.awaitReplica(tb)
	p.door = newDoor(tb, p.Primary.addr)
	p.URL = (&url.URL{Scheme: "redis", Host: p.door.listener.Addr().String()}).String()
	return p
}

func (p *Pair) awaitReplica(tb testing.TB) {
	tb.Helper()
	client := p.Primary.Client(tb)
	eventually(tb, "the replica follows", func() error {
		_, err := client.Set(tb.Context(), "redistest", "", 0).Result()
		if err == nil {
			err = client.Del(tb.Context(), "redistest").Err()
		}
		if err != nil {
			return err
		}
		n, err := client.Wait(tb.Context(), 1, pollEvery).Result()
		if err == nil && n < 1 {
			err = io.ErrNoProgress
		}
		return err
	})
}

// Detach makes the replica stop following, as if the network between the two were
// cut: what is written from now on is lost when it takes over.
func (p *Pair) Detach(tb testing.TB) {
	tb.Helper()
	detach(tb, p.Primary.Client(tb), p.Replica.Client(tb))
}

// Attach undoes Detach, and waits until the replica has caught up.
func (p *Pair) Attach(tb testing.TB) {
	tb.Helper()
	client := p.Replica.Client(tb)
	for _, name := range []string{"masteruser", "masterauth"} {
		if err := client.ConfigSet(tb.Context(), name, "").Err(); err != nil {
			tb.Fatal(err)
		}
	}
	p.awaitReplica(tb)
}

// FailOver ends the primary with SIGKILL, and the replica takes over: the address
// leads to it from now on.
func (p *Pair) FailOver(tb testing.TB) {
	tb.Helper()
	p.Primary.Kill()
	if err := p.Replica.Client(tb).Do(tb.Context(), "replicaof", "no", "one").Err(); err != nil {
		tb.Fatal(err)
	}
	p.Primary, p.Replica = p.Replica, p.Primary
	p.door.lead(p.Primary.addr)
}

// AddReplica starts one more replica of the primary. FailOver does not choose it.
func (p *Pair) AddReplica(tb testing.TB) *Server {
	tb.Helper()
	s := startWith(tb, p.Primary.settings...)
	p.Follow(tb, s)
	return s
}

// Follow makes a server a replica of whoever is the primary now, and waits until it has
// what that one has.
func (p *Pair) Follow(tb testing.TB, s *Server) {
	tb.Helper()
	host, port, err := net.SplitHostPort(p.Primary.addr)
	if err != nil {
		tb.Fatal(err)
	}
	client := s.Client(tb)
	if err := client.Do(tb.Context(), "replicaof", host, port).Err(); err != nil {
		tb.Fatal(err)
	}
	eventually(tb, "the server follows the primary", func() error {
		link, err := client.InfoMap(tb.Context(), "replication").Result()
		if err == nil && link["Replication"]["master_link_status"] != "up" {
			err = io.ErrNoProgress
		}
		return err
	})
}

// detach gives a replica a user that its primary does not know.
func detach(tb testing.TB, primary, replica *redis.Client) {
	tb.Helper()
	ctx := tb.Context()
	for _, err := range []error{
		replica.ConfigSet(ctx, "masteruser", "nobody").Err(),
		replica.ConfigSet(ctx, "masterauth", "nothing").Err(),
		primary.ClientKillByFilter(ctx, "type", "replica").Err(),
	} {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func startWith(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s := &Server{addr: testproc.FreeAddr(tb), settings: settings}
	s.URL = "redis://" + s.addr
	s.Restart(tb)
	tb.Cleanup(func() { s.process.Kill() })
	return s
}

// door passes connections on to wherever it leads.
type door struct {
	listener net.Listener

	mu     sync.Mutex
	target string
	open   map[net.Conn]struct{}
	closed bool
}

func newDoor(tb testing.TB, target string) *door {
	tb.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	d := &door{listener: listener, target: target, open: map[net.Conn]struct{}{}}
	var running sync.WaitGroup
	ctx := context.WithoutCancel(tb.Context())
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { d.pass(ctx, conn) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		d.mu.Lock()
		d.closed = true
		d.mu.Unlock()
		d.lead("")
		running.Wait()
	})
	return d
}

// lead sends new connections elsewhere, and closes those that stand.
func (d *door) lead(target string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.target = target
	for conn := range d.open {
		_ = conn.Close()
	}
	clear(d.open)
}

func (d *door) pass(ctx context.Context, from net.Conn) {
	defer func() { _ = from.Close() }()
	d.mu.Lock()
	target := d.target
	d.mu.Unlock()
	var dialer net.Dialer
	to, err := dialer.DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	d.mu.Lock()
	stands := !d.closed && d.target == target
	if stands {
		d.open[from], d.open[to] = struct{}{}, struct{}{}
	}
	d.mu.Unlock()
	if !stands {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, to) // however it ends, the other way ends too
		_ = from.Close()
	})
	_, _ = io.Copy(to, from)
	_ = to.Close()
	back.Wait()
}
