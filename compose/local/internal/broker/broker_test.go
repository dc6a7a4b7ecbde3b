package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/compose/local/internal/broker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const changelog = "changelog"

// start runs a broker on dir until the returned function is called.
func start(t *testing.T, dir string, compactEvery time.Duration) (addr string, stop func()) {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- broker.Run(ctx, listener, broker.Settings{DataDir: dir, CompactEvery: compactEvery},
			func() { close(ready) }, slog.New(slog.DiscardHandler))
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("the broker ended: %v", err)
	}
	return listener.Addr().String(), func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func client(t *testing.T, addr string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(options, kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func createTopic(t *testing.T, c *kgo.Client) {
	t.Helper()
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = changelog, 1, 1
	policy := kmsg.NewCreateTopicsRequestTopicConfig()
	policy.Name, policy.Value = "cleanup.policy", new("compact")
	topic.Configs = append(topic.Configs, policy)
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(t.Context(), c)
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func produce(t *testing.T, c *kgo.Client, key, value string) {
	t.Helper()
	record := &kgo.Record{Topic: changelog, Key: []byte(key), Value: []byte(value)}
	if err := c.ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// readAll reads up to the record with the last value.
func readAll(t *testing.T, addr, last string) []string {
	t.Helper()
	c := client(t, addr, kgo.ConsumeTopics(changelog), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var values []string
	for {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %v: %v", values, err)
		}
		for _, record := range fetches.Records() {
			values = append(values, string(record.Value))
			if string(record.Value) == last {
				return values
			}
		}
	}
}

func TestUnknownTopicIsNotCreated(t *testing.T) {
	addr, stop := start(t, t.TempDir(), time.Hour)
	defer stop()
	c := client(t, addr, kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(1), kgo.RecordDeliveryTimeout(3*time.Second))
	defer c.Close()
	err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "typo", Value: []byte("x")}).FirstErr()
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("got %v", err)
	}
}

func TestRecordsAreThereAfterARestartAndAreStillCompacted(t *testing.T) {
	dir := t.TempDir()
	addr, stop := start(t, dir, time.Hour)
	c := client(t, addr)
	createTopic(t, c)
	for n := range 10 {
		produce(t, c, "a", fmt.Sprint("a", n))
	}
	produce(t, c, "b", "b0")
	c.Close()
	stop()

	// kfake's own ticker would not run here: nothing changes a topic after this start.
	addr, stop = start(t, dir, 20*time.Millisecond)
	defer stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		values := readAll(t, addr, "b0")
		if values[0] == "a9" || len(values) == 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not compacted: %v", values)
		}
	}
}
