package clicks

import (
	"context"
	"log/slog"
	"strings"
	"sync"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func click(agent string) *events.Click {
	return &events.Click{
		TimeUnixMicro: time.Now().UnixMicro(), WorkspaceID: [16]byte{1}, LinkID: [16]byte{2}, LinkVersion: 1,
		Host: "s.test", SlugKey: "a", Status: 302, UserAgent: []byte(agent),
	}
}

// running is a producer under way; stop waits until it has ended.
func running(t *testing.T, brokers []string, maxBytes int, drain time.Duration) (p *Producer, registry *prometheus.Registry, stop func() error) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	registry = prometheus.NewRegistry()
	p, err := New(kafka.Options(brokers, "test", log), Settings{MaxBufferBytes: maxBytes, DrainTimeout: drain}, registry, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	return p, registry, sync.OnceValue(func() error { cancel(); return <-done })
}

func TestWhatWasRecordedBeforeTheStopIsDelivered(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, string(events.Clicks)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	p, registry, stop := running(t, cluster.ListenAddrs(), 16<<20, 10*time.Second)
	const n = 5000
	agent := []byte("0123456789")
	for i := range n {
		agent[0] = byte('a' + i%26) // the caller's buffer is its own again at once
		c := click("")
		c.UserAgent = agent
		p.Record(c)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if a, b := facttest.Metric(t, registry, "clicks_accepted_total", ""), facttest.Metric(t, registry, "clicks_produced_total", ""); a != n || b != n {
		t.Errorf("accepted %v, produced %v, want %d", a, b, n)
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(string(events.Clicks)), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	ids, agents, got := map[string]bool{}, map[byte]int{}, 0
	for got < n {
		consumer.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			var c eventspb.Click
			if err := events.DecodeClick(r.Value, &c); err != nil {
				t.Error(err)
			}
			ids[string(c.GetId())] = true
			agents[c.GetUserAgent()[0]]++
			got++
		})
	}
	if len(ids) != n || len(agents) != 26 {
		t.Errorf("%d ids and %d agents of %d clicks", len(ids), len(agents), n)
	}
}

// Nobody listens where the broker should be: a redirect does not wait, and what
// does not fit is counted.
//
// Guards I13.
func TestWithoutABrokerClicksAreDroppedAndCounted(t *testing.T) {
	p, registry, stop := running(t, []string{"127.0.0.1:1"}, 64<<10, 200*time.Millisecond)
	const n = 2000
	began := time.Now()
	for range n {
		p.Record(click(strings.Repeat("u", 200)))
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("recording %d clicks took %v", n, took)
	}
	if err := stop(); err == nil {
		t.Error("what could not be sent is not reported")
	}
	full, failed := facttest.Metric(t, registry, "clicks_dropped_total", "buffer_full"), facttest.Metric(t, registry, "clicks_dropped_total", "produce_error")
	if full == 0 || failed == 0 || full+failed != n || facttest.Metric(t, registry, "clicks_accepted_total", "") != n {
		t.Errorf("dropped %v for want of room and %v at the end, want %d in all", full, failed, n)
	}
}

func TestARefusedClickIsCounted(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1)) // without the topic
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	p, registry, stop := running(t, cluster.ListenAddrs(), 1<<20, 10*time.Second)
	p.Record(click("u"))
	_ = stop() // how it says so depends on what comes first
	if got := facttest.Metric(t, registry, "clicks_dropped_total", "produce_error"); got != 1 {
		t.Errorf("clicks_dropped_total{produce_error} = %v, want 1", got)
	}
}

func TestIdsAreUUIDv7(t *testing.T) {
	const micros = 0x0123456789ab * 1000
	a, b := newID(micros), newID(micros)
	if a == b {
		t.Error("two ids are one")
	}
	for _, id := range [][16]byte{a, b} {
		if string(id[:6]) != "\x01\x23\x45\x67\x89\xab" || id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Errorf("%x is no UUIDv7 of its time", id)
		}
	}
}
