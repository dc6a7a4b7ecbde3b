package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/kafka"
)

const (
	// topicWait is how long one question waits for the broker's word.
	topicWait = 3 * time.Second
	// topicEvery is the time between two questions.
	topicEvery = 5 * time.Second
)

// topicCheck asks whether the topic of clicks is there. A broker whose first word is
// "no" ends the process: it was set up wrong. Nobody waits for that word, because
// redirects need no broker, and one that does not answer is asked again until it does.
type topicCheck struct {
	client *kgo.Client
	prefix string
	log    *slog.Logger
}

func newTopicCheck(options []kgo.Opt, prefix string, log *slog.Logger) (*topicCheck, error) {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &topicCheck{client: client, prefix: prefix, log: log}, nil
}

// close ends the connections. It may be called more than once.
func (c *topicCheck) close() { c.client.Close() }

// Run asks until the topic is known to be there.
func (c *topicCheck) Run(ctx context.Context) error {
	tick := time.NewTicker(topicEvery)
	defer tick.Stop()
	for told := false; ; {
		err := kafka.AwaitTopics(ctx, c.client, c.prefix, topicWait, events.Clicks)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			c.close() // nothing more to ask
			<-ctx.Done()
			return nil
		case !errors.Is(err, kafka.ErrNoAnswer):
			return err
		case !told:
			told = true
			c.log.Warn("the broker does not answer: clicks wait in the journal", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
