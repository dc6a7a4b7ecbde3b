package kafka_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/kafka"
)

func TestAMissingTopicIsNamed(t *testing.T) {
	cluster := kfake.MustCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "eu."+string(events.Clicks)))
	defer cluster.Close()
	client, err := kgo.NewClient(kafka.Options(cluster.ListenAddrs(), "test", slog.New(slog.DiscardHandler))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := kafka.CheckTopics(t.Context(), client, "eu.", events.Clicks); err != nil {
		t.Errorf("the topic is there, but: %v", err)
	}
	err = kafka.CheckTopics(t.Context(), client, "eu.", events.Clicks, events.LinksChangelog)
	if err == nil || !strings.Contains(err.Error(), "eu.linkstream.links.changelog.v1") || strings.Contains(err.Error(), "clicks.v1") {
		t.Errorf("got %v, want an error that names the changelog only", err)
	}
}
