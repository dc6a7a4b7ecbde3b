package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryBadSettingIsNamed(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_DRAIN_TIMEOUT=-1s", "LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_ADMIN_ADDR=nowhere",
		"LINKSTREAM_REDIS_URL=redis://user:secret@host:port", "LINKSTREAM_KAFKA_BROKERS=nowhere",
	}, nil, &bytes.Buffer{})
	if err == nil {
		t.Fatal("it starts")
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message repeats a password: %v", err)
	}
	for _, name := range []string{"REGION", "REDIS_URL", "KAFKA_BROKERS", "DRAIN_TIMEOUT", "LOG_LEVEL", "ADMIN_ADDR"} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("the message does not name LINKSTREAM_%s: %v", name, err)
		}
	}
}

func TestHelpListsTheSettings(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"--help"}, &out); !errors.Is(err, config.ErrHelp) {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "LINKSTREAM_REDIS_URL") {
		t.Errorf("--help prints %s", out.String())
	}
}

func environ(broker, redisURL, admin string) []string {
	return []string{
		"LINKSTREAM_REGION=fra", "LINKSTREAM_REDIS_URL=" + redisURL, "LINKSTREAM_ADMIN_ADDR=" + admin, "LINKSTREAM_KAFKA_BROKERS=" + broker,
	}
}

func TestMissingTopicStopsTheStart(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, string(events.LinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	err = run(t.Context(), environ(cluster.ListenAddrs()[0], redistest.Start(t).URL, "127.0.0.1:0"), nil, &bytes.Buffer{})
	if !errors.Is(err, kafka.ErrMissingTopics) || !strings.Contains(err.Error(), string(events.DeadLinksChangelog)) {
		t.Errorf("run() = %v, want the missing topic", err)
	}
}

func TestStopsCleanly(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(1, string(events.LinksChangelog)), kfake.SeedTopics(1, string(events.DeadLinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := run(ctx, environ(cluster.ListenAddrs()[0], redistest.Start(t).URL, "127.0.0.1:0"), nil, &bytes.Buffer{}); err != nil {
		t.Errorf("run() = %v", err)
	}
}

// readyz returns "" while nobody answers.
func readyz(t *testing.T, admin string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
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

func TestWaitsForABrokerThatIsAway(t *testing.T) {
	broker, admin, redis := testproc.FreeAddr(t), testproc.FreeAddr(t), redistest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, environ(broker, redis.URL, admin), nil, io.Discard) }()
	facttest.Eventually(t, "it says what it waits for", func() bool { return strings.Contains(readyz(t, admin), "broker: ") })

	_, text, err := net.SplitHostPort(broker)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port),
		kfake.SeedTopics(1, string(events.LinksChangelog)), kfake.SeedTopics(1, string(events.DeadLinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	facttest.Eventually(t, "it is ready", func() bool { return readyz(t, admin) == "ready\n" })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run() = %v", err)
	}
}

func TestStopsWhileItWaitsForABroker(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := run(ctx, environ("127.0.0.1:1", redistest.Start(t).URL, "127.0.0.1:0"), nil, io.Discard)
	if err != nil {
		t.Errorf("run() = %v", err)
	}
}

func TestIsReadyOnARedisCluster(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(2, string(events.LinksChangelog)), kfake.SeedTopics(1, string(events.DeadLinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	// The edges' URL serves here too: an updater never asks a replica.
	url, admin := redistest.StartCluster(t).URL+"&route_by_latency=true", testproc.FreeAddr(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, environ(broker.ListenAddrs()[0], url, admin), nil, io.Discard) }()
	facttest.Eventually(t, "it is ready", func() bool { return readyz(t, admin) == "ready\n" })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run() = %v", err)
	}
}
