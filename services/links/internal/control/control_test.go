package control_test

import (
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/links/internal/control"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

// Guards I24.
func TestAPurgeReachesTheEdgesOfEveryProcess(t *testing.T) {
	w := newWorld(t, 2)
	w.listen(t)
	here, there := newEdge(t, w.processes[0], "fra", "redirect-fra-0"), newEdge(t, w.processes[1], "ash", "redirect-ash-0")
	here.serve(t, w, done)
	there.serve(t, w, done)
	l := w.create(t, "a")
	for range 3 {
		got, err := w.processes[0].Purge(t.Context(), w.workspace, l.ID)
		if err != nil || got.Version != 1 || got.Live() != 2 || got.Done() != 2 || got.Took <= 0 || got.Took > patience {
			t.Fatalf("Purge gives %+v, %v", got, err)
		}
		for i, region := range []string{"ash", "fra"} {
			if r := got.Regions[i]; r.Name != region || r.Live != 1 || r.Done != 1 || r.Redis != control.RedisDone || r.Took <= 0 {
				t.Errorf("region %s: %+v", region, r)
			}
		}
	}
	for _, e := range []*edge{here, there} {
		commands := e.commands()
		if len(commands) != 3 {
			t.Fatalf("%s saw %d commands, want 3", e.id.GetName(), len(commands))
		}
		links := commands[0].GetLinks()
		if commands[0].GetKind() != controlv1.Command_KIND_PURGE || len(links) != 1 || links[0].GetDestination() != "https://e.test/a" || links[0].GetRevision() != l.Revision {
			t.Errorf("%s was sent %v", e.id.GetName(), commands[0])
		}
	}
	if got := facttest.Metric(t, w.processes[0].registry, "edge_commands_total", "purge"); got != 3 {
		t.Errorf("edge_commands_total is %v, want 3", got)
	}
}

// Notifications are a wake-up only.
func TestWithoutNotificationsAPurgeArrivesByThePolls(t *testing.T) {
	w := newWorld(t, 2)
	e := newEdge(t, w.processes[1], "fra", "redirect-fra-0")
	e.serve(t, w, done)
	got, err := w.processes[0].Purge(t.Context(), w.workspace, w.create(t, "a").ID)
	if err != nil || got.Done() != 1 {
		t.Errorf("Purge gives %+v, %v", got, err)
	}
}

// Guards I24.
func TestAnEdgeThatIsSilentIsWaitedForAndCounted(t *testing.T) {
	w := newWorld(t, 1)
	w.listen(t)
	p := w.processes[0]
	newEdge(t, p, "fra", "redirect-fra-0").serve(t, w, done)
	silent := newEdge(t, p, "fra", "redirect-fra-1")
	stop := silent.serve(t, w, nil)
	l := w.create(t, "a")
	got, err := p.Purge(t.Context(), w.workspace, l.ID)
	if err != nil || got.Live() != 2 || got.Done() != 1 || got.Took < patience || got.Regions[0].Redis != control.RedisDone {
		t.Errorf("Purge gives %+v, %v", got, err)
	}
	if n := facttest.Metric(t, p.registry, "edge_commands_unconfirmed_total", "purge"); n != 1 {
		t.Errorf("edge_commands_unconfirmed_total is %v, want 1", n)
	}
	stop()
	// It says no more. After a while it is not live, and nobody waits.
	w.exec(t, `UPDATE edges SET seen_at = seen_at - $2::interval WHERE instance = $1`, silent.id.GetInstance(), postgres.LiveFor)
	if got, err = p.Purge(t.Context(), w.workspace, l.ID); err != nil || got.Live() != 1 || got.Done() != 1 || got.Took > patience {
		t.Errorf("Purge gives %+v, %v", got, err)
	}
	// It comes back, and is told of both.
	if missed := silent.poll(t, true); len(missed) != 2 {
		t.Errorf("it is told of %d purges, want 2", len(missed))
	}
}

func TestWithoutEdgesAPurgeIsDoneAtOnce(t *testing.T) {
	w := newWorld(t, 1)
	got, err := w.processes[0].Purge(t.Context(), w.workspace, w.create(t, "a").ID)
	if err != nil || got.Live() != 0 || got.Done() != 0 || len(got.Regions) != 0 || got.Took > patience {
		t.Errorf("Purge gives %+v, %v", got, err)
	}
}

func TestARegionWhoseRedisIsAwayIsNamed(t *testing.T) {
	w := newWorld(t, 1)
	w.listen(t)
	p := w.processes[0]
	newEdge(t, p, "ash", "redirect-ash-0").serve(t, w, &controlv1.ConfirmRequest{MemoryDone: true})
	newEdge(t, p, "fra", "redirect-fra-0").serve(t, w, done)
	newEdge(t, p, "sgp", "redirect-sgp-0").serve(t, w, nil)
	got, err := p.Purge(t.Context(), w.workspace, w.create(t, "a").ID)
	if err != nil || got.Live() != 3 || got.Done() != 2 || len(got.Regions) != 3 {
		t.Fatalf("Purge gives %+v, %v", got, err)
	}
	for i, want := range []control.RedisState{control.RedisUnreachable, control.RedisDone, control.RedisUnconfirmed} {
		if got.Regions[i].Redis != want {
			t.Errorf("%s: %s, want %s", got.Regions[i].Name, got.Regions[i].Redis, want)
		}
	}
	// Until the region's Redis is done, whoever catches up there is told, also a process
	// that has started since.
	fresh := newEdge(t, p, "ash", "redirect-ash-1")
	fresh.age = 0
	w.exec(t, `UPDATE edge_commands SET created_at = created_at - interval '2 hours'`)
	commands := fresh.poll(t, true)
	if len(commands) != 1 {
		t.Fatalf("a new edge of the region is told of %d purges, want 1", len(commands))
	}
	if _, err := fresh.rpc.Confirm(t.Context(), &controlv1.ConfirmRequest{CommandId: commands[0].GetId(), Edge: fresh.id, MemoryDone: true, RedisDone: true}); err != nil {
		t.Fatal(err)
	}
	next := newEdge(t, p, "ash", "redirect-ash-2")
	next.age = 0
	if len(next.poll(t, true)) != 0 {
		t.Error("the region is done, and its next new edge is told as well")
	}
}

// An edge that was cut off for an hour: its memory may hold what was purged meanwhile.
//
// Guards I24.
func TestAnEdgeThatWasCutOffIsToldWhatItMissed(t *testing.T) {
	w := newWorld(t, 1)
	p := w.processes[0]
	old, fresh := newEdge(t, p, "fra", "redirect-fra-0"), newEdge(t, p, "fra", "redirect-fra-1")
	old.age, fresh.age = uint64((3 * time.Hour).Milliseconds()), uint64((10 * time.Minute).Milliseconds())
	newEdge(t, p, "fra", "redirect-fra-2").serve(t, w, done) // has replaced the copy in Redis
	w.listen(t)
	l := w.create(t, "a")
	if _, err := p.Purge(t.Context(), w.workspace, l.ID); err != nil {
		t.Fatal(err)
	}
	if got := old.poll(t, false); len(got) != 1 {
		t.Errorf("a recent purge: told of %d, want 1", len(got))
	}
	w.exec(t, `UPDATE edge_commands SET created_at = created_at - interval '1 hour'`)
	if got := old.poll(t, false); len(got) != 0 {
		t.Errorf("without catching up it is told of %d, want 0: it would be looked for all the time", len(got))
	}
	if got := old.poll(t, true); len(got) != 1 {
		t.Errorf("catching up it is told of %d, want 1", len(got))
	}
	if got := fresh.poll(t, true); len(got) != 0 {
		t.Errorf("a process that started after the purge is told of %d, want 0", len(got))
	}
}

func TestAPrewarmIsForTheLiveEdgesOnly(t *testing.T) {
	w := newWorld(t, 1)
	w.listen(t)
	p := w.processes[0]
	here := newEdge(t, p, "fra", "redirect-fra-0")
	here.serve(t, w, done)
	l := w.create(t, "a")
	got, err := p.Prewarm(t.Context(), w.workspace, l.ID)
	if err != nil || got.Version != 1 || got.Live() != 1 || got.Done() != 1 || got.Regions[0].Redis != control.RedisDone {
		t.Errorf("Prewarm gives %+v, %v", got, err)
	}
	if commands := here.commands(); len(commands) != 1 || commands[0].GetKind() != controlv1.Command_KIND_PREWARM {
		t.Errorf("the edge was sent %v", commands)
	}
	if late := newEdge(t, p, "fra", "redirect-fra-1"); len(late.poll(t, true)) != 0 {
		t.Error("an edge that came later is told to warm")
	}
}

// A purge by id covers what caches may hold of the link anywhere.
//
// Guards I22.
func TestAPurgeCoversEveryAddressThatTheLinkHasLeft(t *testing.T) {
	w := newWorld(t, 1)
	w.listen(t)
	p := w.processes[0]
	e := newEdge(t, p, "fra", "redirect-fra-0")
	e.serve(t, w, done)
	rules := link.Rules{}
	l := w.create(t, "first")
	for _, slug := range []string{"second", "third"} {
		c, err := rules.CheckEdit(link.Change{Slug: link.Some(slug)})
		if err != nil {
			t.Fatal(err)
		}
		if l, err = p.store.Update(t.Context(), w.workspace, l.ID, link.Always, c); err != nil {
			t.Fatal(err)
		}
	}
	other := w.create(t, "first") // another link has the address by now
	sent := func() map[string]*eventspb.LinkChanged {
		t.Helper()
		before := len(e.commands())
		if got, err := p.Purge(t.Context(), w.workspace, l.ID); err != nil || got.Done() != 1 {
			t.Fatalf("Purge gives %+v, %v", got, err)
		}
		bySlug := map[string]*eventspb.LinkChanged{}
		for _, s := range e.commands()[before].GetLinks() {
			bySlug[s.GetAddress().GetSlugKey()] = s
		}
		return bySlug
	}
	check := func(states map[string]*eventspb.LinkChanged, slug, destination string, revision uint64) {
		t.Helper()
		s := states[slug]
		if s.GetAddress().GetHost() != "go.test" || s.GetRevision() != revision || s.GetDestination() != destination || (s.GetKind() == eventspb.LinkChanged_KIND_DELETED) != (destination == "") {
			t.Errorf("%s: %v, want %q at %d", slug, s, destination, revision)
		}
	}
	states := sent()
	if len(states) != 3 {
		t.Errorf("%d addresses, want 3", len(states))
	}
	check(states, "first", "https://e.test/first", other.Revision)
	check(states, "second", "", l.Revision)
	check(states, "third", "https://e.test/first", l.Revision)

	// A take-down after the deletion is exactly what a purge is for.
	if err := p.store.Delete(t.Context(), w.workspace, l.ID, link.Always); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Prewarm(t.Context(), w.workspace, l.ID); !errors.Is(err, link.ErrNotFound) {
		t.Errorf("Prewarm of a deleted link: %v", err)
	}
	got, err := p.Purge(t.Context(), w.workspace, l.ID)
	if err != nil || got.Version != l.Version+1 {
		t.Errorf("Purge of a deleted link gives %+v, %v; want version %d", got, err, l.Version+1)
	}
	states = sent()
	check(states, "first", "https://e.test/first", other.Revision)
	check(states, "second", "", l.Revision)
	if s := states["third"]; s.GetKind() != eventspb.LinkChanged_KIND_DELETED || s.GetRevision() <= l.Revision {
		t.Errorf("third: %v, want its deletion", s)
	}

	if _, err := p.Purge(t.Context(), uuid.New(), l.ID); !errors.Is(err, link.ErrNotFound) {
		t.Errorf("another workspace's purge: %v", err)
	}
	w.exec(t, `UPDATE left_addresses SET left_at = left_at - interval '49 hours'`)
	if err := p.store.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Purge(t.Context(), w.workspace, l.ID); !errors.Is(err, link.ErrNotFound) {
		t.Errorf("a link that nobody remembers: %v", err)
	}
}

func TestAnEdgeThatLeavesOrIsReplacedIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, 1)
	p := w.processes[0]
	live := func(want int) {
		t.Helper()
		id, err := p.store.Command(t.Context(), &controlv1.Command{Kind: controlv1.Command_KIND_PURGE})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.store.Confirmations(t.Context(), id); err != nil || len(got) != want {
			t.Errorf("%d edges are waited for, %v; want %d", len(got), err, want)
		}
	}
	one, two := newEdge(t, p, "fra", "redirect-fra-0"), newEdge(t, p, "fra", "redirect-fra-1")
	one.poll(t, false)
	two.poll(t, false)
	live(2)
	if _, err := one.rpc.Leave(t.Context(), &controlv1.LeaveRequest{Edge: one.id}); err != nil {
		t.Fatal(err)
	}
	live(1)
	// Killed, and started again under its name.
	w.exec(t, `UPDATE edges SET seen_at = seen_at - interval '2 seconds'`)
	newEdge(t, p, "fra", "redirect-fra-1").poll(t, false)
	live(1)
}

func TestOldCommandsAreForgotten(t *testing.T) {
	w := newWorld(t, 1)
	p := w.processes[0]
	e := newEdge(t, p, "fra", "redirect-fra-0")
	e.poll(t, false)
	if _, err := p.store.Command(t.Context(), &controlv1.Command{Kind: controlv1.Command_KIND_PURGE}); err != nil {
		t.Fatal(err)
	}
	w.exec(t, `UPDATE edge_commands SET created_at = created_at - interval '26 hours'`)
	w.exec(t, `UPDATE edges SET seen_at = seen_at - interval '26 hours'`)
	if err := p.store.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"edges", "edge_commands", "edge_confirmations"} {
		var n int
		if err := p.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
	// A confirmation that comes too late is no error.
	if _, err := e.rpc.Confirm(t.Context(), &controlv1.ConfirmRequest{CommandId: 1, Edge: e.id}); err != nil {
		t.Error(err)
	}
}

func TestAnEdgeWithoutANameIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	e := newEdge(t, w.processes[0], "fra", "")
	_, err := e.rpc.Poll(t.Context(), &controlv1.PollRequest{Edge: e.id})
	var code *connect.Error
	if !errors.As(err, &code) || code.Code() != connect.CodeInvalidArgument {
		t.Errorf("Poll gives %v", err)
	}
}

// Edges hear of a domain by the poll that they have open, whichever process it is at.
// An edge of an earlier release does not ask, and is not told.
func TestPollsEndWithANewerTableOfDomains(t *testing.T) {
	w := newWorld(t, 2)
	w.listen(t)
	e := newEdge(t, w.processes[1], "fra", "redirect-fra-0")
	ask := func(revision uint64) *controlv1.DomainTable {
		t.Helper()
		answer, err := e.rpc.Poll(t.Context(), &controlv1.PollRequest{Edge: e.id, AgeMs: e.age, Domains: &controlv1.DomainsRequest{Revision: revision}})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetDomains()
	}
	first := ask(0)
	if first == nil || len(first.GetDomains()) != 1 || first.GetDomains()[0].GetHost() != "go.test" {
		t.Fatalf("the first poll brings %v", first)
	}
	told := make(chan *controlv1.DomainTable, 1)
	go func() {
		answer, _ := e.rpc.Poll(t.Context(), &controlv1.PollRequest{Edge: e.id, AgeMs: e.age, Domains: &controlv1.DomainsRequest{Revision: first.GetRevision()}})
		told <- answer.GetDomains()
	}()
	w.exec(t, `INSERT INTO domains (id, host, case_sensitive, home_url, fallback_url) VALUES (gen_random_uuid(), 'b.test', false, 'https://h.test/', 'https://f.test/')`)
	next := <-told
	if next == nil || len(next.GetDomains()) != 2 || next.GetRevision() <= first.GetRevision() {
		t.Fatalf("the next poll brings %v", next)
	}
	if b := next.GetDomains()[0]; b.GetHost() != "b.test" || !b.GetFoldCase() || b.GetHomeUrl() != "https://h.test/" || b.GetFallbackUrl() != "https://f.test/" {
		t.Errorf("it brings %v", b)
	}
	answer, err := e.rpc.Poll(t.Context(), &controlv1.PollRequest{Edge: e.id, AgeMs: e.age})
	if err != nil || answer.GetDomains() != nil {
		t.Errorf("unasked: %v, %v", answer, err)
	}
	for revision, want := range map[uint64]bool{0: true, first.GetRevision(): true, next.GetRevision(): false, 1 << 63: false} {
		answer, err := e.rpc.Domains(t.Context(), &controlv1.DomainsRequest{Revision: revision})
		if err != nil || (answer.GetTable() != nil) != want {
			t.Errorf("revision %d: %v, %v", revision, answer, err)
		}
	}
}
