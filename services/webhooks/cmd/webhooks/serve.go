package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/memory"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
	"github.com/linkstream/linkstream/services/webhooks/internal/api"
	"github.com/linkstream/linkstream/services/webhooks/internal/deliver"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/feed"
	"github.com/linkstream/linkstream/services/webhooks/internal/outbound"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
	"github.com/linkstream/linkstream/services/webhooks/internal/sealed"
	"github.com/linkstream/linkstream/services/webhooks/internal/stream"
)

// attemptTimeout bounds one call of an endpoint, and is part of what the API promises.
const attemptTimeout = 10 * time.Second

// memoryLimit is far above what is in use: deliveries in hand, endpoints, records.
const memoryLimit = 256 << 20

func serve(ctx context.Context, s *settings, stdout io.Writer) error {
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "webhooks")
	if err != nil {
		return err
	}
	memory.Relax(memoryLimit)
	registry := telemetry.NewRegistry()
	box, err := sealed.New(s.SecretKey, s.SecretKeysOld...)
	if err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, s.PostgresURL, s.PostgresMaxConns)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := postgres.New(pool, box)
	kafkaOptions := kafka.Options(s.KafkaBrokers, "webhooks", log)
	probe, err := kgo.NewClient(kafkaOptions...)
	if err != nil {
		return fmt.Errorf("LINKSTREAM_KAFKA_BROKERS: %w", err)
	}
	defer probe.Close()
	origin := feed.NewOrigin(s.AccessURL)
	defer origin.Close()
	limits, closeLimits, err := s.Open(registry, log)
	if err != nil {
		return err
	}
	defer closeLimits()

	adminListener, err := httpserver.Listen(ctx, s.AdminAddr)
	if err != nil {
		return err
	}
	listener, err := httpserver.Listen(ctx, s.HTTPAddr)
	if err != nil {
		return errors.Join(err, adminListener.Close())
	}

	urls := address.URLs{Scheme: s.ShortURLScheme, Port: s.ShortURLPort}
	policy := outbound.NewPolicy(s.AllowCIDRs)
	deliverer := deliver.New(store, policy.Client(attemptTimeout, nil), s.delivering(), registry, log)
	streams := stream.New(kafkaOptions, s.TopicPrefix, urls, registry, log)
	mux := http.NewServeMux()
	callers := access.NewClient(s.AccessURL)
	document := httpapi.New(mux, api.Title, api.Version, callers, log, httpapi.Limited(limits)) //nolint:contextcheck // its handlers take their requests' contexts
	rules := &endpoint.Rules{Permits: policy.Permits, Plain: policy.Plain(), MinSummaryEvery: s.MinSummary}
	api.Register(document, store, rules, time.Now, log)
	api.RegisterStream(document, streams, callers, log)

	admin := httpserver.NewAdmin(registry,
		httpserver.Check{Name: "postgres", Ready: store.Ready},
		httpserver.Check{Name: "broker", Ready: func(ctx context.Context) error {
			return kafka.CheckTopics(ctx, probe, s.TopicPrefix, events.LinksChangelog, events.Clicks)
		}},
		httpserver.Check{Name: "access", Ready: callers.Ready},
	)
	reader := newReader(s, kafkaOptions, probe, store, origin, urls, adminListener.Addr(), registry, log)
	log.InfoContext(ctx, "serving", "http", listener.Addr().String(), "admin", adminListener.Addr().String())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(adminListener, admin, time.Second, log).Run},
		runner.Task{Name: "deliveries", Run: deliverer.Run},
		runner.Task{Name: "caretaker", Run: deliverer.Caretaker(s.Retention, s.MaxQueue).Run},
		runner.Task{Name: "timer", Run: feed.NewTimer(store, origin, urls, log).Run},
		runner.Task{Name: "reader", Run: reader.Run},
		runner.Task{Name: "api", Run: httpserver.New(listener, httpapi.Middleware(mux, registry, log), s.DrainTimeout, log).Run},
		runner.Task{Name: "streams", Run: streams.Run}, // ends before the API, which would wait for its viewers
		runner.Task{Name: "stopping", Run: admin.Stopping},
	)
}

// delivering is how deliveries are made.
func (s *settings) delivering() deliver.Settings {
	d := deliver.DefaultSettings()
	d.Drain = s.DrainTimeout
	d.Schedule.First = s.RetryFirst
	return d
}

func newReader(s *settings, options []kgo.Opt, probe *kgo.Client, store *postgres.Store, origin *feed.Origin, urls address.URLs, admin net.Addr, registry *prometheus.Registry, log *slog.Logger) *feed.Reader {
	if instance := kafka.Instance(s.InstanceName, admin); instance != "" {
		options = append(slices.Clip(options), kgo.InstanceID(instance))
	}
	subscription := events.Settings{Brokers: s.KafkaBrokers, TopicPrefix: s.TopicPrefix, Kafka: options, Drain: s.DrainTimeout}
	topic := func(ctx context.Context) ([16]byte, error) {
		name := events.Clicks.Name(s.TopicPrefix)
		details, err := kadm.NewClient(probe).ListTopics(ctx, name)
		if err != nil {
			return [16]byte{}, err
		}
		return details[name].ID, details[name].Err
	}
	return feed.NewReader(subscription, probe,
		feed.NewLinks(store, urls, time.Now), feed.NewClicks(store, origin, urls, topic), registry, log)
}

func printOpenAPI(stdout io.Writer) error {
	log := slog.New(slog.DiscardHandler)
	document := httpapi.New(http.NewServeMux(), api.Title, api.Version, nil, log)
	api.Register(document, nil, nil, time.Now, log)
	api.RegisterStream(document, nil, nil, log)
	text, err := document.OpenAPI().MarshalJSON()
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%s\n", text)
	return err
}
