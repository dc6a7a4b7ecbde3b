// Command analytics serves the analytics API: it answers from ClickHouse and asks
// the links service whose a token is. `analytics openapi` prints the API's OpenAPI
// document.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the zones of tz, also where the system has none

	"github.com/linkstream/linkstream/services/analytics/internal/api"
	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/analytics/internal/settle"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/memory"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
)

type settings struct {
	LogLevel       string        `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	HTTPAddr       string        `env:"HTTP_ADDR" envDefault:"127.0.0.1:8020" help:"listener of the API"`
	AdminAddr      string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9020" help:"listener of metrics, health and profiles; keep it private"`
	DrainTimeout   time.Duration `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"time for open requests when the process is stopped"`
	ClickHouseURL  string        `env:"CLICKHOUSE_URL,required" help:"http://user:password@host:port/database, or clickhouse://... for the native protocol"`
	KafkaBrokers   []string      `env:"KAFKA_BROKERS,required" help:"host:port, comma separated; while they are away, live clicks and changes of links are missing"`
	TopicPrefix    string        `env:"TOPIC_PREFIX" help:"put before every topic's name"`
	GeoCountryFile string        `env:"GEO_COUNTRY_FILE" help:"mmdb file with the country of addresses, the one of the ingester; without it the live view knows no places"`
	GeoCityFiles   []string      `env:"GEO_CITY_FILES" help:"mmdb files with cities, comma separated, asked before the country file"`
	AccessURL      string        `env:"ACCESS_URL,required" help:"the links service's RPC listener, for instance http://127.0.0.1:8011"`
	SettleInterval time.Duration `env:"SETTLE_INTERVAL" envDefault:"10m" help:"how often to look for days that are over, to write their numbers down"`
	httplimit.Settings
}

// Validate implements config.Validator.
func (s settings) Validate() error {
	errs := []error{
		config.CheckLogLevel(s.LogLevel),
		config.CheckAddr("HTTP_ADDR", s.HTTPAddr),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
		config.CheckPositive("SETTLE_INTERVAL", s.SettleInterval),
		config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers),
		config.CheckURL("ACCESS_URL", s.AccessURL),
		s.CheckRateLimits(),
	}
	if s.ClickHouseURL != "" {
		if err := clickhouseconn.CheckURL(s.ClickHouseURL); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err))
		}
	}
	return errors.Join(errs...)
}

// memoryLimit is far above what is in use. Only while links are read for the first time,
// some millions of them are more.
const memoryLimit = 384 << 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "analytics:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	if len(args) == 1 && args[0] == "openapi" {
		return printOpenAPI(stdout) //nolint:contextcheck // it registers handlers, which take their requests' contexts
	}
	const about = "analytics answers questions about clicks. `analytics openapi` prints the API's OpenAPI document."
	s, err := config.Parse[settings](about, environ, args, stdout)
	if errors.Is(err, config.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "analytics")
	if err != nil {
		return err
	}
	memory.Relax(memoryLimit)
	registry := telemetry.NewRegistry()
	clicks, err := query.Open(s.ClickHouseURL)
	if err != nil {
		return fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err)
	}
	defer func() { _ = clicks.Close() }() // the process ends

	days, err := settle.New(s.ClickHouseURL, settle.Options{Every: s.SettleInterval, DetailedFrom: settle.DetailedFrom, Now: time.Now}, log)
	if err != nil {
		return fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err)
	}
	defer func() { _ = days.Close() }() // the process ends

	streams, err := openStreams(ctx, s, log)
	if err != nil {
		return err
	}
	defer streams.close()
	limits, closeLimits, err := s.Open(registry, log)
	if err != nil {
		return err
	}
	defer closeLimits()
	mux := http.NewServeMux()
	callers := access.NewClient(s.AccessURL)
	document := httpapi.New(mux, api.Title, api.Version, callers, log, httpapi.Limited(limits)) //nolint:contextcheck // its handlers take their requests' contexts
	api.Register(document, api.Sources{Clicks: clicks, Links: streams.catalog.Ready, Live: streams.live}, time.Now, log)
	admin := httpserver.NewAdmin(registry,
		httpserver.Check{Name: "clickhouse", Ready: clicks.Ready},
		httpserver.Check{Name: "access", Ready: callers.Ready},
	)

	adminListener, err := httpserver.Listen(ctx, s.AdminAddr)
	if err != nil {
		return err
	}
	listener, err := httpserver.Listen(ctx, s.HTTPAddr)
	if err != nil {
		return errors.Join(err, adminListener.Close())
	}
	log.InfoContext(ctx, "serving", "http", listener.Addr().String(), "admin", adminListener.Addr().String())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(adminListener, admin, time.Second, log).Run},
		runner.Task{Name: "links", Run: streams.copyLinks},
		runner.Task{Name: "days", Run: days.Run},
		runner.Task{Name: "places", Run: streams.places.Run},
		runner.Task{Name: "api", Run: httpserver.New(listener, httpapi.Middleware(mux, registry, log), s.DrainTimeout, log).Run},
		// Stopped before the listener: viewers are sent away, who would keep it open.
		runner.Task{Name: "live", Run: streams.live.Run},
		runner.Task{Name: "stopping", Run: admin.Stopping},
	)
}

func printOpenAPI(stdout io.Writer) error {
	log := slog.New(slog.DiscardHandler)
	document := httpapi.New(http.NewServeMux(), api.Title, api.Version, nil, log)
	api.Register(document, api.Sources{}, time.Now, log)
	text, err := document.OpenAPI().MarshalJSON()
	if err != nil {
		return fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%s\n", text)
	return err
}
