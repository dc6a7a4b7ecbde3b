package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/clicks/internal/sink"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/outage"
)

// ingest is the consumer, from the moment on that a broker has said that its topics
// are there. Without a broker there is nothing to count, and the process waits for
// one, not ready: it says in /readyz what it waits for, which one that ends and is
// started again cannot. A broker that lacks a topic ends it.
type ingest struct {
	probe    *kgo.Client
	away     *outage.Outage // of the broker
	prefix   string
	start    func(topic sink.Topic) (*sink.Consumer, error)
	consumer atomic.Pointer[sink.Consumer] // nil while there is none
}

func (i *ingest) Run(ctx context.Context) error {
	if err := kafka.AwaitTopics(ctx, i.probe, i.prefix, kafka.Forever, events.Clicks, events.DeadClicks); err != nil {
		return err
	}
	topic, err := sink.FindTopic(ctx, i.probe, i.prefix)
	if err != nil {
		return err
	}
	consumer, err := i.start(topic)
	if err != nil {
		return err
	}
	i.consumer.Store(consumer)
	return consumer.Run(ctx)
}

// BrokerReady is a readiness check: a broker answers and has the topics.
func (i *ingest) BrokerReady(ctx context.Context) error {
	return orAway(kafka.CheckTopics(ctx, i.probe, i.prefix, events.Clicks, events.DeadClicks), i.away)
}

// orAway is what a readiness check says: of a store that is known to be away, where it
// should be and for how long it is not.
func orAway(err error, store *outage.Outage) error {
	if away := store.Err(); err != nil && away != nil {
		return away
	}
	return err
}

// Ready is a readiness check: clicks are being counted, as far as the ingester knows.
func (i *ingest) Ready(context.Context) error {
	consumer := i.consumer.Load()
	if consumer == nil {
		return errors.New("waits for the broker to say that the topics are there")
	}
	return consumer.Ready()
}
