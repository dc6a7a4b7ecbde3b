package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/services/clicks/internal/ledger"
	"github.com/linkstream/linkstream/services/clicks/internal/sink"
	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
	"github.com/linkstream/linkstream/services/internal/config"
)

type ledgerSettings struct {
	KafkaBrokers  []string          `env:"KAFKA_BROKERS,required" help:"host:port, comma separated"`
	TopicPrefix   string            `env:"TOPIC_PREFIX" help:"put before every topic's name"`
	ClickHouseURL string            `env:"CLICKHOUSE_URL,required" help:"http://user:password@host:port/database, or clickhouse://... for the native protocol"`
	Edges         map[string]string `env:"LEDGER_EDGES,required" envKeyValSeparator:"=" help:"NAME=host:port of every edge's admin listener, comma separated"`
	Wait          time.Duration     `env:"LEDGER_WAIT" envDefault:"30s" help:"how long clicks may be on their way before they count as missing"`
}

// Validate implements config.Validator.
func (s ledgerSettings) Validate() error {
	errs := []error{config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers)}
	if s.ClickHouseURL != "" {
		if err := clickhouseconn.CheckURL(s.ClickHouseURL); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err))
		}
	}
	for _, admin := range s.Edges {
		errs = append(errs, config.CheckAddr("LEDGER_EDGES", admin))
	}
	return errors.Join(errs...)
}

const ledgerAbout = `clicks ledger says whether every click that an edge accepted is counted, once: it compares the edges' metrics with
the topics and with ClickHouse, prints the accounts, and fails when they do not add up. It reads the whole clicks
topic. What a local stack has written to .local/dev.env is used unless variables say otherwise.`

// runLedger is `clicks ledger`. It is a command of the ingester because that is what
// has clients of the topics and of ClickHouse, and is there wherever clicks are.
func runLedger(ctx context.Context, environ, args []string, stdout io.Writer) error {
	s, err := config.Parse[ledgerSettings](ledgerAbout, append(localStack(".local"), environ...), args, stdout)
	if errors.Is(err, config.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	conn, err := clickhouseconn.Open(s.ClickHouseURL, 2)
	if err != nil {
		return fmt.Errorf("LINKSTREAM_CLICKHOUSE_URL: %w", err)
	}
	defer func() { _ = conn.Close() }() // the process ends
	sources := ledger.Sources{Brokers: s.KafkaBrokers, TopicPrefix: s.TopicPrefix, Group: sink.Group, ClickHouse: conn, Edges: s.Edges}
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for deadline := time.Now().Add(s.Wait); ; {
		l, err := sources.Read(ctx)
		if err != nil {
			return err
		}
		if l.Settled() || time.Now().After(deadline) {
			return l.Write(stdout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// localStack are the settings of the stack that runs in a folder, as "KEY=value";
// none when none runs there. The names and admin ports of its edges are those of its
// plan: redirect-REGION-N, a thousand above the edge's port.
func localStack(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, "dev.env"))
	if err != nil {
		return nil
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `'"`)
		}
	}
	var out, edges []string
	for _, name := range []string{"LINKSTREAM_KAFKA_BROKERS", "LINKSTREAM_CLICKHOUSE_URL"} {
		out = append(out, name+"="+values[name])
	}
	var regions []string
	for entry := range strings.SplitSeq(values["LINKSTREAM_REDIS_URLS"], ",") {
		region, _, _ := strings.Cut(entry, "=")
		regions = append(regions, region)
	}
	urls := strings.Split(values["LINKSTREAM_EDGE_URLS"], ",")
	each := max(1, len(urls)/len(regions))
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			continue
		}
		port, err := strconv.Atoi(u.Port())
		if err != nil || i/each >= len(regions) {
			continue
		}
		name := fmt.Sprintf("redirect-%s-%d", regions[i/each], i%each)
		edges = append(edges, name+"="+net.JoinHostPort(u.Hostname(), strconv.Itoa(port+1000)))
	}
	slices.Sort(edges)
	return append(out, "LINKSTREAM_LEDGER_EDGES="+strings.Join(edges, ","))
}
