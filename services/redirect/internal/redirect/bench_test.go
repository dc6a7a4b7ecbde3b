package redirect_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/origintest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
	"github.com/linkstream/linkstream/services/redirect/internal/throttle"
)

// bench is a handler without a listener, for measurements. Everything that a request
// may pass is switched on.
type bench struct {
	serve    func(rc *call)
	handler  *redirect.Handler
	redis    *redistest.Server
	store    *linkcache.Store
	lookup   *lookup.Lookup
	origin   *origintest.Server
	domains  *domains.Table
	registry *prometheus.Registry
	log      *slog.Logger
}

func newBench(tb testing.TB, limit redirect.Limit) *bench {
	tb.Helper()
	return newTracedBench(tb, limit, nil, 0)
}

func newTracedBench(tb testing.TB, limit redirect.Limit, tracer *trace.Tracer, share float64) *bench {
	tb.Helper()
	b := &bench{origin: origintest.New(), redis: redistest.Start(tb), domains: domains.New(), registry: prometheus.NewRegistry(), log: slog.New(slog.DiscardHandler)}
	tb.Cleanup(b.origin.Close)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, string(events.Clicks)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cluster.Close)
	recorded, err := clicks.New(tb.Context(), kafka.Options(cluster.ListenAddrs(), "test", b.log),
		clicks.Settings{Edge: "e", JournalDir: tb.TempDir(), JournalMaxBytes: 256 << 20, DrainTimeout: time.Second}, b.registry, b.log)
	if err != nil {
		tb.Fatal(err)
	}
	background(tb, func(ctx context.Context) { _ = recorded.Run(ctx) })
	b.store = linkcache.NewStore(b.redis.Client(tb))
	b.lookup, err = lookup.New(b.store, lookup.NewOriginClient(b.origin.URL),
		lookup.Settings{MaxBytes: 32 << 20, Counters: 10_000, TTL: time.Hour}, b.registry, b.log)
	if err != nil {
		tb.Fatal(err)
	}
	background(tb, func(ctx context.Context) { _ = b.lookup.Run(ctx) })
	b.domains.Take(1, []domains.Domain{{Host: "s.test", FoldCase: true}})
	b.handler = redirect.New(b.lookup, recorded, b.domains, nil, redirect.Settings{
		DefaultDomain: "s.test", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		MonitorAgents: []string{"UptimeRobot", "Pingdom", "StatusCake", "Checkly", "check_http"},
		Limit:         limit, ServerTiming: true, Region: "fra", Edge: "e",
		Tracer: tracer, Traced: share,
	}, b.registry)
	ctx := context.WithoutCancel(tb.Context())
	worker := b.handler.Worker()
	b.serve = func(c *call) {
		c.res.Begin(c.buf[:0], &c.req, date)
		c.req.Time = time.Now()
		if !worker.Answer(ctx, &c.req, &c.res) {
			worker.Wait(ctx, &c.req, &c.res)
		}
		worker.Flush()
		c.buf = c.res.Bytes()
	}
	return b
}

// background runs a task until the measurement is over.
func background(tb testing.TB, task func(ctx context.Context)) {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	var running sync.WaitGroup
	running.Go(func() { task(ctx) })
	tb.Cleanup(func() { stop(); running.Wait() })
}

// call is one request, made again and again.
type call struct {
	req http1.Request
	res http1.Response
	buf []byte
}

const date = "Date: Mon, 30 Nov 2026 12:00:00 GMT\r\n"

// request prepares one, as a browser sends it.
func request(method, uri string) *call {
	return &call{req: http1.Request{
		Method: []byte(method), Target: []byte(uri), Host: []byte("s.test"), Peer: netip.MustParseAddr("192.0.2.7"),
		UserAgent: []byte("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"),
	}}
}

// hits says whether a request is answered from memory.
func (b *bench) hits(c *call) bool {
	b.serve(c)
	return bytes.Contains(c.buf, []byte("cache;desc=l1"))
}

// put makes a link that the origin knows.
func (b *bench) put(slug string, status int, r linkcache.Record) {
	r.Version, r.Revision = 1, 1
	b.origin.Put(change("s.test", slug, r, status))
}

// listen makes entries trusted for as long as the measurement takes.
func (b *bench) listen(tb testing.TB) {
	tb.Helper()
	feed := lookup.NewFeed(b.redis.Client(tb), b.lookup, b.log)
	background(tb, func(ctx context.Context) { _ = feed.Run(ctx) })
	background(tb, func(ctx context.Context) {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			_ = b.store.Publish(ctx, &linkcache.Message{Heartbeat: []linkcache.Position{{Offset: -1}}, Partitions: 1})
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	facttest.Eventually(tb, "the edge listens", feed.Subscribed)
}

// unlimited is a limit that is looked at and never reached.
func unlimited() redirect.Limit {
	return redirect.Limit{Rate: throttle.MaxRate, Burst: throttle.MaxBurst}
}

func BenchmarkServe(b *testing.B) {
	run := func(name, method, uri string, status int, inMemory bool, limit redirect.Limit) {
		b.Run(name, func(b *testing.B) {
			w := newBench(b, limit)
			w.listen(b)
			w.put("launch", 302, linkcache.Record{Destination: "https://e.test/"})
			w.put("moved", 301, linkcache.Record{Destination: "https://e.test/"})
			w.put("over", 302, linkcache.Record{Destination: "https://e.test/", ExpiresAt: 1})
			rc := request(method, uri)
			if inMemory {
				facttest.Eventually(b, "it is a hit", func() bool { return w.hits(rc) })
			}
			b.ReportAllocs()
			for b.Loop() {
				w.serve(rc)
			}
			if got := rc.res.Code(); got != status {
				b.Fatalf("status %d, want %d", got, status)
			}
			if method == "GET" && status < 400 && inMemory {
				b.ReportMetric(facttest.Metric(b, w.registry, "clicks_dropped_total", "")/float64(b.N), "dropped/op")
			}
		})
	}
	run("hit", "GET", "/launch?utm_source=x", 302, true, redirect.Limit{})
	run("hit-limited", "GET", "/launch?utm_source=x", 302, true, unlimited())
	run("head", "HEAD", "/launch?utm_source=x", 302, true, redirect.Limit{})
	run("permanent", "GET", "/moved", 301, true, redirect.Limit{})
	run("unknown", "GET", "/nothing-here", 404, true, redirect.Limit{})
	run("gone", "GET", "/over", 410, true, redirect.Limit{})
	run("method", "PUT", "/launch", 405, false, redirect.Limit{})
	run("robots", "GET", "/robots.txt", 200, false, redirect.Limit{})
}

// BenchmarkTraced is a hit where nobody is followed because there is no collector, where
// there is one and the hit is not picked, and where all are.
func BenchmarkTraced(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	run := func(name string, traced bool, share float64, headers func(*call)) {
		b.Run(name, func(b *testing.B) {
			var tracer *trace.Tracer
			if traced {
				tracer = newTracer(collector.URL)
				background(b, func(ctx context.Context) { _ = tracer.Run(ctx) })
			}
			w := newTracedBench(b, redirect.Limit{}, tracer, share)
			w.listen(b)
			w.put("launch", 302, linkcache.Record{Destination: "https://e.test/"})
			rc := request("HEAD", "/launch")
			headers(rc)
			facttest.Eventually(b, "it is a hit", func() bool { return w.hits(rc) })
			b.ReportAllocs()
			for b.Loop() {
				w.serve(rc)
			}
		})
	}
	stranger := func(c *call) { c.req.Traceparent = []byte("00-" + callersTrace + "-" + callersSpan + "-01") }
	proxy := func(c *call) { stranger(c); c.req.Peer = netip.MustParseAddr("10.0.0.1") }
	as := func(*call) {}
	run("off", false, 0, as)
	run("none", true, 0, as)
	run("none-of-a-stranger", true, 0, stranger)
	run("none-of-too-many", true, 0, proxy)
	run("thousandth", true, 0.001, as)
	run("hundredth", true, 0.01, as)
	run("all", true, 1, as)
}
