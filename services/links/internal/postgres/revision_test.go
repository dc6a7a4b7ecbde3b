package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

// Invariant I1: revisions grow per address in commit order. Many writers create,
// rename, edit and delete links on a handful of addresses. If every revision was
// taken while its addresses were locked, then replaying all records in the order of
// their revisions is a possible history, and ends at what the table holds.
//
// Guards I1.
func TestRevisionsGrowPerAddressWhateverRunsAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const writers, rounds = 8, 60
	slugs := []string{"a", "b", "c", "d"}
	var wg sync.WaitGroup
	for n := range writers {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		wg.Go(func() {
			for range rounds {
				if err := w.randomChange(t.Context(), random, slugs); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()

	records := slices.DeleteFunc(w.outbox(t), func(r record) bool { return r.event == nil })
	checkVersionsPerLink(t, records)
	slices.SortFunc(records, func(a, b record) int { return int(a.event.GetRevision()) - int(b.event.GetRevision()) })
	lives := replay(t, records)

	page, err := w.store.List(t.Context(), w.workspace, link.Filter{}, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]uuid.UUID{}
	for _, l := range page.Links {
		stored[l.SlugKey] = l.ID.UUID
	}
	if fmt.Sprint(lives) != fmt.Sprint(stored) {
		t.Errorf("replayed %v\nstored   %v", lives, stored)
	}
	t.Logf("%d records, %d links left", len(records), len(stored))
}

// randomChange does one thing to the few addresses. What fails because somebody
// else was faster is fine.
func (w *world) randomChange(ctx context.Context, random *rand.Rand, slugs []string) error {
	slug := slugs[random.IntN(len(slugs))]
	c, err := w.rules.CheckNew(link.Change{Destination: link.Some("https://e.test/1"), Slug: link.Some(slug)})
	if err != nil {
		return err
	}
	page, err := w.store.List(ctx, w.workspace, link.Filter{}, nil, 100)
	if err != nil {
		return err
	}
	what := random.IntN(5)
	if what == 4 {
		return w.makeAll(ctx, random, slugs)
	}
	if len(page.Links) == 0 {
		what = 0
	}
	var id link.ID
	if what > 0 {
		id = page.Links[random.IntN(len(page.Links))].ID
	}
	switch what {
	case 0:
		_, err = w.store.Create(ctx, w.workspace, c)
	case 1:
		err = w.store.Delete(ctx, w.workspace, id, link.Always)
	case 2:
		c, err = w.rules.CheckEdit(link.Change{Slug: link.Some(slug)})
		if err == nil {
			_, err = w.store.Update(ctx, w.workspace, id, link.Always, c)
		}
	default:
		c, err = w.rules.CheckEdit(link.Change{Title: link.Some(strconv.FormatUint(random.Uint64(), 10))})
		if err == nil {
			_, err = w.store.Update(ctx, w.workspace, id, link.Always, c)
		}
	}
	if errors.Is(err, link.ErrSlugTaken) || errors.Is(err, link.ErrNotFound) {
		return nil
	}
	return err // a deadlock would be here
}

// makeAll asks for all addresses at once, in any order, some by looking first.
func (w *world) makeAll(ctx context.Context, random *rand.Rand, slugs []string) error {
	rows := make([]link.New, 0, len(slugs))
	for _, i := range random.Perm(len(slugs)) {
		c, err := w.rules.CheckNew(link.Change{Destination: link.Some("https://e.test/1"), Slug: link.Some(slugs[i])})
		if err != nil {
			return err
		}
		id, err := link.NewID()
		if err != nil {
			return err
		}
		rows = append(rows, link.New{WorkspaceID: w.workspace, ID: id, Checked: c, FindFirst: i%2 == 0})
	}
	for _, made := range w.store.MakeMany(ctx, rows) {
		if made.Err != nil && !errors.Is(made.Err, link.ErrSlugTaken) {
			return made.Err
		}
	}
	return nil
}

// checkVersionsPerLink: the outbox's order is each link's order.
func checkVersionsPerLink(t *testing.T, records []record) {
	t.Helper()
	last := map[uuid.UUID]*eventspb.LinkChanged{}
	for _, r := range records {
		if before := last[r.link]; r.event.GetVersion() != before.GetVersion()+1 || r.event.GetRevision() <= before.GetRevision() {
			t.Errorf("link %s: version %d revision %d follows version %d revision %d", r.link,
				r.event.GetVersion(), r.event.GetRevision(), before.GetVersion(), before.GetRevision())
		}
		last[r.link] = r.event
	}
}

// replay plays the records in their order and returns which link lives where.
func replay(t *testing.T, records []record) map[string]uuid.UUID {
	t.Helper()
	lives := map[string]uuid.UUID{}
	for _, r := range records {
		here := r.event.GetAddress().GetSlugKey()
		from := here
		if previous := r.event.GetPreviousAddress(); previous != nil {
			from = previous.GetSlugKey()
		}
		expected := lives[from] == r.link
		if r.event.GetKind() == eventspb.LinkChanged_KIND_CREATED {
			expected = lives[here] == uuid.Nil
		}
		if from != here && lives[here] != uuid.Nil {
			expected = false
		}
		if !expected {
			t.Errorf("impossible history: %v while the addresses hold %v", r.event, lives)
		}
		delete(lives, from)
		if r.event.GetKind() != eventspb.LinkChanged_KIND_DELETED {
			lives[here] = r.link
		}
	}
	return lives
}

// Invariant I1, the one interleaving that matters: a rename that begins first gets
// the address last, after another link came and went there.
//
// Guards I1.
func TestARevisionIsTakenAfterTheWaitForTheAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	mover, err := w.store.Create(ctx, w.workspace, w.fresh(t, "go.test", "from"))
	if err != nil {
		t.Fatal(err)
	}
	// An address whose lock comes after the one of "from", which the test holds.
	target := *mover
	for n := 0; postgres.AddressKey(&target) <= postgres.AddressKey(mover); n++ {
		target.Slug = fmt.Sprintf("to%d", n)
		target.SlugKey = target.Slug
	}
	gate, err := w.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, postgres.AddressKey(mover)); err != nil {
		t.Fatal(err)
	}
	rename := w.edit(t, link.Change{Slug: link.Some(target.Slug)})
	renamed := make(chan error, 1)
	go func() {
		_, err := w.store.Update(ctx, w.workspace, mover.ID, link.Always, rename)
		renamed <- err
	}()
	w.waiting(t, 1)
	guest, err := w.store.Create(ctx, w.workspace, w.fresh(t, "go.test", target.Slug))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Delete(ctx, w.workspace, guest.ID, link.Always); err != nil {
		t.Fatal(err)
	}
	if err := gate.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-renamed; err != nil {
		t.Fatal(err)
	}
	arrived, err := w.store.Get(ctx, w.workspace, mover.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range w.outbox(t) {
		if r.link == guest.ID.UUID && r.event.GetRevision() >= arrived.Revision {
			t.Errorf("the address was left at revision %d and taken at %d", r.event.GetRevision(), arrived.Revision)
		}
	}
}

// waiting waits until n transactions wait for a lock.
func (w *world) waiting(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var got int
		err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&got)
		if err != nil {
			t.Fatal(err)
		}
		if got == n {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d transactions wait, want %d", got, n)
		case <-tick.C:
		}
	}
}
