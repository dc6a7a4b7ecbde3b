package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

func (w *world) domain(t *testing.T, host string, caseSensitive bool) *link.DomainRecord {
	t.Helper()
	c, err := w.rules.CheckNewDomain(link.DomainChange{Host: link.Some(host), CaseSensitive: link.Some(caseSensitive)})
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.store.MakeDomain(t.Context(), link.NewDomain{WorkspaceID: w.workspace, ID: uuid.New(), Checked: c})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whatever races with a change of the case rule, a link is found by the rule that its
// domain ends up with; and no link outlives its domain.
//
// Guards I50.
func TestLinksAreStoredUnderTheirDomainsRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round := range 20 {
		d := w.domain(t, fmt.Sprintf("d%d.test", round), true)
		folding, err := w.rules.CheckDomainEdit(link.DomainChange{CaseSensitive: link.Some(false)})
		if err != nil {
			t.Fatal(err)
		}
		moved, err := w.store.Create(t.Context(), w.workspace, w.fresh(t, "go.test", fmt.Sprint("Move", round)))
		if err != nil {
			t.Fatal(err)
		}
		var racing sync.WaitGroup
		expect := func(what string, err error, allowed ...any) {
			for _, target := range allowed {
				if err == nil || errors.As(err, target) {
					return
				}
			}
			t.Errorf("%s: %v", what, err)
		}
		for i := range 3 {
			fresh := w.fresh(t, d.Host, fmt.Sprint("Slug", i))
			racing.Go(func() {
				_, err := w.store.Create(t.Context(), w.workspace, fresh)
				expect("creating", err, new(link.FieldErrors))
			})
		}
		there := w.edit(t, link.Change{Domain: link.Some(d.Host)})
		racing.Go(func() {
			_, err := w.store.Update(t.Context(), w.workspace, moved.ID, link.Always, there)
			expect("moving", err, new(link.FieldErrors))
		})
		racing.Go(func() {
			_, err := w.store.EditDomain(t.Context(), w.workspace, d.ID, link.Always, folding)
			if !errors.Is(err, link.ErrNotFound) {
				expect("changing the rule", err, new(*link.DomainInUseError))
			}
		})
		if round%2 == 1 {
			racing.Go(func() {
				err := w.store.DeleteDomain(t.Context(), w.workspace, d.ID, link.Always)
				if !errors.Is(err, link.ErrNotFound) {
					expect("deleting", err, new(*link.DomainInUseError))
				}
			})
		}
		racing.Wait()
	}
	var wrong int
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM links l JOIN domains d ON d.id = l.domain_id
		WHERE (l.slug_key = l.slug) <> d.case_sensitive`).Scan(&wrong); err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("%d links are stored under the other rule", wrong)
	}
}

// Edges ask for what is newer than they have: a revision is that of the state they get.
func TestTheTableOfDomainsIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.store.DomainTable(t.Context(), 0)
	if err != nil || first == nil || len(first.GetDomains()) != 2 || first.GetDomains()[1].GetHost() != "loose.test" || !first.GetDomains()[1].GetFoldCase() {
		t.Fatalf("got %v, %v", first, err)
	}
	if again, err := w.store.DomainTable(t.Context(), first.GetRevision()); again != nil || err != nil {
		t.Errorf("told again: %v, %v", again, err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { w.domain(t, fmt.Sprintf("n%d.test", i), true) })
	}
	all.Wait()
	// By hand, too.
	if _, err := w.pool.Exec(t.Context(), `UPDATE domains SET home_url = 'https://home.test/', preview_pages = false WHERE host = 'go.test'`); err != nil {
		t.Fatal(err)
	}
	next, err := w.store.DomainTable(t.Context(), first.GetRevision())
	if err != nil || len(next.GetDomains()) != 10 || next.GetRevision() != first.GetRevision()+9 || next.GetDomains()[0].GetHomeUrl() != "https://home.test/" ||
		!next.GetDomains()[0].GetNoPreview() || next.GetDomains()[1].GetNoPreview() {
		t.Errorf("got %v, %v", next, err)
	}
	if _, err := w.pool.Exec(t.Context(), `DELETE FROM domains`); err != nil {
		t.Fatal(err)
	}
	if none, err := w.store.DomainTable(t.Context(), next.GetRevision()); err != nil || none == nil || len(none.GetDomains()) != 0 || none.GetRevision() <= next.GetRevision() {
		t.Errorf("got %v, %v", none, err)
	}
}
