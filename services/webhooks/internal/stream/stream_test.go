package stream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
	"github.com/linkstream/linkstream/services/webhooks/internal/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type world struct {
	brokers   []string
	client    *kgo.Client
	workspace uuid.UUID
	registry  *prometheus.Registry

	mu       sync.Mutex
	revision uint64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var names []string
	for _, topic := range events.Topics() {
		names = append(names, topic.Name(""))
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{brokers: cluster.ListenAddrs(), workspace: uuid.New()}
	if w.client, err = kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	return w
}

// open runs a process of its own.
func (w *world) open(t *testing.T) *stream.Stream {
	t.Helper()
	w.registry = prometheus.NewRegistry()
	s := stream.New([]kgo.Opt{kgo.SeedBrokers(w.brokers...), kgo.FetchMaxWait(100 * time.Millisecond)}, "", address.URLs{Scheme: "https"}, w.registry, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// change makes a change of a link, numbered in its title.
func (w *world) change(t *testing.T, workspace, link uuid.UUID, with func(*eventspb.LinkChanged)) uint64 {
	t.Helper()
	w.mu.Lock()
	w.revision++
	revision := w.revision
	w.mu.Unlock()
	now := timestamppb.Now()
	c := &eventspb.LinkChanged{
		LinkId: link[:], WorkspaceId: workspace[:], Address: &eventspb.Address{Host: "go.test", Slug: "a", SlugKey: "a"}, Version: revision, Revision: revision,
		Kind: eventspb.LinkChanged_KIND_UPDATED, ChangedAt: now, Destination: "https://e.test/", StatusCode: 302, CreatedAt: now, UpdatedAt: now,
	}
	if with != nil {
		with(c)
	}
	record, err := events.LinkChangedRecord("", c)
	if err == nil {
		err = w.client.ProduceSync(t.Context(), record).FirstErr()
	}
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func (w *world) click(t *testing.T, link uuid.UUID) {
	t.Helper()
	click := events.Click{ID: uuid.New(), TimeUnixMicro: time.Now().UnixMicro(), WorkspaceID: w.workspace, LinkID: link, Host: "go.test", SlugKey: "a", Status: 302, Address: []byte{9, 9, 9, 9}, UserAgent: []byte("secret agent")}
	if err := w.client.ProduceSync(t.Context(), &kgo.Record{Topic: events.Clicks.Name(""), Value: events.AppendClick(nil, &click)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// seen is one event of a stream.
type seen struct {
	name, id, data string
	version        uint64
}

// viewer reads a stream.
type viewer struct {
	events chan seen
	stop   func() // hangs up
	lastID string
}

func (w *world) view(t *testing.T, s *stream.Stream, r stream.Request) *viewer {
	t.Helper()
	r.Workspace = w.workspace
	session, err := s.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	v := &viewer{events: make(chan seen, 10_000)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer session.Close()
		if err := session.Serve(ctx, writer, func() error { return nil }); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the stream ended: %v", err)
		}
		_ = writer.Close()
	})
	wg.Go(func() {
		defer close(v.events)
		var e seen
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
				var body struct{ Data struct{ Version uint64 } }
				_ = json.Unmarshal([]byte(value), &body)
				e.version = body.Data.Version
			case "":
				if e.data != "" || e.id != "" {
					v.events <- e
				}
				e = seen{}
			}
		}
	})
	v.stop = sync.OnceFunc(func() {
		cancel()
		_ = reader.Close()
		wg.Wait()
	})
	t.Cleanup(v.stop)
	return v
}

// next is the next event that has data, whose id is noted.
func (v *viewer) next(t *testing.T) seen {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case e, ok := <-v.events:
			if !ok {
				t.Fatal("the stream has ended")
			}
			if e.id != "" {
				v.lastID = e.id
			}
			if e.data != "" {
				return e
			}
		case <-limit:
			t.Fatal("nothing comes")
		}
	}
}

func TestAViewerSeesItsOwnWorkspaceAndWhatItAsksFor(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	link := uuid.New()
	all := w.view(t, s, stream.Request{})
	tagged := w.view(t, s, stream.Request{Filter: endpoint.Filter{Tags: []string{"spring"}}})
	clicks := w.view(t, s, stream.Request{Clicks: true, Filter: endpoint.Filter{Types: []event.Type{stream.Click}, Links: []uuid.UUID{link}}})
	w.change(t, uuid.New(), uuid.New(), nil) // somebody else's
	first := w.change(t, w.workspace, link, nil)
	second := w.change(t, w.workspace, link, func(c *eventspb.LinkChanged) { c.Tags = []string{"spring"} })
	w.click(t, uuid.New())
	w.click(t, link)
	for _, want := range []uint64{first, second} {
		if e := all.next(t); e.version != want || e.name != "link.updated" || e.id == "" {
			t.Errorf("saw %+v, want version %d", e, want)
		}
	}
	if e := tagged.next(t); e.version != second {
		t.Errorf("saw %+v, want version %d", e, second)
	}
	if e := clicks.next(t); e.name != "click" || !strings.Contains(e.data, link.String()) || strings.Contains(e.data, "9.9") || strings.Contains(e.data, "agent") {
		t.Errorf("saw %+v", e)
	}
}

// A viewer that hangs up again and again, and comes back to another process each time,
// sees every change of its links, once, those of each link in order.
//
// Guards I80.
func TestAViewerThatComesBackMissesNothingAndSeesNothingTwice(t *testing.T) {
	w := newWorld(t)
	one, two := w.open(t), w.open(t)
	const changes = 300
	links := make([]uuid.UUID, 7)
	for i := range links {
		links[i] = uuid.New()
	}
	v := w.view(t, one, stream.Request{})
	for v.lastID == "" { // the place where it begins
		e := <-v.events
		v.lastID = e.id
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range changes {
			w.change(t, w.workspace, links[n%len(links)], nil)
			w.change(t, uuid.New(), links[n%len(links)], nil)
		}
	}()
	seenVersions := map[uint64]int{}
	for n := 0; n < changes; n++ {
		e := v.next(t)
		if e.name == "end" {
			n--
			continue
		}
		if seenVersions[e.version]++; seenVersions[e.version] > 1 {
			t.Errorf("version %d is seen twice", e.version)
		}
		if n%25 == 24 {
			v.stop()
			next := one
			if n%50 == 24 {
				next = two
			}
			v = w.view(t, next, stream.Request{LastID: v.lastID})
		}
	}
	<-done
	select {
	case e := <-v.events:
		if e.data != "" {
			t.Errorf("saw %+v besides", e)
		}
	case <-time.After(300 * time.Millisecond):
	}
	if len(seenVersions) != changes {
		t.Errorf("saw %d changes, want %d", len(seenVersions), changes)
	}
}

// Guards I80.
func TestAGapThatCannotBeClosedIsSaid(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	link := uuid.New()
	v := w.view(t, s, stream.Request{})
	w.change(t, w.workspace, link, nil)
	v.next(t)
	v.stop()
	w.change(t, w.workspace, link, nil)
	last := w.change(t, w.workspace, link, nil)
	// The topic forgets all but the last record of each partition.
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.TimeoutMillis = 5000
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = events.LinksChangelog.Name("")
	ends := w.ends(t)
	for p, o := range ends {
		if o > 0 {
			partition := kmsg.NewDeleteRecordsRequestTopicPartition()
			partition.Partition, partition.Offset = p, o-1
			topic.Partitions = append(topic.Partitions, partition)
		}
	}
	request.Topics = append(request.Topics, topic)
	if _, err := request.RequestWith(t.Context(), w.client); err != nil {
		t.Fatal(err)
	}
	// Another process, which has nothing of it in memory.
	v = w.view(t, w.open(t), stream.Request{LastID: v.lastID})
	if e := v.next(t); e.name != "gap" || e.id != "" {
		t.Errorf("saw %+v, want the gap", e)
	}
	if e := v.next(t); e.version != last {
		t.Errorf("saw %+v, want version %d", e, last)
	}
}

func (w *world) ends(t *testing.T) map[int32]int64 {
	t.Helper()
	request := kmsg.NewPtrListOffsetsRequest()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = events.LinksChangelog.Name("")
	for p := range int32(4) {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = p, -1
		topic.Partitions = append(topic.Partitions, partition)
	}
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(t.Context(), w.client)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[int32]int64{}
	for _, p := range answer.Topics[0].Partitions {
		ends[p.Partition] = p.Offset
	}
	return ends
}

func TestASlowViewerIsToldAndLetGo(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	link := uuid.New()
	session, err := s.Open(t.Context(), stream.Request{Workspace: w.workspace})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 1100 { // more than wait for a viewer
		w.change(t, w.workspace, link, nil)
	}
	var out strings.Builder
	ended := make(chan error, 1)
	go func() { ended <- session.Serve(t.Context(), &out, func() error { return nil }) }()
	select {
	case err := <-ended:
		if err != nil || !strings.Contains(out.String(), "event: end\ndata: {\"reason\":\"slow\"}\n\n") {
			t.Errorf("it ends with %v, %.200s", err, out.String())
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
	if n := facttest.Metric(t, w.registry, "event_stream_ended_total", "slow"); n != 1 {
		t.Errorf("%v are counted", n)
	}
}

func TestViewersAreBoundedAndIDsAreChecked(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	for _, id := range []string{"nonsense", "AQ", "", "AQAE____________", "////"} {
		session, err := s.Open(t.Context(), stream.Request{Workspace: w.workspace, LastID: id})
		if err == nil {
			session.Close()
		}
		if id != "" && !errors.Is(err, stream.ErrBadID) {
			t.Errorf("the id %q: %v", id, err)
		}
	}
	for range 50 {
		session, err := s.Open(t.Context(), stream.Request{Workspace: w.workspace})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
	}
	if _, err := s.Open(t.Context(), stream.Request{Workspace: w.workspace}); !errors.Is(err, stream.ErrTooMany) {
		t.Errorf("the 51st viewer: %v", err)
	}
	other, err := s.Open(t.Context(), stream.Request{Workspace: uuid.New()})
	if err != nil {
		t.Fatalf("another workspace: %v", err)
	}
	other.Close()
}
