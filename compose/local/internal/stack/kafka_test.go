package stack_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/compose/local/internal/console"
	"github.com/linkstream/linkstream/compose/local/internal/kafka"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/stack"
	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

const topic = "kept"

// needKafka skips where Apache Kafka was not fetched, in CI as well: make test does without it.
func needKafka(t *testing.T) {
	t.Helper()
	needStores(t)
	if _, err := kafka.Find(os.Getenv); err != nil {
		t.Skip(err)
	}
}

func client(t *testing.T, env map[string]string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(options, kgo.SeedBrokers(env["LINKSTREAM_KAFKA_BROKERS"]), kgo.AllowAutoTopicCreation())...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func createTopic(t *testing.T, env map[string]string) {
	t.Helper()
	c := client(t, env)
	defer c.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = topic, 1, 1
	request.Topics = append(request.Topics, wanted)
	response, err := request.RequestWith(t.Context(), c)
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// transact writes a value in a transaction, compressed so that the broker has to unpack it.
func transact(t *testing.T, env map[string]string, value string) {
	t.Helper()
	c := client(t, env, kgo.TransactionalID("test"), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	record := &kgo.Record{Topic: topic, Value: []byte(strings.Repeat(value, 100))}
	if err := c.ProduceSync(ctx, record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := c.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
}

// values reads as many as there should be.
func values(t *testing.T, env map[string]string, n int) []string {
	t.Helper()
	c := client(t, env, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got []string
	for len(got) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		for _, record := range fetches.Records() {
			got = append(got, string(record.Value[:1]))
		}
	}
	return got
}

func TestMissingKafkaIsNamed(t *testing.T) {
	needStores(t)
	dir, cache := folder(t), t.TempDir()
	err := stack.Up(t.Context(), stack.Options{
		Dir: dir, Bin: builtBin(t), Broker: plan.KafkaBroker, StoresOnly: true, Console: console.New(&output{}),
		Getenv: func(name string) string { return map[string]string{"XDG_CACHE_HOME": cache}[name] },
	})
	// Which of the two is missing depends on the machine.
	if err == nil || !strings.Contains(err.Error(), "make test-kafka") ||
		!strings.Contains(err.Error(), cache) && !strings.Contains(err.Error(), "java is not installed") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "postgres")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was started: %v", err)
	}
}

func TestApacheKafkaKeepsItsDataWhenKilledAndWhenMoved(t *testing.T) {
	needKafka(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	dir := folder(t)
	base := freeBase(t)
	first := upWith(t, dir, base, plan.KafkaBroker)
	env := first.waitReady(t)
	typo := client(t, env, kgo.UnknownTopicRetries(1))
	if err := typo.ProduceSync(t.Context(), &kgo.Record{Topic: "typo"}).FirstErr(); err == nil {
		t.Error("an unknown topic was made")
	}
	typo.Close()
	createTopic(t, env)
	transact(t, env, "a")

	pid := first.pid(t, plan.Broker)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	first.eventually(t, "Kafka has been started again", func() bool {
		now, err := supervise.ReadPid(supervise.PidFile(filepath.Join(dir, "run"), plan.Broker))
		return err == nil && now != pid
	})
	transact(t, env, "b")
	if got := values(t, env, 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("read %v", got)
	}

	pid = first.pid(t, plan.Broker)
	if err := first.stop(t); err != nil {
		t.Error(err)
	}
	if supervise.Alive(pid) || strings.Contains(first.output.String(), "did not end") {
		t.Errorf("Kafka did not end by itself:\n%s", first.output)
	}

	other := up(t, dir, base)
	if err := <-other.ended; err == nil || !strings.Contains(err.Error(), `of the broker "kafka"`) {
		t.Errorf("the embedded broker in the same folder: %v", err)
	}
	other.ended <- nil

	// All ports are others now, the controller's too.
	_, port, _ := strings.Cut(env["LINKSTREAM_KAFKA_BROKERS"], ":")
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:"+port) // so that freeBase finds another
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	second := upWith(t, dir, freeBase(t), plan.KafkaBroker)
	env = second.waitReady(t)
	transact(t, env, "c")
	if got := values(t, env, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("read %v", got)
	}
	if err := second.stop(t); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "run", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
