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

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/cacheupdater/internal/apply"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
)

const (
	// brokerWait is how long a start waits for a broker that is starting too.
	brokerWait = 30 * time.Second
	// roundTrip bounds one batch to Redis. Nobody waits for it, and giving up early
	// only means sending it again.
	roundTrip = 2 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Environ(), os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, config.ErrHelp) {
		fmt.Fprintln(os.Stderr, "cacheupdater:", err)
		os.Exit(1)
	}
}

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
	registry := telemetry.NewRegistry()

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

	updater, err := apply.New(
		kafka.Options(s.KafkaBrokers, "cacheupdater-"+s.Region, log), redis,
		apply.Settings{
			Region: s.Region, TopicPrefix: s.TopicPrefix,
			Instance: kafka.Instance(s.InstanceName, listener.Addr()), DrainTimeout: s.DrainTimeout,
		},
		registry, log)
	if err != nil {
		return err
	}
	check, cancel := context.WithTimeout(ctx, brokerWait)
	defer cancel()
	if err := kafka.CheckTopics(check, updater.Client(), s.TopicPrefix, events.LinksChangelog, events.DeadLinksChangelog); err != nil {
		updater.Client().CloseAllowingRebalance()
		return err
	}

	admin := httpserver.NewAdmin(registry,
		httpserver.Check{Name: "redis", Ready: updater.RedisReady},
		httpserver.Check{Name: "changelog", Ready: updater.ChangelogReady},
	)
	log.Info("started", "admin", listener.Addr().String())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(listener, admin, s.DrainTimeout, log).Run},
		runner.Task{Name: "updater", Run: updater.Run},
		runner.Task{Name: "readiness", Run: admin.Stopping},
	)
}
