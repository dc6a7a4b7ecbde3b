package feed_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/feed"
	"github.com/linkstream/linkstream/services/webhooks/internal/hooktest"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// world is a broker, a database, and the links that the links service would know.
type world struct {
	*hooktest.Store
	brokers []string
	client  *kgo.Client

	mu       sync.Mutex
	links    map[uuid.UUID]*eventspb.LinkChanged
	away     bool
	revision uint64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var names []string
	for _, topic := range events.Topics() {
		names = append(names, topic.Name(""))
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, names...), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{Store: hooktest.NewStore(t), brokers: cluster.ListenAddrs(), links: map[uuid.UUID]*eventspb.LinkChanged{}}
	if w.client, err = kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	return w
}

// Find stands in for the links service.
func (w *world) Find(_ context.Context, _, _ string, link uuid.UUID) (*eventspb.LinkChanged, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return nil, context.DeadlineExceeded
	}
	return w.links[link], nil
}

func (w *world) setAway(away bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away = away
}

func (w *world) topic(ctx context.Context) ([16]byte, error) {
	name := events.Clicks.Name("")
	details, err := kadm.NewClient(w.client).ListTopics(ctx, name)
	return details[name].ID, err
}

var urls = address.URLs{Scheme: "https"}

// read runs a Reader until the test ends or it is stopped.
func (w *world) read(t *testing.T) (stop func()) {
	t.Helper()
	settings := events.Settings{
		Brokers: w.brokers, RetryFirst: time.Millisecond, RetryMax: 5 * time.Millisecond, Tries: 3, Drain: time.Second,
		Kafka: []kgo.Opt{kgo.SessionTimeout(2 * time.Second), kgo.HeartbeatInterval(50 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond)},
	}
	probe, err := kgo.NewClient(kgo.SeedBrokers(w.brokers...))
	if err != nil {
		t.Fatal(err)
	}
	reader := feed.NewReader(settings, probe, feed.NewLinks(w.Store.Store, urls, time.Now), feed.NewClicks(w.Store.Store, w, urls, w.topic), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	stop = run(t, reader.Run)
	t.Cleanup(probe.Close)
	return stop
}

func (w *world) tick(t *testing.T) (stop func()) {
	t.Helper()
	return run(t, feed.NewTimer(w.Store.Store, w, urls, slog.New(slog.DiscardHandler)).Run)
}

func run(t *testing.T, task func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- task(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// change makes a link, or a new version of it.
func (w *world) change(t *testing.T, link uuid.UUID, kind eventspb.LinkChanged_Kind, with func(*eventspb.LinkChanged)) *eventspb.LinkChanged {
	t.Helper()
	var at time.Time
	if err := w.Pool.QueryRow(t.Context(), `SELECT now()`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.revision++
	c := &eventspb.LinkChanged{
		LinkId: link[:], WorkspaceId: w.Workspace[:], Address: &eventspb.Address{Host: "go.test", Slug: "a", SlugKey: "a"},
		Version: w.revision, Revision: w.revision, Kind: kind, ChangedAt: timestamppb.New(at), Destination: "https://e.test/" + strconv.FormatUint(w.revision, 10),
		StatusCode: 302, CreatedAt: timestamppb.New(at), UpdatedAt: timestamppb.New(at),
	}
	if with != nil {
		with(c)
	}
	w.links[link] = c
	if kind == eventspb.LinkChanged_KIND_DELETED {
		delete(w.links, link)
	}
	w.mu.Unlock()
	record, err := events.LinkChangedRecord("", c)
	if err == nil {
		err = w.client.ProduceSync(t.Context(), record).FirstErr()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) click(t *testing.T, link uuid.UUID, n int, agent string) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		click := events.Click{
			ID: uuid.Must(uuid.NewV7()), TimeUnixMicro: time.Now().UnixMicro(), WorkspaceID: w.Workspace, LinkID: link, LinkVersion: 1,
			Host: "go.test", SlugKey: "a", Status: 302, UserAgent: []byte(agent),
		}
		records[i] = &kgo.Record{Topic: events.Clicks.Name(""), Value: events.AppendClick(nil, &click)}
	}
	if err := w.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

type queued struct {
	ID, Type string
	Data     struct {
		Destination string `json:"destination"`
		Threshold   int64  `json:"threshold"`
		Clicks      int64  `json:"clicks"`
		Total       int64  `json:"total"`
	}
}

// queue is what is queued for an endpoint, in order.
func (w *world) queue(t *testing.T, e *endpoint.Endpoint) []queued {
	t.Helper()
	rows, err := w.Pool.Query(t.Context(), `SELECT event_id, payload FROM webhook_deliveries WHERE endpoint_id = $1 ORDER BY seq`, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []queued
	for rows.Next() {
		var q queued
		var payload []byte
		if err := rows.Scan(&q.ID, &payload); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(payload, &q); err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
	}
	return list
}

func byType(list []queued) map[string]int {
	counts := map[string]int{}
	for _, q := range list {
		counts[q.Type]++
	}
	return counts
}

// replayTopic forgets how far the groups have come, reads everything again, and returns
// when that is done.
func (w *world) replayTopic(t *testing.T) {
	t.Helper()
	admin := kadm.NewClient(w.client)
	ends := map[events.Topic]kadm.Offsets{}
	for topic, group := range map[events.Topic]string{events.LinksChangelog: "webhooks", events.Clicks: "webhooks-clicks"} {
		listed, err := admin.ListEndOffsets(t.Context(), topic.Name(""))
		if err != nil {
			t.Fatal(err)
		}
		ends[topic] = listed.Offsets()
		starts := kadm.Offsets{}
		listed.Each(func(o kadm.ListedOffset) { starts.AddOffset(o.Topic, o.Partition, 0, -1) })
		facttest.Eventually(t, "the group is empty", func() bool {
			_, err := admin.CommitOffsets(t.Context(), group, starts)
			return err == nil
		})
	}
	stop := w.read(t)
	defer stop()
	for topic, group := range map[events.Topic]string{events.LinksChangelog: "webhooks", events.Clicks: "webhooks-clicks"} {
		facttest.Eventually(t, "everything is read again", func() bool {
			committed, err := admin.FetchOffsets(t.Context(), group)
			if err != nil {
				return false
			}
			done := true
			ends[topic].Each(func(o kadm.Offset) {
				at, ok := committed.Lookup(o.Topic, o.Partition)
				done = done && (o.At == 0 || ok && at.At >= o.At)
			})
			return done
		})
	}
}
