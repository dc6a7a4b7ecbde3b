package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(clickhousetest.Main(m))) }

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_CLICK_BATCH_MAX_ROWS=0", "LINKSTREAM_CLICK_BATCH_MAX_WAIT=2h", "LINKSTREAM_ADMIN_ADDR=nowhere",
		"LINKSTREAM_DRAIN_TIMEOUT=-1s", "LINKSTREAM_KAFKA_BROKERS=nowhere", "LINKSTREAM_CLICKHOUSE_URL=http://user:secret@host:port:port/x",
	}, nil, &bytes.Buffer{})
	if err == nil {
		t.Fatal("started with settings that are wrong")
	}
	for _, name := range []string{"LOG_LEVEL", "CLICK_BATCH_MAX_ROWS", "CLICK_BATCH_MAX_WAIT", "ADMIN_ADDR", "DRAIN_TIMEOUT", "KAFKA_BROKERS", "CLICKHOUSE_URL"} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("LINKSTREAM_%s is not in the message: %v", name, err)
		}
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"--help"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"KAFKA_BROKERS", "TOPIC_PREFIX", "CLICKHOUSE_URL", "CLICK_BATCH_MAX_ROWS", "ADMIN_ADDR", "DRAIN_TIMEOUT"} {
		if !strings.Contains(out.String(), "LINKSTREAM_"+name) {
			t.Errorf("LINKSTREAM_%s is not in the help", name)
		}
	}
}

func TestBadClickHouseURLIsNotQuoted(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_KAFKA_BROKERS=127.0.0.1:1", "LINKSTREAM_CLICKHOUSE_URL=http://user:secret@host:port:port/x",
	}, nil, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "LINKSTREAM_CLICKHOUSE_URL") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error quotes a password or is missing: %v", err)
	}
}

func TestMissingTopicStopsTheStart(t *testing.T) {
	broker := newBroker(t, events.Clicks)
	err := run(t.Context(), []string{
		"LINKSTREAM_KAFKA_BROKERS=" + broker, "LINKSTREAM_CLICKHOUSE_URL=http://127.0.0.1:1/linkstream", "LINKSTREAM_ADMIN_ADDR=127.0.0.1:0",
	}, nil, t.Output())
	if !errors.Is(err, kafka.ErrMissingTopics) || !strings.Contains(err.Error(), string(events.DeadClicks)) {
		t.Errorf("started without the dead topic: %v", err)
	}
}

// running runs the ingester until stop, which returns when it has ended.
func running(t *testing.T, broker, store string, environ ...string) (admin string, stop func()) {
	t.Helper()
	admin = testproc.FreeAddr(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- run(ctx, append([]string{
			"LINKSTREAM_KAFKA_BROKERS=" + broker, "LINKSTREAM_CLICKHOUSE_URL=" + store,
			"LINKSTREAM_ADMIN_ADDR=" + admin, "LINKSTREAM_CLICK_BATCH_MAX_WAIT=20ms",
		}, environ...), nil, t.Output())
	}()
	return admin, func() {
		t.Helper()
		cancel()
		select {
		case err := <-stopped:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(15 * time.Second):
			t.Fatal("still running 15 seconds after it was stopped")
		}
	}
}

func TestCountsUntilItIsStopped(t *testing.T) {
	broker := newBroker(t, events.Clicks, events.DeadClicks)
	admin, stop := running(t, broker, clickhousetest.New(t))
	produce(t, broker, 1000)
	facttest.Eventually(t, "all clicks are counted", func() bool {
		return strings.Contains(get(t, "http://"+admin+"/metrics"), "clicks_inserted_total 1000\n")
	})
	if got := get(t, "http://"+admin+"/readyz"); got != "ready\n" {
		t.Errorf("/readyz says %q", got)
	}
	stop()
}

func TestWaitsForABrokerThatIsAway(t *testing.T) {
	broker, store := testproc.FreeAddr(t), clickhousetest.New(t)
	admin, stop := running(t, broker, store)
	facttest.Eventually(t, "it says what it waits for", func() bool {
		return strings.Contains(get(t, "http://"+admin+"/readyz"), "broker: ")
	})
	newBrokerAt(t, broker, events.Clicks, events.DeadClicks)
	facttest.Eventually(t, "it is ready", func() bool { return get(t, "http://"+admin+"/readyz") == "ready\n" })
	stop()
}

func TestStopsWhileItWaitsForABroker(t *testing.T) {
	admin, stop := running(t, "127.0.0.1:1", "http://127.0.0.1:1/linkstream")
	facttest.Eventually(t, "it has started", func() bool { return get(t, "http://"+admin+"/healthz") == "ok\n" })
	stop()
}

func newBroker(t *testing.T, topics ...events.Topic) string {
	t.Helper()
	return newBrokerAt(t, "127.0.0.1:0", topics...)
}

func newBrokerAt(t *testing.T, addr string, topics ...events.Topic) string {
	t.Helper()
	port, err := strconv.Atoi(addr[strings.LastIndex(addr, ":")+1:])
	if err != nil {
		t.Fatal(err)
	}
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(port)}
	for _, topic := range topics {
		options = append(options, kfake.SeedTopics(3, topic.Name("")))
	}
	broker, err := kfake.NewCluster(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	return broker.ListenAddrs()[0]
}

func produce(t *testing.T, broker string, n int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range n {
		click := events.Click{ID: [16]byte{byte(i >> 8), byte(i)}, TimeUnixMicro: time.Now().UnixMicro(), Host: "go.test", Status: 302, Edge: "edge-1", LinkID: [16]byte{1}}
		client.Produce(t.Context(), &kgo.Record{Topic: events.Clicks.Name(""), Value: events.AppendClick(nil, &click)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// get returns "" when nobody answers.
func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return ""
	}
	return string(body)
}

// A click can be asked for within two seconds, at a steady thousand a second.
//
// Guards I39.
func TestClicksCanBeAskedForWithinTwoSeconds(t *testing.T) {
	broker := newBroker(t, events.Clicks, events.DeadClicks)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin, stop := running(t, broker, clickhousetest.New(t), "LINKSTREAM_CLICK_BATCH_MAX_WAIT=500ms") // the default
	const warm, total = 1000, 6000
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < total; {
		for range 10 {
			click := events.Click{ID: [16]byte{byte(n >> 8), byte(n)}, TimeUnixMicro: time.Now().UnixMicro(), Host: "go.test", Status: 302, LinkID: [16]byte{1}}
			client.Produce(t.Context(), &kgo.Record{Topic: events.Clicks.Name(""), Value: events.AppendClick(nil, &click)}, nil)
			n++
		}
		<-tick.C
	}
	facttest.Eventually(t, "all clicks are counted", func() bool {
		return strings.Contains(get(t, "http://"+admin+"/metrics"), fmt.Sprintf("clicks_inserted_total %d\n", total))
	})
	for line := range strings.Lines(get(t, "http://"+admin+"/metrics")) {
		if text, ok := strings.CutPrefix(line, `clicks_ingest_lag_seconds_bucket{le="2"} `); ok {
			within, err := strconv.Atoi(strings.TrimSpace(text))
			// The first second is that of joining the group and of ClickHouse's first insert.
			if err != nil || within < (total-warm)*99/100 {
				t.Errorf("%s of %d clicks could be asked for within 2 seconds", text, total)
			}
			t.Logf("%d of %d clicks within 2 seconds", within, total)
		}
	}
	stop()
}
