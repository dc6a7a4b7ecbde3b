package migrations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/events"
)

// TopicSettings is how one topic is created.
type TopicSettings struct {
	Topic      events.Topic
	Partitions int32
	Config     map[string]string
}

const (
	day = 24 * 60 * 60 * 1000 // milliseconds

	// partitions bounds how many consumers of one group can share the work.
	// Twelve divides by 2, 3, 4 and 6.
	partitions = 12
)

// TopicCatalogue lists the settings of every topic in events.Topics.
func TopicCatalogue() []TopicSettings {
	return []TopicSettings{
		{events.LinksChangelog, partitions, map[string]string{
			"cleanup.policy": "compact",
			// a consumer that was away for less than a week sees every single change
			"min.compaction.lag.ms": millis(7 * day),
		}},
		{events.Clicks, partitions, map[string]string{
			"cleanup.policy":   "delete",
			"retention.ms":     millis(7 * day),
			"compression.type": "producer", // edges send compressed batches: keep them as they are
		}},
		{events.DeadClicks, 1, map[string]string{"cleanup.policy": "delete", "retention.ms": millis(30 * day)}},
		{events.DeadLinksChangelog, 1, map[string]string{"cleanup.policy": "delete", "retention.ms": millis(30 * day)}},
	}
}

func millis(n int64) string { return strconv.FormatInt(n, 10) }

// CreateTopics creates the topics that are missing and brings the settings of
// the others up to date. It never removes a topic and never changes a number of
// partitions. It returns the names of the topics that it created.
//
// When it returns, every topic can be written to: a broker answers a creation
// before all its nodes know of it.
func CreateTopics(ctx context.Context, client *kgo.Client, prefix string, replication int16) ([]string, error) {
	admin := kadm.NewClient(client)
	existing, err := admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing topics: %w", err)
	}
	var created []string
	for _, t := range TopicCatalogue() {
		name := t.Topic.Name(prefix)
		if existing.Has(name) {
			if err := alterTopic(ctx, admin, name, t.Config); err != nil {
				return created, err
			}
			continue
		}
		_, err := admin.CreateTopic(ctx, t.Partitions, replication, pointers(t.Config), name)
		switch {
		case errors.Is(err, kerr.TopicAlreadyExists):
		case err != nil:
			return created, fmt.Errorf("creating topic %s: %w", name, err)
		default:
			created = append(created, name)
		}
	}
	return created, awaitTopics(ctx, client, prefix)
}

const (
	topicsTimeout = 30 * time.Second
	topicsPoll    = 50 * time.Millisecond
)

// awaitTopics waits until every partition of every topic has a leader. It asks
// for the metadata itself, because a client remembers an older answer for a while.
func awaitTopics(ctx context.Context, client *kgo.Client, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, topicsTimeout)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	for _, topic := range events.Topics() {
		wanted := kmsg.NewMetadataRequestTopic()
		wanted.Topic = new(topic.Name(prefix))
		request.Topics = append(request.Topics, wanted)
	}
	tick := time.NewTicker(topicsPoll)
	defer tick.Stop()
	for {
		answer, err := request.RequestWith(ctx, client)
		if err != nil {
			return fmt.Errorf("asking for the topics: %w", err)
		}
		missing := withoutLeader(answer.Topics)
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the leaders of topic %s: %w", missing, ctx.Err())
		case <-tick.C:
		}
	}
}

// withoutLeader names a topic that cannot be written to yet, or "".
func withoutLeader(topics []kmsg.MetadataResponseTopic) string {
	for _, t := range topics {
		led := t.ErrorCode == 0 && len(t.Partitions) > 0
		for _, p := range t.Partitions {
			led = led && p.ErrorCode == 0 && p.Leader >= 0
		}
		if !led {
			return *t.Topic
		}
	}
	return ""
}

func alterTopic(ctx context.Context, admin *kadm.Client, name string, config map[string]string) error {
	alter := make([]kadm.AlterConfig, 0, len(config))
	for key, value := range config {
		alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &value})
	}
	slices.SortFunc(alter, func(a, b kadm.AlterConfig) int { return strings.Compare(a.Name, b.Name) })
	results, err := admin.AlterTopicConfigs(ctx, alter, name)
	if err != nil {
		return fmt.Errorf("setting topic %s: %w", name, err)
	}
	for _, r := range results {
		if r.Err != nil {
			return fmt.Errorf("setting topic %s: %w", name, r.Err)
		}
	}
	return nil
}

func pointers(config map[string]string) map[string]*string {
	out := make(map[string]*string, len(config))
	for key, value := range config {
		out[key] = &value
	}
	return out
}
