package limit_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCounter(client redis.UniversalClient) *limit.Counter {
	return limit.New(client, prometheus.NewRegistry())
}

// Guards I62.
func TestAllEdgesTogetherGiveExactlyTheLimit(t *testing.T) {
	server := redistest.Start(t)
	count := limit.Count{Link: [16]byte{1}, Since: 3, Max: 100}
	edges := []*limit.Counter{newCounter(server.Client(t)), newCounter(server.Client(t)), newCounter(server.Client(t))}
	var got atomic.Int64
	var visitors sync.WaitGroup
	for i := range 500 {
		visitors.Go(func() {
			ok, err := edges[i%len(edges)].Take(t.Context(), count)
			if err != nil {
				t.Error(err)
			}
			if ok {
				got.Add(1)
			}
		})
	}
	visitors.Wait()
	if got.Load() != 100 {
		t.Errorf("%d redirects, want 100", got.Load())
	}
	check := func(what string, count limit.Count, want bool) {
		t.Helper()
		for _, edge := range edges {
			if left, err := edge.Left(t.Context(), count); err != nil || left != want {
				t.Errorf("%s: left %t, %v; want %t", what, left, err, want)
			}
		}
	}
	check("it is used up", count, false)
	if !edges[0].Spent(count) {
		t.Error("an edge has forgotten that it is used up")
	}
	count.Max = 101
	check("it was raised", count, true)
	if ok, err := edges[1].Take(t.Context(), count); err != nil || !ok {
		t.Errorf("the one more: %t, %v", ok, err)
	}
	check("it was raised and is used up", count, false)
	count.Since = 9
	check("it was set anew", count, true)
	check("another link", limit.Count{Link: [16]byte{2}, Since: 3, Max: 1}, true)
}

func TestOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	edge := newCounter(cluster.Client(t))
	for link := range byte(20) { // on all shards
		count := limit.Count{Link: [16]byte{link}, Max: 1}
		first, err1 := edge.Take(t.Context(), count)
		second, err2 := edge.Take(t.Context(), count)
		if !first || second || err1 != nil || err2 != nil {
			t.Errorf("link %d: %t, %v, then %t, %v", link, first, err1, second, err2)
		}
	}
}

func TestWithoutRedisNobodyGetsARedirect(t *testing.T) {
	server := redistest.Start(t)
	count := limit.Count{Link: [16]byte{1}, Max: 1}
	edge := newCounter(server.Client(t))
	check := func(what string, edge *limit.Counter) {
		t.Helper()
		if ok, err := edge.Take(t.Context(), count); ok || !errors.Is(err, limit.ErrAway) {
			t.Errorf("%s: Take says %t, %v", what, ok, err)
		}
		if ok, err := edge.Left(t.Context(), count); ok || !errors.Is(err, limit.ErrAway) {
			t.Errorf("%s: Left says %t, %v", what, ok, err)
		}
	}
	check("there is none", newCounter(nil))
	if ok, err := edge.Take(t.Context(), count); !ok || err != nil {
		t.Fatalf("Take says %t, %v", ok, err)
	}
	server.Kill()
	check("it is away", edge)
}

// losing drops the connection after the first so many replies were on their way.
type losing struct {
	net.Conn
	lose *atomic.Int64
}

func (l losing) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if err == nil && l.lose.Load() > 0 && l.lose.Add(-1) >= 0 {
		_ = l.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// Guards I62.
func TestALostReplyCountsOnce(t *testing.T) {
	server := redistest.Start(t)
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var lose atomic.Int64
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		return losing{conn, &lose}, err
	}
	options.MaxRetries = -1
	options.DisableIdentity = true
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	edge, plain := newCounter(client), server.Client(t)
	count := limit.Count{Link: [16]byte{1}, Max: 3}
	if ok, err := edge.Take(t.Context(), count); !ok || err != nil { // Redis knows the script now
		t.Fatalf("%t, %v", ok, err)
	}
	used := func(want string) {
		t.Helper()
		if got := plain.Get(t.Context(), "clicklimit:{01000000-0000-0000-0000-000000000000}:0").Val(); got != want {
			t.Errorf("%s are used up, want %s", got, want)
		}
	}
	used("1")
	lose.Store(1)
	if ok, err := edge.Take(t.Context(), count); !ok || err != nil {
		t.Errorf("with one reply lost: %t, %v", ok, err)
	}
	used("2")
	lose.Store(10)
	if ok, err := edge.Take(t.Context(), count); ok || !errors.Is(err, limit.ErrAway) {
		t.Errorf("with all replies lost: %t, %v", ok, err)
	}
	lose.Store(0)
	used("3") // fewer than the limit, never more
	if ok, err := edge.Take(t.Context(), count); ok || err != nil {
		t.Errorf("beyond the limit: %t, %v", ok, err)
	}
}
