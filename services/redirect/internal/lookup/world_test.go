package lookup_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/origintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gated is the real store with a gate behind its reads: what was read is handed
// over only when the test lets it.
type gated struct {
	*linkcache.Store
	gate  atomic.Pointer[func(key string)]
	lag   atomic.Pointer[linkcache.Record] // what the nearest replica still holds of every key
	reads atomic.Int64
}

func (g *gated) Get(ctx context.Context, key string) (linkcache.Record, bool, error) {
	r, ok, err := g.Store.Get(ctx, key)
	if old := g.lag.Load(); old != nil {
		r, ok = *old, true
	}
	g.reads.Add(1)
	if gate := g.gate.Load(); gate != nil {
		(*gate)(key)
	}
	return r, ok, err
}

// world is a region with one edge's look-up in it. The test is its cacheupdater.
type world struct {
	redis    *redistest.Server
	client   *redis.Client
	store    *gated
	origin   *origintest.Server
	lookup   *lookup.Lookup
	feed     *lookup.Feed
	registry *prometheus.Registry

	mu       sync.Mutex
	offset   int64 // newest published position of partition 0
	beating  bool
	fillings bool
}

type option func(*lookup.Settings)

func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	w := newDeafWorld(t, options...)
	w.subscribe(t)
	return w
}

// newDeafWorld is a world whose edge does not listen to its feed yet.
func newDeafWorld(t *testing.T, options ...option) *world {
	t.Helper()
	w := &world{redis: redistest.Start(t), origin: origintest.New(), registry: prometheus.NewRegistry(), offset: -1, beating: true}
	t.Cleanup(w.origin.Close)
	w.client = w.redis.Client(t)
	w.store = &gated{Store: linkcache.NewStore(w.client)}
	settings := lookup.Settings{MaxBytes: 32 << 20, TTL: time.Minute}
	for _, o := range options {
		o(&settings)
	}
	log := slog.New(slog.DiscardHandler)
	var err error
	w.lookup, err = lookup.New(w.store, lookup.NewOriginClient(w.origin.URL), settings, w.registry, log)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := redisconn.Open(w.redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	w.feed = lookup.NewFeed(listener, w.lookup, log)
	background(t, func(ctx context.Context) { _ = w.lookup.Run(ctx) }, w.beat)
	return w
}

// subscribe runs the feed and waits until it is trusted.
func (w *world) subscribe(t *testing.T) {
	t.Helper()
	background(t, func(ctx context.Context) { _ = w.feed.Run(ctx) })
	facttest.Eventually(t, "the feed is subscribed", w.feed.Subscribed)
	w.awaitTrust(t)
}

// background runs tasks until the test is over.
func background(t *testing.T, tasks ...func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() { task(ctx) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })
}

// beat sends heartbeats as the cacheupdater does.
func (w *world) beat(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		w.mu.Lock()
		if w.beating {
			m := linkcache.Message{Heartbeat: []linkcache.Position{{Offset: w.offset}}, Partitions: 1, Filling: w.fillings}
			_ = w.store.Publish(ctx, &m) // Redis may be away: that is the test
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *world) setBeating(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beating = on
}

func (w *world) setFilling(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fillings = on
}

// awaitTrust waits until a look-up is a hit, and so the lease stands.
func (w *world) awaitTrust(t *testing.T) {
	t.Helper()
	w.put(t, "trusted", 1, "https://trusted.test/")
	facttest.Eventually(t, "entries are trusted", func() bool {
		_, source, err := w.find(t, "trusted")
		return err == nil && source == lookup.L1 && w.source(t, "trusted-anew-"+uuid.NewString()) == lookup.Origin && w.store.reads.Swap(0) > 0
	})
}

func (w *world) find(t *testing.T, slug string) (*lookup.Entry, lookup.Source, error) {
	t.Helper()
	e, source, err := w.lookup.Find(context.WithoutCancel(t.Context()), []byte(linkcache.Key("s.test", slug)), time.Now())
	return &e, source, err
}

func (w *world) source(t *testing.T, slug string) lookup.Source {
	t.Helper()
	_, source, err := w.find(t, slug)
	if err != nil {
		t.Errorf("looking up %s: %v", slug, err)
	}
	return source
}

// leads checks one look-up. An empty destination is a link that is not there.
func (w *world) leads(t *testing.T, slug, destination string, source lookup.Source) {
	t.Helper()
	e, from, err := w.find(t, slug)
	if err != nil {
		t.Errorf("%s: %v, want %q from %s", slug, err, destination, source)
		return
	}
	if e.Destination != destination || e.Found != (destination != "") || from != source || e.Host != "s.test" || e.Slug != slug {
		t.Errorf("%s leads to %q (found %t) by %s, want %q by %s", slug, e.Destination, e.Found, from, destination, source)
	}
}

// becomesHit waits until L1 has taken an entry in.
func (w *world) becomesHit(t *testing.T, slug, destination string) {
	t.Helper()
	facttest.Eventually(t, slug+" is a hit", func() bool {
		e, source, err := w.find(t, slug)
		return err == nil && source == lookup.L1 && e.Destination == destination
	})
}

func record(revision uint64, destination string) linkcache.Record {
	r := linkcache.Record{Destination: destination, Version: 1, Revision: revision}
	if destination == "" {
		r.Flags = linkcache.FlagDeleted
	}
	return r
}

// put writes L2 and tells nobody.
func (w *world) put(t *testing.T, slug string, revision uint64, destination string) {
	t.Helper()
	if _, err := w.store.Put(t.Context(), []linkcache.Entry{{Key: linkcache.Key("s.test", slug), Record: record(revision, destination)}}); err != nil {
		t.Fatal(err)
	}
}

// change is what the origin knows of a link.
func change(slug string, revision uint64, destination string) *eventspb.LinkChanged {
	return &eventspb.LinkChanged{
		LinkId: make([]byte, 16), WorkspaceId: make([]byte, 16), Version: 1, Revision: revision,
		Kind: eventspb.LinkChanged_KIND_UPDATED, Address: &eventspb.Address{Host: "s.test", Slug: slug, SlugKey: slug},
		Destination: destination, StatusCode: 302,
	}
}

// announce publishes an invalidation and waits until the look-up has heard it.
func (w *world) announce(t *testing.T, slug string, revision uint64) {
	t.Helper()
	before := w.invalidations(t, "pubsub")
	w.publish(t, slug, revision, 0)
	facttest.Eventually(t, "the invalidation is heard", func() bool { return w.invalidations(t, "pubsub") > before })
}

// publish publishes an invalidation as if `lost` others had been before it.
func (w *world) publish(t *testing.T, slug string, revision uint64, lost int64) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	previous := w.offset + lost
	w.offset = previous + 1
	m := linkcache.Message{
		Keys: []string{linkcache.Key("s.test", slug)}, Version: 1, Revision: revision,
		Position: linkcache.Position{Offset: w.offset}, Previous: previous,
	}
	if err := w.store.Publish(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
}

// publishMany is publish for slugs and their revisions, in one message.
func (w *world) publishMany(t *testing.T, lost int64, what ...any) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += lost
	var messages []linkcache.Message
	for i := 0; i < len(what); i += 2 {
		messages = append(messages, linkcache.Message{
			Keys: []string{linkcache.Key("s.test", what[i].(string))}, Version: 1, Revision: uint64(what[i+1].(int)), //nolint:forcetypeassert,gosec // the test's own
			Position: linkcache.Position{Offset: w.offset + 1}, Previous: w.offset,
		})
		w.offset++
	}
	if err := w.store.PublishAll(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
}

// invalidations is one value of cache_invalidation_total.
func (w *world) invalidations(t *testing.T, source string) float64 {
	t.Helper()
	return facttest.Metric(t, w.registry, "cache_invalidation_total", source)
}

// gate lets a test wait for somebody to arrive, and then let him pass.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
	once    sync.Once
}

func newGate() *gate { return &gate{arrived: make(chan struct{}, 1000), open: make(chan struct{})} }

// only stops whoever comes for one key or slug, the first time.
func (g *gate) only(want string) func(string) {
	return func(key string) {
		if key != want {
			return
		}
		first := false
		g.once.Do(func() { first = true })
		if first {
			g.arrived <- struct{}{}
			<-g.open
		}
	}
}
