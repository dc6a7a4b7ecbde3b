package clicks

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
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
	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func record(l *Log, c *events.Click) {
	var b Batch
	b.Add(c)
	l.Append(&b)
}

func click(agent string) *events.Click {
	return &events.Click{
		TimeUnixMicro: time.Now().UnixMicro(), WorkspaceID: [16]byte{1}, LinkID: [16]byte{2}, LinkVersion: 1,
		Host: "s.test", SlugKey: "a", Status: 302, UserAgent: []byte(agent),
	}
}

// made is a log over a journal; registry has its metrics.
func made(tb testing.TB, dir string, drain time.Duration, brokers ...string) (l *Log, registry *prometheus.Registry) {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	registry = prometheus.NewRegistry()
	l, err := New(tb.Context(), kafka.Options(brokers, "test", log),
		Settings{Edge: "redirect-fra-0", JournalDir: dir, JournalMaxBytes: 64 << 20, DrainTimeout: drain}, registry, log)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l, registry
}

// running starts the log; stop waits until it has ended.
func running(tb testing.TB, l *Log) (stop func() error) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	tb.Cleanup(func() { _ = stop() })
	return stop
}

func TestWhatWasRecordedBeforeTheStopIsDelivered(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, string(events.Clicks)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	l, registry := made(t, t.TempDir(), 10*time.Second, cluster.ListenAddrs()...)
	stop := running(t, l)
	const n = 5000
	agent := []byte("0123456789")
	var b Batch
	for i := range n {
		agent[0] = byte('a' + i%26) // the caller's buffer is its own again at once
		c := click("")
		c.UserAgent = agent
		switch i % 100 {
		case 0:
			record(l, c)
		default:
			b.Add(c)
		}
		if b.Len() == 40 {
			l.Append(&b)
		}
	}
	l.Append(&b)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if a, b := facttest.Metric(t, registry, "clicks_accepted_total", ""), facttest.Metric(t, registry, "clicks_produced_total", ""); a != n || b != n {
		t.Errorf("accepted %v, produced %v, want %d", a, b, n)
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(string(events.Clicks)),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
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

// Nobody listens where the broker should be: a redirect does not wait, and nothing
// is dropped. The next process finds it all, and its counts go on.
//
// Guards I13.
func TestWithoutABrokerClicksWait(t *testing.T) {
	dir := t.TempDir()
	l, registry := made(t, dir, 200*time.Millisecond, "127.0.0.1:1")
	stop := running(t, l)
	const n = 2000
	began := time.Now()
	for range n {
		record(l, click(strings.Repeat("u", 200)))
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("recording %d clicks took %v", n, took)
	}
	check := func(registry *prometheus.Registry) {
		t.Helper()
		for name, want := range map[string]float64{"clicks_accepted_total": n, "clicks_produced_total": 0, "clicks_dropped_total": 0, "clicks_journal_clicks": n} {
			if got := facttest.Metric(t, registry, name, ""); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if facttest.Metric(t, registry, "clicks_journal_bytes", "") < n*200 || facttest.Metric(t, registry, "clicks_journal_oldest_seconds", "") <= 0 {
			t.Error("the journal looks empty")
		}
	}
	check(registry)
	if err := l.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	check(registry) // the last scrape of a process that ends
	_, registry = made(t, dir, time.Second, "127.0.0.1:1")
	check(registry)
}

func TestABatchOfAnySizeIsTaken(t *testing.T) {
	l, registry := made(t, t.TempDir(), time.Second, "127.0.0.1:1")
	var b Batch
	const n = 4000 // two megabytes
	for range n {
		b.Add(click(strings.Repeat("u", events.MaxUserAgent)))
	}
	l.Append(&b)
	if b.Len() != 0 {
		t.Errorf("%d clicks are left", b.Len())
	}
	b.Add(click("u"))
	l.Append(&b)
	l.Append(&b) // an empty one
	if got := facttest.Metric(t, registry, "clicks_journal_clicks", ""); got != n+1 {
		t.Errorf("%v clicks of %d", got, n+1)
	}
}

// A directory that cannot be used: redirects go on, every click is counted, and once
// it can be used it is.
//
// Guards I33.
func TestAJournalThatCannotBeOpenedIsOpenedLater(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(parent, nil, 0o600); err != nil { // a file where a directory should be
		t.Fatal(err)
	}
	l, registry := made(t, filepath.Join(parent, "journal"), time.Second, "127.0.0.1:1")
	running(t, l)
	for range 10 {
		record(l, click("u"))
	}
	if err := l.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("Ready() = %v", err)
	}
	check := func(accepted, dropped float64) {
		t.Helper()
		if a, d := facttest.Metric(t, registry, "clicks_accepted_total", ""), facttest.Metric(t, registry, "clicks_dropped_total", "journal_disk"); a != accepted || d != dropped {
			t.Errorf("accepted %v, dropped %v, want %v and %v", a, d, accepted, dropped)
		}
	}
	check(10, 10)
	if err := os.Remove(parent); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "the journal is open", func() bool { return l.Ready(t.Context()) == nil })
	record(l, click("u"))
	check(11, 10)
}

func TestAnotherProcessWithTheJournalStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	made(t, dir, time.Second, "127.0.0.1:1")
	log := slog.New(slog.DiscardHandler)
	_, err := New(t.Context(), nil, Settings{Edge: "e", JournalDir: dir, JournalMaxBytes: MinJournalBytes}, prometheus.NewRegistry(), log)
	if !errors.Is(err, journal.ErrLocked) {
		t.Errorf("New() = %v", err)
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

// Guards I13.
func TestTakingAClickStaysInBudget(t *testing.T) {
	l, _ := made(t, t.TempDir(), time.Second, "127.0.0.1:1")
	var b Batch
	c := click(strings.Repeat("u", 100))
	round := func() {
		for range 10 {
			b.Add(c)
		}
		l.Append(&b)
	}
	round()
	if got := testing.AllocsPerRun(1000, round); got != 0 {
		t.Errorf("a round of ten clicks allocates %v times", got)
	}
	var single Batch
	one := func() { single.Add(c); l.Append(&single) }
	one()
	if got := testing.AllocsPerRun(1000, one); got != 0 {
		t.Errorf("a click allocates %v times", got)
	}
}
