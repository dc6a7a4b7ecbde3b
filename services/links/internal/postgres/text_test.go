package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// Links are found by their text at once, however they were made, and by the text that
// they have now.
//
// Guards I60.
func TestALinkIsFoundByItsTextAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	found := func(when, text string, want ...string) {
		t.Helper()
		page, err := w.store.List(ctx, w.workspace, link.Filter{Query: text}, nil, 10)
		got := []string{}
		for i := range page.Links {
			got = append(got, page.Links[i].Slug)
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %q finds %q, %v; want %q", when, text, got, err, want)
		}
	}
	unread := func(when string, want int) {
		t.Helper()
		var n int
		if err := w.pool.QueryRow(ctx, `SELECT count(*) FROM links WHERE text_id IS NULL`).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d texts are unread, %v; want %d", when, n, err, want)
		}
	}
	row := func(slug, title string) link.New {
		c, err := w.rules.CheckNew(link.Change{Destination: link.Some("https://e.test/" + slug), Slug: link.Some(slug), Title: link.Some(title), Domain: link.Some("go.test")})
		if err != nil {
			t.Fatal(err)
		}
		id, err := link.NewID()
		if err != nil {
			t.Fatal(err)
		}
		return link.New{WorkspaceID: w.workspace, ID: id, Checked: c}
	}
	var rows []link.New
	for i := range 600 {
		rows = append(rows, row(fmt.Sprintf("many%d", i), fmt.Sprintf("Größe %d needle", i)))
	}
	for i, o := range w.store.MakeMany(ctx, rows) {
		if o.Err != nil {
			t.Fatal(i, o.Err)
		}
	}
	unread("made together", 0)
	found("made together", "Größe 77 NEEDLE", "many77")
	found("made together", "many599", "many599")
	found("made together", "e.test/many0", "many0")
	found("made together", "no such text")

	one := w.store.Make(ctx, row("single", "A haystack"))
	if one.Err != nil {
		t.Fatal(one.Err)
	}
	unread("made alone", 1)
	found("made alone", "haystack", "single")

	edited := rows[77]
	if _, err := w.store.Update(ctx, w.workspace, edited.ID, link.Always, w.edit(t, link.Change{Title: link.Some("Another haystack")})); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Update(ctx, w.workspace, rows[78].ID, link.Always, w.edit(t, link.Change{Notes: link.Some("no text")})); err != nil {
		t.Fatal(err)
	}
	unread("edited", 2)
	found("edited", "haystack", "single", "many77")
	found("edited", "Größe 77 n")

	// Enough that came one by one are read together, once.
	if n, err := w.store.ReadTexts(ctx); n != 0 || err != nil {
		t.Errorf("two texts: %d were read, %v", n, err)
	}
	if _, err := w.pool.Exec(ctx, `UPDATE links SET text_id = NULL WHERE slug <> 'many1'`); err != nil {
		t.Fatal(err)
	}
	found("unread", "haystack", "single", "many77")
	if n, err := w.store.ReadTexts(ctx); n != 500 || err != nil {
		t.Errorf("%d were read, %v", n, err)
	}
	if n, err := w.store.ReadTexts(ctx); n != 0 || err != nil {
		t.Errorf("again: %d were read, %v", n, err)
	}
	unread("read", 100)
	found("read", "haystack", "single", "many77")
	found("read", "many599", "many599")
	if err := w.store.Delete(ctx, w.workspace, edited.ID, link.Always); err != nil {
		t.Fatal(err)
	}
	found("deleted", "haystack", "single")
}

// What a foreign key would promise.
//
// Guards I59.
func TestALinkHasItsDomainAndItsWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.store.Create(t.Context(), w.workspace, w.fresh(t, "go.test", "a")); err != nil {
		t.Fatal(err)
	}
	violated := func(statement string, err error) {
		t.Helper()
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "23503" {
			t.Errorf("%s: %v; want a foreign key's violation", statement, err)
		}
	}
	refused := func(statement string) {
		t.Helper()
		_, err := w.pool.Exec(t.Context(), statement)
		violated(statement, err)
	}
	refused(`UPDATE links SET domain_id = gen_random_uuid()`)
	refused(`UPDATE links SET workspace_id = gen_random_uuid()`)
	refused(`DELETE FROM domains WHERE host = 'go.test'`)
	refused(`UPDATE domains SET id = gen_random_uuid() WHERE host = 'go.test'`)
	refused(`DELETE FROM workspaces`)
	refused(`UPDATE workspaces SET id = gen_random_uuid()`)
	refused(`INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, version, revision)
		SELECT gen_random_uuid(), workspace_id, gen_random_uuid(), 'b', 'b', destination, 1, 1 FROM links`)
	refused(`INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, version, revision)
		SELECT gen_random_uuid(), gen_random_uuid(), domain_id, 'b', 'b', destination, 1, 1 FROM links`)

	// Whoever deletes a domain waits for a link that is being made.
	tx, err := w.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec(t.Context(), `INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, version, revision)
		SELECT gen_random_uuid(), $1, id, 'c', 'c', 'https://e.test', 1, 1 FROM domains WHERE host = 'loose.test'`, w.workspace)
	if err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	go func() {
		_, err := w.pool.Exec(t.Context(), `DELETE FROM domains WHERE host = 'loose.test'`)
		deleted <- err
	}()
	w.waiting(t, 1)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	violated("the deletion of a domain with a link", <-deleted)
}
