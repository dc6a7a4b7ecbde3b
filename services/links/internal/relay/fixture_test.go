package relay

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/pgtest"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(pgtest.Main(m))) }

// patience is how long a test waits for what has to come.
const patience = 20 * time.Second

// world is a database, a broker, and somebody who reads the changelog.
type world struct {
	pool      *pgxpool.Pool
	store     *postgres.Store
	workspace uuid.UUID
	cluster   *kfake.Cluster
	reader    *kgo.Client
	rules     link.Rules
}

func newWorld(t *testing.T) *world {
	t.Helper()
	pool, err := postgres.Open(t.Context(), pgtest.New(t), 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := &world{pool: pool, store: postgres.New(pool, "go.test", 0), workspace: uuid.New()}
	w.exec(t, `INSERT INTO workspaces (id, name) VALUES ($1, 'w')`, w.workspace)
	w.exec(t, `INSERT INTO domains (id, host) VALUES (gen_random_uuid(), 'go.test')`)
	w.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(12, string(events.LinksChangelog)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.cluster.Close)
	w.reader, err = kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.ConsumeTopics(string(events.LinksChangelog)),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.reader.Close)
	return w
}

func (w *world) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := w.pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) create(t *testing.T, slug string) *link.Link {
	t.Helper()
	c, err := w.rules.CheckNew(link.Change{Destination: link.Some("https://e.test/1"), Slug: link.Some(slug)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.store.Create(t.Context(), w.workspace, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *world) rename(t *testing.T, l *link.Link, slug string) {
	t.Helper()
	c, err := w.rules.CheckEdit(link.Change{Slug: link.Some(slug)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Update(t.Context(), w.workspace, l.ID, link.Always, c); err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove(t *testing.T, l *link.Link) {
	t.Helper()
	if err := w.store.Delete(t.Context(), w.workspace, l.ID, link.Always); err != nil {
		t.Fatal(err)
	}
}

func (w *world) relay(t *testing.T) *Relay {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	return New(w.pool, kafka.Options(w.cluster.ListenAddrs(), "relay", log), "", 5*time.Second, prometheus.NewRegistry(), log)
}

// start runs a relay until the returned function is called, or the test ends.
func start(t *testing.T, r *Relay) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- r.Run(ctx)
		close(ended)
	}()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// read returns the next n records of the changelog, shortly: "slug v1 created".
func (w *world) read(t *testing.T, n int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		fetches := w.reader.PollRecords(ctx, n-len(out))
		if ctx.Err() != nil {
			t.Fatalf("got %d of %d records: %v", len(out), n, describe(t, out))
		}
		out = append(out, fetches.Records()...)
	}
	return out
}

// none fails the test if another record comes within a poll and a half.
func (w *world) none(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pollEvery*3/2)
	defer cancel()
	if records := w.reader.PollFetches(ctx).Records(); len(records) > 0 {
		t.Fatalf("unexpected records: %v", describe(t, records))
	}
}

func describe(t *testing.T, records []*kgo.Record) []string {
	t.Helper()
	out := []string{}
	for _, r := range records {
		ev, err := events.DecodeLinkChanged(r)
		if err != nil {
			out = append(out, "tombstone")
			continue
		}
		kind := strings.ToLower(strings.TrimPrefix(ev.GetKind().String(), "KIND_"))
		out = append(out, fmt.Sprintf("%s v%d %s", ev.GetAddress().GetSlug(), ev.GetVersion(), kind))
	}
	return out
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// insert puts a row for a link of its own into the outbox and returns the link's id.
func insert(t *testing.T, do func(statement string, args ...any), slug string) []byte {
	t.Helper()
	id := uuid.New()
	payload := encode(t, id, slug)
	do(`INSERT INTO outbox (link_id, payload, publish_after) VALUES ($1, $2, '-infinity')`, id, payload)
	return id[:]
}

func (w *world) rows(t *testing.T) (n int) {
	t.Helper()
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM outbox`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// encode is the outbox payload of a link that exists nowhere else.
func encode(t *testing.T, id uuid.UUID, slug string) []byte {
	t.Helper()
	payload, err := proto.Marshal(&eventspb.LinkChanged{
		LinkId: id[:], WorkspaceId: id[:], Version: 1, Revision: 1, Kind: eventspb.LinkChanged_KIND_CREATED,
		Address: &eventspb.Address{Host: "go.test", Slug: slug, SlugKey: slug}, Destination: "https://e.test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return payload
}
