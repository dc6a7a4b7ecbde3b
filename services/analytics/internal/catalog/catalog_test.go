package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(clickhousetest.Main(m))) }

// world is a broker with the changelog and a table of links.
type world struct {
	t        *testing.T
	addrs    []string
	close    func()
	producer *kgo.Client
	table    *Table
}

func newWorld(t *testing.T) *world {
	t.Helper()
	url := clickhousetest.New(t)
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, events.LinksChangelog.Name("")))
	if err != nil {
		t.Fatal(err)
	}
	closeBroker := sync.OnceFunc(broker.Close) // a second one would hang
	t.Cleanup(closeBroker)
	producer, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	table, err := OpenTable(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return &world{t: t, addrs: broker.ListenAddrs(), close: closeBroker, producer: producer, table: table}
}

var workspace = uuid.UUID{0: 7}

func (w *world) change(id uuid.UUID, revision uint64, kind eventspb.LinkChanged_Kind, tags ...string) {
	w.t.Helper()
	at := timestamppb.New(time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC))
	record, err := events.LinkChangedRecord("", &eventspb.LinkChanged{
		LinkId: id[:], WorkspaceId: workspace[:], Address: &eventspb.Address{Host: "go.test", Slug: "Launch", SlugKey: "launch"},
		Version: 1, Revision: revision, Kind: kind, ChangedAt: at, CreatedAt: at, UpdatedAt: at, Destination: "https://example.com", StatusCode: 302, Title: "Été", Tags: tags,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.produce(record)
}

func (w *world) produce(record *kgo.Record) {
	w.t.Helper()
	if err := w.producer.ProduceSync(w.t.Context(), record).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// run starts a catalog and returns what stops it.
func (w *world) run() (*Catalog, func()) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	c := New(w.table, events.Settings{Brokers: w.addrs, Drain: time.Second}, log)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return c, func() {
		w.t.Helper()
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	}
}

// rows are the links that are there, as text.
func (w *world) rows() []string {
	w.t.Helper()
	rows, err := w.table.conn.Query(w.t.Context(), "SELECT link_id, revision, deleted, host, slug, title, destination, tags FROM links FINAL WHERE workspace_id = {w:UUID} ORDER BY link_id", namedWorkspace())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for rows.Next() {
		var (
			id                             uuid.UUID
			revision                       uint64
			deleted                        bool
			host, slug, title, destination string
			tags                           []string
		)
		if err := rows.Scan(&id, &revision, &deleted, &host, &slug, &title, &destination, &tags); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, fmt.Sprint(id[0], " ", revision, " ", deleted, " ", host, "/", slug, " ", title, " ", destination, " ", tags))
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) eventually(want ...string) {
	w.t.Helper()
	facttest.Eventually(w.t, fmt.Sprint("the table has ", want), func() bool { return slices.Equal(w.rows(), want) })
}

// Guards I71.
func TestTheTableHasEachLinkAsItsNewestRecordSays(t *testing.T) {
	w := newWorld(t)
	const updated, deleted = eventspb.LinkChanged_KIND_UPDATED, eventspb.LinkChanged_KIND_DELETED
	a, b := uuid.UUID{0: 1}, uuid.UUID{0: 2}
	w.change(a, 10, eventspb.LinkChanged_KIND_CREATED, "old")
	w.change(a, 12, updated, "spring", "mail")
	w.change(b, 11, eventspb.LinkChanged_KIND_CREATED)
	w.produce(&kgo.Record{Topic: events.LinksChangelog.Name(""), Key: []byte("x"), Value: []byte("no link")})
	c, stop := w.run()
	facttest.Eventually(t, "the catalog is complete", func() bool { return c.Ready(t.Context()) == nil })
	const rowA, rowB = "1 12 false go.test/Launch Été https://example.com [spring mail]", "2 11 false go.test/Launch Été https://example.com []"
	w.eventually(rowA, rowB)
	w.change(a, 12, updated, "spring", "mail") // again
	w.change(a, 11, updated, "older")          // and an older one after it
	w.change(b, 13, deleted)
	w.eventually(rowA, "2 13 true go.test/Launch Été https://example.com []")
	stop()

	// What came while it was stopped, and was lost, is there after the next start.
	w.change(b, 14, updated, "back")
	if err := w.table.conn.Exec(t.Context(), "TRUNCATE TABLE links"); err != nil {
		t.Fatal(err)
	}
	c, stop = w.run()
	w.eventually(rowA, "2 14 false go.test/Launch Été https://example.com [back]")
	facttest.Eventually(t, "the catalog is complete again", func() bool { return c.Ready(t.Context()) == nil })
	stop()

	// From then on a start is ready before it has read everything.
	w.close()
	c, stop = w.run()
	facttest.Eventually(t, "ready without a broker", func() bool { return c.Ready(t.Context()) == nil })
	stop()
}

func namedWorkspace() any { return clickhouse.Named("w", workspace.String()) }
