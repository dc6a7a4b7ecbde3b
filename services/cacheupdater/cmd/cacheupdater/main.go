// Command cacheupdater keeps one region's Redis up to date with the changelog of
// links, and tells the region's edges what changed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/services/cacheupdater/internal/apply"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/memory"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
	"github.com/linkstream/linkstream/services/internal/trace"
)

// roundTrip bounds one batch to Redis. Nobody waits for it, and giving up early
// only means sending it again.
const roundTrip = 2 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Environ(), os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, config.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cacheupdater:", err)
		os.Exit(1)
	}
}

// memoryLimit is far above what is in use: batches of records, and what they become.
const memoryLimit = 256 << 20

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	s, err := config.Parse[settings]("cacheupdater writes the changelog of links to one region's Redis.", environ, args, stdout)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "cacheupdater")
	if err != nil {
		return err
	}
	log = log.With("region", s.Region)
	memory.Relax(memoryLimit)
	registry := telemetry.NewRegistry()
	tracer := trace.New(s.Collector, "cacheupdater", registry, log)

	redis, err := redisconn.OpenPatient(s.RedisURL, roundTrip)
	if err != nil {
		return err
	}
	defer func() { _ = redis.Close() }()

	listener, err := httpserver.Listen(ctx, s.AdminAddr)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()

	away := newOutages(&s, log)
	log = away.log()
	updater, err := apply.New(
		kafka.Options(s.KafkaBrokers, "cacheupdater-"+s.Region, away.kafkaLog()), redis,
		apply.Settings{
			Region: s.Region, TopicPrefix: s.TopicPrefix,
			Instance: kafka.Instance(s.InstanceName, listener.Addr()), DrainTimeout: s.DrainTimeout, Tracer: tracer,
		},
		registry, log)
	if err != nil {
		return err
	}
	away.updater = updater
	// Without a broker there is nothing to write, and the process waits for one, not
	// ready: it says in /readyz what it waits for, which one that ends and is started
	// again cannot. A broker that lacks a topic ends it.
	update := func(ctx context.Context) error {
		if err := kafka.AwaitTopics(ctx, updater.Client(), s.TopicPrefix, kafka.Forever, topics()...); err != nil {
			updater.Client().CloseAllowingRebalance()
			return err
		}
		return updater.Run(ctx)
	}

	admin := httpserver.NewAdmin(registry,
		httpserver.Check{Name: "redis", Ready: updater.RedisReady},
		httpserver.Check{Name: "changelog", Ready: updater.ChangelogReady},
		httpserver.Check{Name: "broker", Ready: func(ctx context.Context) error {
			return kafka.CheckTopics(ctx, updater.Client(), s.TopicPrefix, topics()...)
		}},
	)
	log.Info("started", "admin", listener.Addr().String())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(listener, admin, s.DrainTimeout, log).Run},
		runner.Task{Name: "traces", Run: tracer.Run},
		runner.Task{Name: "redis outages", Run: away.redis.Run},
		runner.Task{Name: "broker outages", Run: away.broker.Run},
		runner.Task{Name: "updater", Run: update},
		runner.Task{Name: "readiness", Run: admin.Stopping},
	)
}
