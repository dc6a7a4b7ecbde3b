package redirect_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/origintest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 20 * time.Second

// world is an edge on a real listener, with a real Redis, an origin and a broker.
type world struct {
	addr     string
	redis    *redistest.Server
	store    *linkcache.Store
	origin   *origintest.Server
	registry *prometheus.Registry
	consumer *kgo.Client
	stop     func()
	revision uint64

	// domains is what the edge has, linksHas what it is told when it asks.
	domains  *domains.Table
	linksHas atomic.Pointer[[]domains.Domain]
	asked    atomic.Int64
}

// Current is the line to links.
func (w *world) Current(context.Context) bool {
	revision := w.asked.Add(1)
	has := w.linksHas.Load()
	if has == nil {
		return false // links is away
	}
	w.domains.Take(uint64(revision)+1, *has) //nolint:gosec // small
	return true
}

func newWorld(t *testing.T, options ...func(*redirect.Settings)) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, string(events.Clicks)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{redis: redistest.Start(t), origin: origintest.New(), domains: domains.New(), registry: prometheus.NewRegistry()}
	t.Cleanup(w.origin.Close)
	w.store = linkcache.NewStore(w.redis.Client(t))
	recorded, err := clicks.New(t.Context(), kafka.Options(cluster.ListenAddrs(), "test", log),
		clicks.Settings{Edge: "redirect-fra-0", JournalDir: t.TempDir(), JournalMaxBytes: clicks.MinJournalBytes, DrainTimeout: 5 * time.Second}, w.registry, log)
	if err != nil {
		t.Fatal(err)
	}
	settings := redirect.Settings{
		DefaultDomain: "s.test", LocalNames: []string{"localhost", "127.0.0.1", "::1"},
		ServerTiming: true, Region: "fra", Edge: "redirect-fra-0",
	}
	for _, o := range options {
		o(&settings)
	}
	links, err := lookup.New(w.store, lookup.NewOriginClient(w.origin.URL),
		lookup.Settings{MaxBytes: 32 << 20, Counters: 100_000, TTL: time.Minute, Tracer: settings.Tracer}, w.registry, log)
	if err != nil {
		t.Fatal(err)
	}
	feed := lookup.NewFeed(w.redis.Client(t), links, log)
	handler := redirect.New(links, recorded, w.domains, w, settings, w.registry)
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = listener.Addr().String()
	w.consumer, err = kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(string(events.Clicks)),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.consumer.Close)

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	serverCtx, stopServer := context.WithCancel(ctx)
	var tasks, server sync.WaitGroup
	run := func(group *sync.WaitGroup, ctx context.Context, task func(context.Context) error) {
		group.Go(func() {
			if err := task(ctx); err != nil {
				t.Errorf("a task ended with %v", err)
			}
		})
	}
	run(&tasks, ctx, recorded.Run)
	run(&tasks, ctx, links.Run)
	run(&tasks, ctx, feed.Run)
	web, err := http1.NewServer(listener, handler, http1.Settings{Loops: 2, Grace: 5 * time.Second, Waits: http1.DefaultWaits()}, log)
	if err != nil {
		t.Fatal(err)
	}
	run(&server, serverCtx, web.Run)
	w.stop = sync.OnceFunc(func() { stopServer(); server.Wait(); cancel(); tasks.Wait() })
	t.Cleanup(w.stop)

	facttest.Eventually(t, "the edge listens", feed.Subscribed)
	w.beat(t)
	return w
}

// beat sends a heartbeat, which makes the edge trust Redis for a moment, and waits until
// it is heard.
func (w *world) beat(t *testing.T) {
	t.Helper()
	m := linkcache.Message{Heartbeat: []linkcache.Position{{Offset: -1}}, Partitions: 1}
	published := time.Now()
	if err := w.store.Publish(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "the heartbeat is heard", func() bool {
		left := facttest.Metric(t, w.registry, "cache_lease_seconds", "")
		return time.Now().Add(time.Duration(left * float64(time.Second))).After(published.Add(lookup.Lease))
	})
}

// put makes a link at an address of s.test, or changes it.
func (w *world) put(t *testing.T, slugKey string, edit func(*linkcache.Record)) linkcache.Record {
	t.Helper()
	return w.putAt(t, "s.test", slugKey, edit)
}

func (w *world) putAt(t *testing.T, host, slugKey string, edit func(*linkcache.Record)) linkcache.Record {
	t.Helper()
	w.revision++
	r := linkcache.Record{Destination: "https://e.test/", Version: 1, Revision: w.revision, LinkID: [16]byte{1}, WorkspaceID: [16]byte{2}}
	if edit != nil {
		edit(&r)
	}
	if _, err := w.store.Put(t.Context(), []linkcache.Entry{{Key: linkcache.Key(host, slugKey), Record: r}}); err != nil {
		t.Fatal(err)
	}
	status := r.Status
	if status == 0 {
		status = linkcache.DefaultStatus
	}
	// The origin knows it too: which of the two is asked is not these tests' subject.
	if r.Flags == 0 {
		w.origin.Put(change(host, slugKey, r, status))
	}
	return r
}

func change(host, slugKey string, r linkcache.Record, status int) *eventspb.LinkChanged {
	return &eventspb.LinkChanged{
		LinkId: r.LinkID[:], WorkspaceId: r.WorkspaceID[:], Version: r.Version, Revision: r.Revision,
		Kind:    eventspb.LinkChanged_KIND_UPDATED,
		Address: &eventspb.Address{Host: host, Slug: slugKey, SlugKey: slugKey}, Destination: r.Destination,
		StatusCode: uint32(status), StartsAt: timestamp(r.StartsAt), ExpiresAt: timestamp(r.ExpiresAt), FallbackUrl: r.Fallback,
	}
}

// clicked waits for n clicks and returns them; more than n is an error.
func (w *world) clicked(t *testing.T, n int) []*eventspb.Click {
	t.Helper()
	w.stop() // flushes
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var out []*eventspb.Click
	for len(out) < n {
		fetches := w.consumer.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d clicks arrived, want %d", len(out), n)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			c := &eventspb.Click{}
			if err := events.DecodeClick(r.Value, c); err != nil {
				t.Error(err)
			}
			if r.Key != nil {
				t.Error("a click has a key")
			}
			out = append(out, c)
		})
	}
	if len(out) != n {
		t.Errorf("%d clicks arrived, want %d", len(out), n)
	}
	return out
}

func trusting(prefixes ...string) func(*redirect.Settings) {
	return func(s *redirect.Settings) {
		for _, p := range prefixes {
			s.TrustedProxies = append(s.TrustedProxies, netip.MustParsePrefix(p))
		}
	}
}

// noRedirects is a client that shows what the edge says.
func noRedirects(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
