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
	// topicWait is how long a start, and each later question, waits for the broker's
	// word. Visitors wait for a start.
	topicWait = 3 * time.Second
	// topicEvery is the time between two questions after that.
	topicEvery = 5 * time.Second
)

// topicCheck asks whether the topic of clicks is there. A broker that answers "no"
// stops the start. One that does not answer does not: redirects need no broker,
// and the question is asked again until it is answered.
type topicCheck struct {
	client *kgo.Client
	prefix string
	log    *slog.Logger
	known  bool
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

func (c *topicCheck) atStart(ctx context.Context) error {
	err := c.ask(ctx)
	if errors.Is(err, kafka.ErrNoAnswer) {
		c.log.Warn("starting without the broker: clicks wait in the journal", "err", err)
		return nil
	}
	return err
}

func (c *topicCheck) ask(ctx context.Context) error {
	err := kafka.AwaitTopics(ctx, c.client, c.prefix, topicWait, events.Clicks)
	c.known = err == nil
	return err
}

// Run asks until the topic is known to be there. An edge that redirects already
// does not stop for it, but says so.
func (c *topicCheck) Run(ctx context.Context) error {
	tick := time.NewTicker(topicEvery)
	defer tick.Stop()
	for !c.known {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := c.ask(ctx); errors.Is(err, kafka.ErrMissingTopics) {
			c.log.Error("clicks cannot be delivered", "err", err)
		}
	}
	c.close() // nothing more to ask
	<-ctx.Done()
	return nil
}
