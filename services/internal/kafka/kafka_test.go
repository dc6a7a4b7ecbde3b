package kafka_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func newClient(t *testing.T, brokers ...string) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kafka.Options(brokers, "test", slog.New(slog.DiscardHandler))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func newBroker(t *testing.T, options ...kfake.Opt) (addr string) {
	t.Helper()
	cluster, err := kfake.NewCluster(append(options, kfake.NumBrokers(1), kfake.SeedTopics(1, "eu."+string(events.Clicks)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()[0]
}

func TestAMissingTopicIsNamed(t *testing.T) {
	client := newClient(t, newBroker(t))
	if err := kafka.CheckTopics(t.Context(), client, "eu.", events.Clicks); err != nil {
		t.Errorf("the topic is there, but: %v", err)
	}
	err := kafka.CheckTopics(t.Context(), client, "eu.", events.Clicks, events.LinksChangelog)
	if err == nil || !strings.Contains(err.Error(), "eu.linkstream.links.changelog.v1") || strings.Contains(err.Error(), "clicks.v1") {
		t.Errorf("got %v, want an error that names the changelog only", err)
	}
}

func TestTopicsAreAwaited(t *testing.T) {
	client := newClient(t, newBroker(t))
	if err := kafka.AwaitTopics(t.Context(), client, "eu.", time.Minute, events.Clicks); err != nil {
		t.Errorf("the topic is there, but: %v", err)
	}
	began := time.Now()
	err := kafka.AwaitTopics(t.Context(), client, "eu.", time.Minute, events.Clicks, events.DeadClicks)
	if !errors.Is(err, kafka.ErrMissingTopics) || time.Since(began) > 10*time.Second {
		t.Errorf("a broker that answers: %v after %v, want ErrMissingTopics at once", err, time.Since(began))
	}
}

func TestPatienceWithASilentBrokerEnds(t *testing.T) {
	client := newClient(t, "127.0.0.1:1")
	err := kafka.AwaitTopics(t.Context(), client, "", 200*time.Millisecond, events.Clicks)
	if !errors.Is(err, kafka.ErrNoAnswer) || errors.Is(err, kafka.ErrMissingTopics) {
		t.Errorf("nobody listens: %v, want ErrNoAnswer", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = kafka.AwaitTopics(ctx, client, "", kafka.Forever, events.Clicks)
	if !errors.Is(err, kafka.ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("told to stop: %v, want ErrNoAnswer and the context's error", err)
	}
}

func TestABrokerThatComesLaterIsNoticed(t *testing.T) {
	addr := testproc.FreeAddr(t)
	client := newClient(t, addr)
	answer := make(chan error, 1)
	go func() { answer <- kafka.AwaitTopics(t.Context(), client, "eu.", kafka.Forever, events.Clicks) }()
	select {
	case err := <-answer:
		t.Fatalf("answered without a broker: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	newBroker(t, kfake.Ports(n))
	select {
	case err := <-answer:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("not noticed in 20 seconds")
	}
}
