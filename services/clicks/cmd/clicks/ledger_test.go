package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/clicks/internal/ledger"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/facttest"
)

// Guards I39.
func TestLedgerSaysWhetherClicksAddUp(t *testing.T) {
	broker, store := newBroker(t, events.Clicks, events.DeadClicks), clickhousetest.New(t)
	accepted, started, journal := 500, time.Now().Add(-time.Minute), ""
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "process_start_time_seconds %d\nclicks_accepted_total %d\nclicks_dropped_total{reason=\"a\"} 2\nclicks_dropped_total{reason=\"b\"} 3\n",
			started.Unix(), accepted)
		_, _ = io.WriteString(w, journal)
	}))
	t.Cleanup(edge.Close)
	ask := func(wantErr error, wantText string) {
		t.Helper()
		var out bytes.Buffer
		err := run(t.Context(), []string{
			"LINKSTREAM_KAFKA_BROKERS=" + broker, "LINKSTREAM_CLICKHOUSE_URL=" + store, "LINKSTREAM_LEDGER_WAIT=1ms",
			"LINKSTREAM_LEDGER_EDGES=edge-1=" + strings.TrimPrefix(edge.URL, "http://"),
		}, []string{"ledger"}, &out)
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if !errors.Is(err, wantErr) || !strings.Contains(text, wantText) {
			t.Errorf("%v:\n%s\nwant %v with %q", err, text, wantErr, wantText)
		}
	}
	produce(t, broker, 495)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DefaultProduceTopic(events.Clicks.Name("")))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Value: []byte("no click")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	ask(ledger.ErrDoesNotAddUp, "496 records have not been ingested yet")

	admin, stop := running(t, broker, store)
	facttest.Eventually(t, "all clicks are counted", func() bool {
		text := get(t, "http://"+admin+"/metrics")
		return strings.Contains(text, "clicks_inserted_total 495\n") && strings.Contains(text, "clicks_dead_total 1\n")
	})
	stop()
	ask(nil, "the ledger adds up")
	accepted++
	ask(ledger.ErrDoesNotAddUp, "edge edge-1: 1 clicks that were accepted are not in ClickHouse")
	accepted--
	started = time.Now().Add(time.Hour) // it was restarted and has accepted nothing since
	accepted = 5
	ask(nil, "the ledger adds up")
	journal, accepted = "clicks_journal_bytes 0\nclicks_journal_clicks 0\n", 500 // it counts from its journal's birth
	ask(nil, "the ledger adds up")
	journal, accepted = "clicks_journal_bytes 900\nclicks_journal_clicks 3\n", 503
	ask(ledger.ErrDoesNotAddUp, "edge edge-1: 3 clicks wait in its journal")
	journal, accepted, started = "", 500, time.Now().Add(-time.Minute)

	options, err := clickhouse.ParseDSN(store)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Exec(t.Context(), "INSERT INTO clicks SELECT * FROM clicks LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	ask(ledger.ErrDoesNotAddUp, "ClickHouse: 1 rows are there twice")
	if err := conn.Exec(t.Context(), "ALTER TABLE clicks_by_value DELETE WHERE dimension = 'country' SETTINGS mutations_sync = 2"); err != nil {
		t.Fatal(err)
	}
	ask(ledger.ErrDoesNotAddUp, "ClickHouse: clicks_by_value holds 0 clicks, the table 496")
}

func TestLedgerFindsTheLocalStack(t *testing.T) {
	dir := t.TempDir()
	if got := localStack(dir); got != nil {
		t.Errorf("without a stack: %v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "dev.env"), []byte(`LINKSTREAM_EDGE_URLS='http://127.0.0.1:8080,http://127.0.0.1:8081,http://127.0.0.1:8180,http://127.0.0.1:8181'
LINKSTREAM_KAFKA_BROKERS='127.0.0.1:19092'
LINKSTREAM_REDIS_URLS='fra=redis://127.0.0.1:16379/0,ash=redis://127.0.0.1:16380/0'
LINKSTREAM_CLICKHOUSE_URL='http://127.0.0.1:18123/linkstream'
`), 0o600); err != nil {
		t.Fatal(err)
	}
	want := "LINKSTREAM_KAFKA_BROKERS=127.0.0.1:19092 LINKSTREAM_CLICKHOUSE_URL=http://127.0.0.1:18123/linkstream " +
		"LINKSTREAM_LEDGER_EDGES=redirect-ash-0=127.0.0.1:9180,redirect-ash-1=127.0.0.1:9181,redirect-fra-0=127.0.0.1:9080,redirect-fra-1=127.0.0.1:9081"
	if got := strings.Join(localStack(dir), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
