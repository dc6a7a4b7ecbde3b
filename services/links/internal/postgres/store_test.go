package postgres_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

// Guards I2.
func TestEveryChangeLeavesItsRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	made, err := w.store.Create(ctx, w.workspace, w.fresh(t, "loose.test", "SaLe"))
	if err != nil {
		t.Fatal(err)
	}
	respelled, err := w.store.Update(ctx, w.workspace, made.ID, link.Always, w.edit(t, link.Change{Slug: link.Some("SALE")}))
	if err != nil {
		t.Fatal(err)
	}
	moved, err := w.store.Update(ctx, w.workspace, made.ID, link.Always, w.edit(t, link.Change{Domain: link.Some("go.test"), Title: link.Some("T")}))
	if err != nil {
		t.Fatal(err)
	}
	same, err := w.store.Update(ctx, w.workspace, made.ID, link.Always, w.edit(t, link.Change{Title: link.Some("T")}))
	if err != nil || same.Version != 3 || same.Revision != moved.Revision {
		t.Errorf("a change of nothing gives version %d, %v", same.Version, err)
	}
	if err := w.store.Delete(ctx, w.workspace, made.ID, link.Always); err != nil {
		t.Fatal(err)
	}

	records := w.outbox(t)
	if len(records) != 5 {
		t.Fatalf("got %d records", len(records))
	}
	check := func(n int, kind eventspb.LinkChanged_Kind, version uint64, host, slug, key, previous string) {
		t.Helper()
		ev := records[n].event
		a := ev.GetAddress()
		if ev.GetKind() != kind || ev.GetVersion() != version || a.GetHost() != host || a.GetSlug() != slug || a.GetSlugKey() != key ||
			ev.GetPreviousAddress().GetSlugKey() != previous || records[n].due != 0 || records[n].link != made.ID.UUID {
			t.Errorf("record %d is %v", n, ev)
		}
		if n > 0 && ev.GetRevision() <= records[n-1].event.GetRevision() {
			t.Errorf("record %d has revision %d after %d", n, ev.GetRevision(), records[n-1].event.GetRevision())
		}
	}
	check(0, eventspb.LinkChanged_KIND_CREATED, 1, "loose.test", "SaLe", "sale", "")
	check(1, eventspb.LinkChanged_KIND_UPDATED, 2, "loose.test", "SALE", "sale", "") // the address is the same
	check(2, eventspb.LinkChanged_KIND_UPDATED, 3, "go.test", "SALE", "SALE", "sale")
	check(3, eventspb.LinkChanged_KIND_DELETED, 4, "go.test", "SALE", "SALE", "")
	if records[4].event != nil || records[4].due != tombstoneGrace {
		t.Errorf("the tombstone is %+v", records[4])
	}
	if respelled.Version != 2 || moved.Slug != "SALE" {
		t.Errorf("got %+v", moved)
	}
	if want := changelog.Changed(made, eventspb.LinkChanged_KIND_CREATED); !proto.Equal(records[0].event, want) {
		t.Errorf("the record says %v\nthe caller was told %v", records[0].event, want)
	}
}

// The other half: when one of the two cannot be written, the other is not either.
//
// Guards I2.
func TestAChangeAndItsRecordAreWrittenTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	made, err := w.store.Create(ctx, w.workspace, w.fresh(t, "go.test", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Create(ctx, w.workspace, w.fresh(t, "go.test", "a")); !errors.Is(err, link.ErrSlugTaken) {
		t.Fatalf("a second link at the address: %v", err)
	}
	if n := len(w.outbox(t)); n != 1 {
		t.Errorf("a link that was not stored left a record: there are %d", n)
	}

	for _, statement := range []string{
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
		`CREATE TRIGGER refuse BEFORE INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION refuse()`,
	} {
		if _, err := w.pool.Exec(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.store.Create(ctx, w.workspace, w.fresh(t, "go.test", "b")); err == nil {
		t.Error("a link was created without its record")
	}
	if _, err := w.store.Update(ctx, w.workspace, made.ID, link.Always, w.edit(t, link.Change{Title: link.Some("T")})); err == nil {
		t.Error("a link was changed without its record")
	}
	if err := w.store.Delete(ctx, w.workspace, made.ID, link.Always); err == nil {
		t.Error("a link was deleted without its record")
	}
	page, err := w.store.List(ctx, w.workspace, link.Filter{}, nil, 10)
	if err != nil || len(page.Links) != 1 || page.Links[0].Version != 1 || page.Links[0].Title != made.Title {
		t.Errorf("the links are now %+v, %v; want the first one as it was", page.Links, err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range [][2]string{{"go.test", "Sale"}, {"loose.test", "Sale"}, {"go.test", "café/❤️"}} {
		if _, err := w.store.Create(t.Context(), w.workspace, w.fresh(t, a[0], a[1])); err != nil {
			t.Fatal(err)
		}
	}
	check := func(host, slug string, found bool) {
		t.Helper()
		l, err := w.store.Resolve(t.Context(), host, slug)
		if found != (err == nil) || err != nil && !errors.Is(err, link.ErrNotFound) {
			t.Errorf("%s/%s: %v, %v", host, slug, l, err)
		}
	}
	check("go.test", "Sale", true)
	check("go.test", "sale", false)
	check("loose.test", "sale", true)
	check("loose.test", "SALE", true)
	check("GO.test.:8080", "Sale", true)
	check("go.test", "Sale/", true)
	check("go.test", "cafe\u0301/❤", true)
	check("other.test", "Sale", false)
	check("go.test", "", false)
	check("go.test", "a\x00b", false)
}

// Guards I17.
func TestAnotherWorkspaceSeesAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := w.store.Create(t.Context(), w.workspace, w.fresh(t, "go.test", "a"))
	if err != nil {
		t.Fatal(err)
	}
	other := uuid.New()
	_, err1 := w.store.Get(t.Context(), other, l.ID)
	_, err2 := w.store.Update(t.Context(), other, l.ID, link.Always, w.edit(t, link.Change{Title: link.Some("x")}))
	err3 := w.store.Delete(t.Context(), other, l.ID, link.Always)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, link.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
	if page, err := w.store.List(t.Context(), other, link.Filter{}, nil, 10); err != nil || len(page.Links) != 0 {
		t.Errorf("got %v, %v", page, err)
	}
}

func TestAnOldRowIsNotJudged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := w.store.Create(t.Context(), w.workspace, w.fresh(t, "go.test", "a"))
	if err != nil {
		t.Fatal(err)
	}
	// As an earlier release with other rules might have left it.
	if _, err := w.pool.Exec(t.Context(), `UPDATE links SET slug = 'api', slug_key = 'api', destination = 'gopher://go.test' WHERE id = $1`, l.ID); err != nil {
		t.Fatal(err)
	}
	got, err := w.store.Update(t.Context(), w.workspace, l.ID, link.Always, w.edit(t, link.Change{Tags: link.Some([]string{"x"})}))
	if err != nil || got.Slug != "api" || !slices.Equal(got.Tags, []string{"x"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// The row that an edit waited for may live on another domain afterwards.
func TestAnEditWaitsForAMoveToAnotherDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	l, err := w.store.Create(ctx, w.workspace, w.fresh(t, "go.test", "a"))
	if err != nil {
		t.Fatal(err)
	}
	move, err := w.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := move.Exec(ctx, `UPDATE links SET version = 2, domain_id = (SELECT id FROM domains WHERE host = 'loose.test') WHERE id = $1`, l.ID); err != nil {
		t.Fatal(err)
	}
	change := w.edit(t, link.Change{Title: link.Some("T")})
	edited := make(chan error, 1)
	go func() {
		_, err := w.store.Update(ctx, w.workspace, l.ID, link.Always, change)
		edited <- err
	}()
	w.waiting(t, 1)
	if err := move.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-edited; err != nil {
		t.Fatal(err)
	}
	got, err := w.store.Get(ctx, w.workspace, l.ID)
	if err != nil || got.Domain.Host != "loose.test" || got.Title != "T" || got.Version != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestABadURLIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:secret@[::1", "nonsense"} {
		if err := postgres.CheckURL(url); !errors.Is(err, postgres.ErrBadURL) || len(err.Error()) > 40 {
			t.Errorf("%q: %v", url, err)
		}
	}
	// A database that is away is no mistake of the settings, and no server error.
	pool, err := postgres.Open(t.Context(), "postgres://u@127.0.0.1:1/x", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	start := time.Now()
	if _, err := postgres.New(pool, "go.test", 0).Get(t.Context(), uuid.New(), link.ID{}); !errors.Is(err, link.ErrUnavailable) {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
}

// Whoever is the first on a connection does not wait for the statement of the edges to be
// prepared, nor for a connection: some are there before anybody asks.
func TestConnectionsAreWarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	var prepared int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%l.slug_key = CASE WHEN d.case_sensitive%' AND statement NOT LIKE '%pg_prepared%'").Scan(&prepared); err != nil || prepared != 1 {
		t.Errorf("the statement is prepared %d times (%v)", prepared, err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); w.pool.Stat().IdleConns() < 8; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are idle, want 8", w.pool.Stat().IdleConns())
		}
	}
}

// A lock whose holder has vanished is free again soon, and nothing waits for ever.
func TestConnectionsHaveLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for setting, want := range map[string]string{
		"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
		"statement_timeout": "10s", "idle_in_transaction_session_timeout": "30s",
	} {
		var got string
		if err := w.pool.QueryRow(t.Context(), "SHOW "+setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", setting, got, err, want)
		}
	}
}

// The release before wrote rows without the columns that have come since.
func TestRowsOfAnEarlierReleaseAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, err := link.NewID()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), `INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, title, notes, tags,
			status_code, starts_at, expires_at, fallback_url, archived, version, revision, created_at, updated_at, forward_query)
		SELECT $1, $2, d.id, 's', 's', 'https://e.test/1', '', '', '{}', 302, NULL, NULL, '', false, 1, nextval('link_revision_seq'), now(), now(), 'off'
		FROM domains d WHERE host = 'go.test'`, id, w.workspace); err != nil {
		t.Fatal(err)
	}
	l, err := w.store.Get(t.Context(), w.workspace, id)
	if err != nil || l.Disabled || l.MaxClicks != 0 || l.Password.IsSet() || !l.Options.IsZero() {
		t.Fatalf("got %+v, %v", l, err)
	}
	// And one of the next, whose options have members that this one does not know.
	if _, err := w.pool.Exec(t.Context(), `UPDATE links SET options = '{"forward_path": true, "later": {"a": 1}, "utm": {"source": "s", "later": 1}}' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	if l, err = w.store.Get(t.Context(), w.workspace, id); err != nil || !l.Options.ForwardPath || l.Options.UTM.Source != "s" {
		t.Errorf("got %+v, %v", l, err)
	}
}
