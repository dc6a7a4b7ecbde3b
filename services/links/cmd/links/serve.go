package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/danielgtaylor/huma/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/memory"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1/controlv1connect"
	"github.com/linkstream/linkstream/services/internal/rpc/originv1/originv1connect"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/api"
	"github.com/linkstream/linkstream/services/links/internal/control"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/origin"
	"github.com/linkstream/linkstream/services/links/internal/password"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
	"github.com/linkstream/linkstream/services/links/internal/relay"
	"github.com/linkstream/linkstream/services/links/internal/transfer"
	"github.com/linkstream/linkstream/services/links/internal/unlock"
)

const (
	// passwordsAtOnce bounds argon2id: each takes 64 MiB and two cores.
	passwordsAtOnce = 2

	// linkPasswordsAtOnce bounds it for the passwords of links: 19 MiB and one core each.
	// They have slots of their own, so that visitors who guess keep no user from logging in.
	linkPasswordsAtOnce = 2

	// maxRPCBytes bounds a question over RPC; all of them are small.
	maxRPCBytes = 64 << 10

	// brokerPatience is how long the start waits for a broker to say whether the
	// topics are there. After it the service starts without: edges need the origin
	// look-up most when other things are down.
	brokerPatience = 10 * time.Second

	// textsEvery is how often texts are looked for that nobody has read.
	textsEvery = 2 * time.Second

	// memoryLimit is above what bulk calls of the largest size take: some hold 16 MiB of
	// text and what becomes of it.
	memoryLimit = 1 << 30
)

func serve(ctx context.Context, environ, args []string, stdout io.Writer) error {
	s, err := config.Parse[settings](about, environ, args, stdout)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "links")
	if err != nil {
		return err
	}
	memory.Relax(memoryLimit)
	registry := telemetry.NewRegistry()
	tracer := trace.New(s.Collector, "links", registry, log)

	pool, err := postgres.Open(ctx, s.PostgresURL, s.PostgresMaxConns)
	if err != nil {
		return err
	}
	defer pool.Close()
	away := newOutages(&s, pool, log)
	log = away.log()
	defaultDomain, _ := link.ParseHost(s.DefaultDomain) // checked with the settings
	store := postgres.New(pool, defaultDomain, s.TombstoneGrace)
	keys, err := keyring.New(s.TokenPepper, s.TokenPeppersOld...)
	if err != nil {
		return err
	}
	accounts, err := account.New(ctx, store, keys, password.ForUsers(), passwordsAtOnce, time.Now)
	if err != nil {
		return fmt.Errorf("preparing the accounts: %w", err)
	}

	locks := unlock.New(store, password.New(password.ForLinks(), linkPasswordsAtOnce), keys)

	kafkaOptions := kafka.Options(s.KafkaBrokers, "links", away.kafkaLog())
	probe, err := kgo.NewClient(kafkaOptions...)
	if err != nil {
		return fmt.Errorf("making the broker's client: %w", err)
	}
	defer probe.Close()
	away.probe = probe
	err = kafka.AwaitTopics(ctx, probe, s.TopicPrefix, brokerPatience, events.LinksChangelog)
	switch {
	case errors.Is(err, kafka.ErrNoAnswer):
		log.WarnContext(ctx, "starting without the broker", "err", err)
	case err != nil:
		return err
	}

	edges := control.New(store, registry, log)
	limits, closeLimits, err := s.Open(registry, log)
	if err != nil {
		return err
	}
	defer closeLimits()
	mux := http.NewServeMux()
	guard := idempotency.New(store, keys, log)
	// Keys are remembered for less than a second; sessions, which end when somebody logs out, are not.
	callers := access.Remember(accounts, func(token string) bool { return strings.HasPrefix(token, account.KeyPrefix) })
	document := httpapi.New(mux, api.Title, api.Version, callers, log, httpapi.Limited(limits)) //nolint:contextcheck // its handlers take their requests' contexts
	guard.Use(document)                                                                         //nolint:contextcheck // likewise
	rules := &link.Rules{Schemes: s.Schemes, LocalNames: s.LocalNames, LocalPorts: s.LocalPorts}
	importer := transfer.New(store, rules, api.ReadLink(document), defaultDomain, transfer.Limits{Bytes: transfer.MaxBytes, Rows: transfer.MaxRows}, log)
	api.Register(document, store, locks, rules, address.URLs{Scheme: s.ShortURLScheme, Port: s.ShortURLPort}, log)
	api.RegisterEdges(document, edges, store, log)
	api.RegisterDomains(document, store, log)
	api.RegisterKeys(document, account.NewKeys(store, accounts), log)
	api.RegisterUsers(document, account.NewMembers(store, accounts), log)
	api.RegisterImports(document, importer, log)
	api.RegisterTags(document, store, log)
	api.RegisterTemplates(document, store, log)

	admin := httpserver.NewAdmin(registry,
		httpserver.Check{Name: "postgres", Ready: store.Ready},
		httpserver.Check{Name: "broker", Ready: func(ctx context.Context) error {
			return kafka.CheckTopics(ctx, probe, s.TopicPrefix, events.LinksChangelog)
		}},
	)
	adminServer, err1 := listen(ctx, s.AdminAddr, admin, s.DrainTimeout, log)
	rpc := rpcHandler(store, locks, accounts, edges, log)
	rpcServer, err2 := listen(ctx, s.RPCAddr, tracer.Followed(rpc, routeOf(rpc)), s.DrainTimeout, log)
	apiServer, err3 := listen(ctx, s.HTTPAddr, tracer.Handler(httpapi.Middleware(mux, registry, log), routeOf(mux)), s.DrainTimeout, log)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	outbox := relay.New(pool, kafkaOptions, s.TopicPrefix, s.DrainTimeout, registry, log)
	outbox.Trace(tracer)
	log.InfoContext(ctx, "serving", "http", apiServer.Addr(), "rpc", rpcServer.Addr(), "admin", adminServer.Addr())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: adminServer.Run}, // stopped last: says until then how it goes
		runner.Task{Name: "traces", Run: tracer.Run},
		runner.Task{Name: "postgres outages", Run: away.postgres.Run},
		runner.Task{Name: "broker outages", Run: away.broker.Run},
		runner.Task{Name: "relay", Run: outbox.Run}, // publishes what the last requests wrote
		runner.Task{Name: "edges", Run: edges.Run},
		runner.Task{Name: "uses", Run: func(ctx context.Context) error { return accounts.RecordUses(ctx, log) }},
		runner.Task{Name: "texts", Run: func(ctx context.Context) error { return readTexts(ctx, store, log) }},
		runner.Task{Name: "idempotency", Run: guard.Run},
		runner.Task{Name: "imports", Run: importer.Work},
		runner.Task{Name: "old imports", Run: importer.Forget},
		runner.Task{Name: "rpc", Run: rpcServer.Run},
		runner.Task{Name: "api", Run: apiServer.Run},
		runner.Task{Name: "readiness", Run: admin.Stopping},
	)
}

// readTexts makes texts quick to find that were stored one by one or changed, whenever
// enough of a workspace have come together.
func readTexts(ctx context.Context, store *postgres.Store, log *slog.Logger) error {
	tick := time.NewTicker(textsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for n := 1; n > 0; {
			var err error
			if n, err = store.ReadTexts(ctx); err != nil {
				if ctx.Err() == nil && !errors.Is(err, link.ErrUnavailable) { // that is told by others
					log.WarnContext(ctx, "texts not read", "err", err)
				}
				break
			}
		}
	}
}

func listen(ctx context.Context, addr string, h http.Handler, grace time.Duration, log *slog.Logger) (*httpserver.Server, error) {
	listener, err := httpserver.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return httpserver.New(listener, h, grace, log), nil
}

// routeOf says which route of a mux a request takes, which has nothing of the request.
func routeOf(mux *http.ServeMux) func(*http.Request) string {
	return func(r *http.Request) string {
		_, route := mux.Handler(r)
		return route
	}
}

func rpcHandler(store *postgres.Store, locks *unlock.Locks, accounts *account.Accounts, edges *control.Control, log *slog.Logger) *http.ServeMux {
	server := connect.NewServer()
	originv1connect.RegisterOriginServiceHandler(server, origin.New(store, locks, log))
	accessv1connect.RegisterAccessServiceHandler(server, account.NewService(accounts, log))
	controlv1connect.RegisterControlServiceHandler(server, edges)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server, connecthttp.WithReadMaxBytes(maxRPCBytes))
	return mux
}

// printOpenAPI prints the document that /openapi.json serves.
func printOpenAPI(args []string, stdout io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	quiet := slog.New(slog.DiscardHandler)
	document := httpapi.New(http.NewServeMux(), api.Title, api.Version, nil, quiet)
	idempotency.New(nil, nil, quiet).Use(document)
	api.Register(document, nil, nil, nil, address.URLs{}, quiet)
	api.RegisterEdges(document, nil, nil, quiet)
	api.RegisterDomains(document, nil, quiet)
	api.RegisterKeys(document, nil, quiet)
	api.RegisterUsers(document, nil, quiet)
	api.RegisterImports(document, nil, quiet)
	api.RegisterTags(document, nil, quiet)
	api.RegisterTemplates(document, nil, quiet)
	return writeDocument(document, stdout)
}

func writeDocument(document huma.API, stdout io.Writer) error {
	text, err := document.OpenAPI().MarshalJSON()
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%s\n", text)
	return err
}
