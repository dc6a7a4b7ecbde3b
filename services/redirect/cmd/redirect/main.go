// Command redirect is an edge: it answers the visitors of short links.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/control"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

// replicaLag is many times what a replica that follows its primary is behind. One that
// has lost it answers no reads where replica-serve-stale-data is no.
const replicaLag = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Environ(), os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, config.ErrHelp) {
		fmt.Fprintln(os.Stderr, "redirect:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	s, err := config.Parse[settings]("redirect answers the visitors of short links.", environ, args, stdout)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "redirect")
	if err != nil {
		return err
	}
	log = log.With("region", s.Region, "edge", s.EdgeName)
	registry := telemetry.NewRegistry()
	tracer := trace.New(trace.Collector{TracesURL: s.TracesURL}, "redirect", registry, log)
	limitMemory(s)

	public, err := httpserver.Listen(ctx, s.HTTPAddr)
	if err != nil {
		return err
	}
	defer func() { _ = public.Close() }()
	private, err := httpserver.Listen(ctx, s.AdminAddr)
	if err != nil {
		return err
	}
	defer func() { _ = private.Close() }()

	client, err := redisconn.Open(s.RedisURL)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	broker := kafka.Options(s.KafkaBrokers, "redirect-"+s.EdgeName, brokerLog(ctx, log))
	topics, err := newTopicCheck(broker, s.TopicPrefix, log)
	if err != nil {
		return err
	}
	defer topics.close()
	recorded, err := clicks.New(ctx, broker, clicks.Settings{
		Edge: s.EdgeName, TopicPrefix: s.TopicPrefix, JournalDir: s.JournalDir, JournalMaxBytes: s.JournalMaxBytes, DrainTimeout: s.DrainTimeout,
	}, registry, log)
	if err != nil {
		return err
	}
	defer func() { _ = recorded.Close() }()
	origin := lookup.NewOriginClient(s.OriginURL)
	links, err := lookup.New(linkcache.NewStore(client), origin,
		lookup.Settings{MaxBytes: s.L1MaxBytes, TTL: s.L1TTL, ReplicaLag: replicaLag, Tracer: tracer}, registry, log)
	if err != nil {
		return err
	}
	visitors, err := openVisitors(ctx, s, links, registry, log)
	if err != nil {
		return err
	}
	defer visitors.close()
	feed := lookup.NewFeed(client, links, log)
	hosts := domains.New()
	hostsCopy := domains.NewCopy(hosts, client, log)
	if err := hostsCopy.Compare(ctx); err != nil { // before the first visitor
		log.WarnContext(ctx, "starting without the region's copy of the domains", "err", err)
	}
	edge := control.New(s.OriginURL, s.Region, s.EdgeName, links, hosts, log)
	handler := redirect.New(links, recorded, hosts, edge, redirect.Settings{
		DefaultDomain: s.DefaultDomain, LocalNames: s.LocalNames, TrustedProxies: s.TrustedProxies,
		MonitorAgents: s.monitors(), Limit: redirect.Limit{Rate: s.RateLimit, Burst: s.RateBurst, Exempt: s.RateExempt},
		ShortURLs:    address.URLs{Scheme: s.ShortURLScheme, Port: s.ShortURLPort},
		ServerTiming: s.ServerTiming, Region: s.Region, Edge: s.EdgeName,
		Eyes: visitors.eyes, Counter: visitors.counter, Passwords: origin, Unlocking: visitors.unlocking,
		Tracer: tracer, Traced: s.TracesShare,
	}, registry)
	admin := httpserver.NewAdmin(registry,
		httpserver.Check{Name: "links", Ready: readiness(client, feed, links, httpserver.Reachable("origin", s.OriginURL))},
		httpserver.Check{Name: "clicks", Ready: recorded.Ready},
		httpserver.Check{Name: "places", Ready: visitors.placesKnown, Without: true},
		httpserver.Check{Name: "limits", Ready: visitors.limitsCounted, Without: true})

	server, err := http1.NewServer(public, handler, http1.Settings{
		Loops: runtime.GOMAXPROCS(0), Grace: s.DrainTimeout, Waits: http1.DefaultWaits(),
	}, log)
	if err != nil {
		return err
	}

	log.Info("started", "http", public.Addr().String(), "admin", private.Addr().String())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(private, admin, s.DrainTimeout, log).Run},
		runner.Task{Name: "traces", Run: tracer.Run},
		runner.Task{Name: "clicks", Run: recorded.Run}, // sends what the server recorded
		runner.Task{Name: "topics", Run: topics.Run},
		runner.Task{Name: "lookup", Run: links.Run},
		runner.Task{Name: "invalidations", Run: feed.Run},
		runner.Task{Name: "domains", Run: hostsCopy.Run},
		runner.Task{Name: "control", Run: edge.Run},
		runner.Task{Name: "places", Run: visitors.places.Run},
		runner.Task{Name: "server", Run: server.Run},
		runner.Task{Name: "readiness", Run: admin.Stopping},
	)
}

// brokerLog is where the Kafka client writes: nowhere, unless every detail is wanted.
// It has a line for each try while the broker is away, for minutes; the sender says
// once that clicks wait, and once that they do not.
func brokerLog(ctx context.Context, log *slog.Logger) *slog.Logger {
	if log.Enabled(ctx, slog.LevelDebug) {
		return log
	}
	return slog.New(slog.DiscardHandler)
}

// readiness says whether this edge can answer. With Redis it can once it hears of
// changes; without Redis as long as the origin can be reached; with neither as long
// as it holds links in memory. A broker that is away takes no edge out of service.
func readiness(client redis.UniversalClient, feed *lookup.Feed, links *lookup.Lookup, origin httpserver.Check) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		redisErr := client.Ping(ctx).Err()
		switch {
		case redisErr == nil && feed.Subscribed():
			return nil
		case redisErr == nil:
			return errors.New("redis answers, but this edge does not hear of changes yet")
		}
		originErr := origin.Ready(ctx)
		if originErr == nil || !links.Empty() {
			return nil
		}
		return fmt.Errorf("redis: %w; origin: %w; and no link is in memory", redisErr, originErr)
	}
}
