package apply_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/cacheupdater/internal/apply"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	region     = "fra"
	partitions = 3
	patience   = 30 * time.Second
)

// world is a broker, a Redis and what a test does with them.
type world struct {
	broker   *kfake.Cluster
	brokers  []string
	producer *kgo.Client
	redis    *redistest.Server // nil on a cluster
	open     func() redis.UniversalClient
	client   redis.UniversalClient
	store    *linkcache.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := redistest.Start(t)
	w := newWorldOn(t, func() redis.UniversalClient { return server.Client(t) })
	w.redis = server
	return w
}

func newWorldOn(t *testing.T, open func() redis.UniversalClient) *world {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(partitions, string(events.LinksChangelog)), kfake.SeedTopics(1, string(events.DeadLinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{broker: cluster, brokers: cluster.ListenAddrs(), open: open, client: open()}
	w.store = linkcache.NewStore(w.client)
	w.producer, err = kgo.NewClient(kgo.SeedBrokers(w.brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.producer.Close)
	return w
}

// running is an updater under way.
type running struct {
	*apply.Updater
	registry *prometheus.Registry
	stop     func() error
	ended    <-chan struct{} // closed when Run has returned
}

func (w *world) start(t *testing.T) *running {
	t.Helper()
	return w.startNamed(t, "")
}

func (w *world) startNamed(t *testing.T, instance string) *running {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	registry := prometheus.NewRegistry()
	updater, err := apply.New(kafka.Options(w.brokers, "test", log), w.open(),
		apply.Settings{Region: region, Instance: instance, DrainTimeout: 5 * time.Second}, registry, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, ended := make(chan error, 1), make(chan struct{})
	go func() {
		done <- updater.Run(ctx)
		close(ended)
	}()
	stopped := false
	var result error
	r := &running{Updater: updater, registry: registry, ended: ended}
	r.stop = func() error {
		if !stopped {
			stopped = true
			cancel()
			select {
			case result = <-done:
			case <-time.After(patience):
				t.Fatal("the updater does not stop")
			}
		}
		return result
	}
	t.Cleanup(func() { _ = r.stop() })
	return r
}

func (w *world) startReady(t *testing.T) *running {
	t.Helper()
	r := w.start(t)
	facttest.Eventually(t, "the updater is ready", func() bool { return r.ChangelogReady(t.Context()) == nil })
	return r
}

func (w *world) produce(t *testing.T, records ...*kgo.Record) {
	t.Helper()
	if err := w.producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func (w *world) holds(t *testing.T, slug string, revision uint64, destination string) {
	t.Helper()
	facttest.Eventually(t, "redis holds "+slug+" -> "+destination, func() bool {
		r, ok, err := w.store.Get(t.Context(), linkcache.Key("s.test", slug))
		return err == nil && ok && r.Revision == revision && r.Destination == destination
	})
}

// committed is the sum of the group's committed offsets.
func (w *world) committed(t *testing.T) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(w.producer).FetchOffsets(t.Context(), "cacheupdater-"+region)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	offsets.Each(func(o kadm.OffsetResponse) { sum += max(0, o.At) })
	return sum
}

// listen returns what edges hear, from now on.
func (w *world) listen(t *testing.T) <-chan linkcache.Message {
	t.Helper()
	sub := w.client.Subscribe(t.Context(), linkcache.Channel)
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := make(chan linkcache.Message, 10_000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			got, err := sub.ReceiveMessage(context.WithoutCancel(t.Context()))
			if err != nil {
				return
			}
			m, err := linkcache.DecodeMessage([]byte(got.Payload))
			if err != nil {
				t.Error(err)
				return
			}
			for _, m := range apart(m) {
				out <- m
			}
		}
	}()
	t.Cleanup(func() { _ = sub.Close(); <-done })
	return out
}

// apart is a message as one for each key, each with the position of the whole span.
func apart(m linkcache.Message) []linkcache.Message {
	if len(m.Spans) == 0 {
		return []linkcache.Message{m}
	}
	var out []linkcache.Message
	for _, s := range m.Spans {
		for i, key := range s.Keys {
			out = append(out, linkcache.Message{
				Keys: []string{key}, Revision: s.Revisions[i],
				Position: linkcache.Position{Partition: s.Partition, Offset: s.Offset}, Previous: s.Previous,
			})
		}
	}
	return out
}

// invalidation waits for one of a key.
func invalidation(t *testing.T, messages <-chan linkcache.Message, slug string, revision uint64) linkcache.Message {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case m := <-messages:
			if m.Revision == revision && slices.Contains(m.Keys, linkcache.Key("s.test", slug)) {
				return m
			}
		case <-deadline:
			t.Fatalf("no invalidation of %s at revision %d", slug, revision)
		}
	}
}

type link struct {
	id       uuid.UUID
	slug     string
	version  uint64
	previous string
}

func newLink(slug string) *link { return &link{id: uuid.Must(uuid.NewV7()), slug: slug} }

func (l *link) record(t *testing.T, kind eventspb.LinkChanged_Kind, revision uint64, destination string) *kgo.Record {
	t.Helper()
	l.version++
	ev := &eventspb.LinkChanged{
		LinkId: l.id[:], WorkspaceId: make([]byte, 16), Version: l.version, Revision: revision, Kind: kind,
		Address:     &eventspb.Address{Host: "s.test", Slug: l.slug, SlugKey: l.slug},
		Destination: destination, StatusCode: 302, ChangedAt: timestamppb.Now(),
	}
	if l.previous != "" {
		ev.PreviousAddress = &eventspb.Address{Host: "s.test", Slug: l.previous, SlugKey: l.previous}
		l.previous = ""
	}
	r, err := events.LinkChangedRecord("", ev)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (l *link) created(t *testing.T, revision uint64, to string) *kgo.Record {
	t.Helper()
	return l.record(t, eventspb.LinkChanged_KIND_CREATED, revision, to)
}

func (l *link) updated(t *testing.T, revision uint64, to string) *kgo.Record {
	t.Helper()
	return l.record(t, eventspb.LinkChanged_KIND_UPDATED, revision, to)
}

func (l *link) deleted(t *testing.T, revision uint64) *kgo.Record {
	t.Helper()
	return l.record(t, eventspb.LinkChanged_KIND_DELETED, revision, "https://last.test/")
}
