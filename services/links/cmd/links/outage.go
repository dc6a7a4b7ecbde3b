package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/outage"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
	"github.com/linkstream/linkstream/services/links/internal/relay"
)

// outages are those of what this service needs. They take what everything else would
// log about them.
type outages struct {
	postgres, broker *outage.Watch
	told             *slog.Logger
	probe            *kgo.Client // who asks for the broker; set before anything runs
}

func newOutages(s *settings, pool *pgxpool.Pool, log *slog.Logger) *outages {
	o := &outages{told: log}
	o.postgres = outage.NewWatch(outage.Thing{
		Name: "postgres", Address: postgres.Address(pool), Ask: pool.Ping,
		Advice: "see whether it runs, and LINKSTREAM_POSTGRES_URL; until it is back the API answers 503, and edges serve what they know",
	}, log)
	o.broker = outage.NewWatch(outage.Thing{
		Name: "broker", Address: strings.Join(s.KafkaBrokers, ","),
		Ask: func(ctx context.Context) error {
			return kafka.CheckTopics(ctx, o.probe, s.TopicPrefix, events.LinksChangelog)
		},
		Advice: "see whether it runs, and LINKSTREAM_KAFKA_BROKERS; until it is back changes wait in the outbox",
	}, log)
	return o
}

// log is for everything but the broker's client.
func (o *outages) log() *slog.Logger {
	return outage.Logger(o.told, func(err error) *outage.Watch {
		switch {
		case errors.Is(err, relay.ErrBroker):
			return o.broker
		case postgres.Away(err):
			return o.postgres
		}
		return nil
	})
}

// kafkaLog is for the broker's client, whose errors are all the broker's.
func (o *outages) kafkaLog() *slog.Logger {
	return outage.Logger(o.told, func(error) *outage.Watch { return o.broker })
}
