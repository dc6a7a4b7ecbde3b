package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/analytics/internal/catalog"
	"github.com/linkstream/linkstream/services/analytics/internal/live"
	"github.com/linkstream/linkstream/services/internal/enrich"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/place"
)

// streams are what is read from Kafka. Without a broker the figures are answered all the
// same, so it is waited for beside them.
type streams struct {
	prefix  string
	probe   *kgo.Client
	table   *catalog.Table
	catalog *catalog.Catalog
	places  *place.Files
	live    *live.Hub
}

func openStreams(ctx context.Context, s settings, log *slog.Logger) (*streams, error) {
	options := kafka.Options(s.KafkaBrokers, "analytics", log)
	probe, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("LINKSTREAM_KAFKA_BROKERS: %w", err)
	}
	table, err := catalog.OpenTable(s.ClickHouseURL)
	if err != nil {
		probe.Close()
		return nil, fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err)
	}
	files := slices.Clone(s.GeoCityFiles)
	if s.GeoCountryFile != "" {
		files = append(files, s.GeoCountryFile)
	}
	places := place.Open(ctx, files, log)
	reader := live.NewReader(options, s.TopicPrefix, enrich.NewTables(), places, time.Now)
	return &streams{
		places: places, live: live.New(reader, time.Now, log),
		prefix: s.TopicPrefix, probe: probe, table: table,
		catalog: catalog.New(table, events.Settings{
			Brokers: s.KafkaBrokers, TopicPrefix: s.TopicPrefix, Kafka: options, Drain: s.DrainTimeout,
		}, log),
	}, nil
}

// close ends what the tasks have left.
func (s *streams) close() {
	s.probe.Close()
	_ = s.table.Close() // the process ends
}

// copyLinks is a task. A broker that lacks a topic ends it, and the process.
func (s *streams) copyLinks(ctx context.Context) error {
	err := kafka.AwaitTopics(ctx, s.probe, s.prefix, kafka.Forever, events.LinksChangelog, events.Clicks)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the end of the process is no fault
	case err != nil:
		return err
	}
	return s.catalog.Run(ctx)
}
