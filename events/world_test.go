package events_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

// world is a broker with the topics, and what was handled.
type world struct {
	cluster *kfake.Cluster
	client  *kgo.Client

	mu      sync.Mutex
	handled []handled
}

// handled is one call of a handler.
type handled struct {
	link     events.ID
	revision uint64 // 0 for a tombstone
}

const group = "billing"

func newWorld(t *testing.T, partitions int32) *world {
	t.Helper()
	var names []string
	for _, topic := range events.Topics() {
		names = append(names, topic.Name(""))
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, names...), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{cluster: cluster}
	w.client, err = kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	return w
}

// settings are such that a test does not wait for time-outs of the group.
func (w *world) settings() events.Settings {
	return events.Settings{
		Brokers: w.cluster.ListenAddrs(), Group: group, RetryFirst: time.Millisecond, RetryMax: 2 * time.Millisecond,
		Kafka: []kgo.Opt{kgo.SessionTimeout(2 * time.Second), kgo.HeartbeatInterval(50 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond)},
	}
}

func (w *world) copySettings() events.Settings {
	s := w.settings()
	s.Group = ""
	s.Kafka = nil
	return s
}

func (w *world) produce(t *testing.T, records ...*kgo.Record) {
	t.Helper()
	if err := w.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// note is a handler that notes what it was called with.
func (w *world) note(_ context.Context, c events.LinkChange) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handled = append(w.handled, handled{c.Link, c.Event.GetRevision()})
	return nil
}

func (w *world) seen() []handled {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.handled)
}

// waitFor waits until n calls were noted.
func (w *world) waitFor(t *testing.T, n int) []handled {
	t.Helper()
	var seen []handled
	eventually(t, fmt.Sprintf("%d changes are handled", n), func() error {
		if seen = w.seen(); len(seen) < n {
			return fmt.Errorf("%d are", len(seen))
		}
		return nil
	})
	return seen
}

// running is a Run in the background.
type running struct {
	cancel context.CancelFunc
	result chan error
}

type runs interface {
	Run(ctx context.Context) error
}

func start(t *testing.T, what runs, err error) *running {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel, make(chan error, 1)}
	go func() { r.result <- what.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		r.result <- <-r.result
	})
	return r
}

// end waits for the end, without asking for it.
func (r *running) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.result:
		r.result <- err
		return err
	case <-time.After(limit):
		t.Fatal("Run does not return")
		return nil
	}
}

func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	if err := r.end(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
}

// committed is the sum of the group's offsets, which is how many records are done.
func (w *world) committed(t *testing.T, topic events.Topic) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(w.client).FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Topic == topic.Name("") {
			sum += o.At
		}
	})
	return sum
}

func id(n int) events.ID {
	return events.ID{0: 1, 14: byte(n >> 8), 15: byte(n)}
}

// change is a record of link n.
func change(t *testing.T, n int, revision uint64) *kgo.Record {
	t.Helper()
	link := id(n)
	record, err := events.LinkChangedRecord("", &eventspb.LinkChanged{
		LinkId: link[:], WorkspaceId: link[:],
		Address: &eventspb.Address{Host: "go.test", Slug: strconv.Itoa(n), SlugKey: strconv.Itoa(n)},
		Version: revision, Revision: revision, Kind: eventspb.LinkChanged_KIND_UPDATED,
		ChangedAt: &timestamppb.Timestamp{Seconds: 1796025600}, Destination: fmt.Sprintf("https://e.test/%d", revision), StatusCode: 302,
	})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// changes are so many changes of so many links, in an order in which they may have
// been made.
func changes(t *testing.T, links, each int) []*kgo.Record {
	t.Helper()
	return changesFrom(t, links, 1, each)
}

// changesFrom are those with revisions from first to last.
func changesFrom(t *testing.T, links, first, last int) []*kgo.Record {
	t.Helper()
	var records []*kgo.Record
	for revision := first; revision <= last; revision++ {
		for n := range links {
			records = append(records, change(t, n, uint64(revision)))
		}
	}
	return records
}

// inOrder checks that each link's revisions were first handled in the order 1, 2, ...
func inOrder(t *testing.T, all []handled, links, each int) {
	t.Helper()
	newest := map[events.ID]uint64{}
	for _, h := range all {
		if h.revision > newest[h.link]+1 {
			t.Fatalf("link %s: revision %d came after %d", h.link, h.revision, newest[h.link])
		}
		newest[h.link] = max(newest[h.link], h.revision)
	}
	for n := range links {
		if newest[id(n)] != uint64(each) {
			t.Errorf("link %d is handled up to revision %d, want %d", n, newest[id(n)], each)
		}
	}
}
