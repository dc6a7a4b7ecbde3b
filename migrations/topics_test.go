package migrations_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/migrations"
)

func TestEveryTopicHasSettings(t *testing.T) {
	var have []events.Topic
	for _, s := range migrations.TopicCatalogue() {
		have = append(have, s.Topic)
	}
	if !slices.Equal(have, events.Topics()) {
		t.Errorf("settings for %v, topics are %v", have, events.Topics())
	}
}

func TestTopicsAreCreatedOnceWithTheirSettings(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	// A client remembers for a while which topics there are; each step asks anew.
	newClient := func() *kgo.Client {
		client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}

	created, err := migrations.CreateTopics(t.Context(), newClient(), "eu.", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(created) != len(events.Topics()) {
		t.Errorf("created %v", created)
	}
	again, err := migrations.CreateTopics(t.Context(), newClient(), "eu.", 1)
	if err != nil || len(again) != 0 {
		t.Errorf("the second time created %v, %v", again, err)
	}

	admin := kadm.NewClient(newClient())
	details, err := admin.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range migrations.TopicCatalogue() {
		name := s.Topic.Name("eu.")
		if got := len(details[name].Partitions); got != int(s.Partitions) {
			t.Errorf("%s has %d partitions, want %d", name, got, s.Partitions)
		}
		configs, err := admin.DescribeTopicConfigs(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range configs[0].Configs {
			got[c.Key] = c.MaybeValue()
		}
		for key, want := range s.Config {
			if got[key] != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got[key], want)
			}
		}
	}
}
