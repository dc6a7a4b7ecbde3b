package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/cacheupdater/internal/apply"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/outage"
)

// topics are those that have to be there.
func topics() []events.Topic {
	return []events.Topic{events.LinksChangelog, events.DeadLinksChangelog}
}

// outages are those of what this service needs. They take what everything else would
// log about them.
type outages struct {
	redis, broker *outage.Watch
	told          *slog.Logger
	updater       *apply.Updater // set before anything runs
}

func newOutages(s *settings, log *slog.Logger) *outages {
	o := &outages{told: log}
	o.redis = outage.NewWatch(outage.Thing{
		Name: "redis", Address: hostsOf(s.RedisURL),
		// Not a ping: a Redis that takes no writes answers it.
		Ask:    func(ctx context.Context) error { return o.updater.RedisReady(ctx) },
		Always: true,
		Advice: "see whether it runs and takes writes, and LINKSTREAM_REDIS_URL; until it is back edges ask the origin",
	}, log)
	o.broker = outage.NewWatch(outage.Thing{
		Name: "broker", Address: strings.Join(s.KafkaBrokers, ","),
		Ask: func(ctx context.Context) error {
			return kafka.CheckTopics(ctx, o.updater.Client(), s.TopicPrefix, topics()...)
		},
		Advice: "see whether it runs, and LINKSTREAM_KAFKA_BROKERS; until it is back edges ask the origin",
	}, log)
	return o
}

// hostsOf is a Redis URL without its password.
func hostsOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// log is for everything but the broker's client.
func (o *outages) log() *slog.Logger {
	return outage.Logger(o.told, func(err error) *outage.Watch {
		switch {
		case errors.Is(err, apply.ErrRedis):
			return o.redis
		case errors.Is(err, apply.ErrBroker):
			return o.broker
		}
		return nil
	})
}

// kafkaLog is for the broker's client, whose errors are all the broker's.
func (o *outages) kafkaLog() *slog.Logger {
	return outage.Logger(o.told, func(error) *outage.Watch { return o.broker })
}
