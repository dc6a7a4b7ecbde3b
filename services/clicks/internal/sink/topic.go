package sink

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

// FindTopic looks the clicks topic up.
func FindTopic(ctx context.Context, client *kgo.Client, prefix string) (Topic, error) {
	name := events.Clicks.Name(prefix)
	details, err := kadm.NewClient(client).ListTopics(ctx, name)
	if err == nil {
		err = details.Error()
	}
	if err != nil {
		return Topic{}, fmt.Errorf("looking up the topic %s: %w", name, err)
	}
	return Topic{Name: name, ID: details[name].ID}, nil
}
