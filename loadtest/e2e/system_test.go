package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestWholeSystem is one story in chapters on one stack, because starting it is
// what takes long. Each chapter makes its own links.
//
// Guards I11, I30, I50, I52, I56, I89, I90.
func TestWholeSystem(t *testing.T) {
	s := newStack(t)
	if got := len(s.edges()); got != 4 {
		t.Fatalf("%d edges, want 4: %v", got, s.edges())
	}
	t.Run("a link's life is seen by every edge", s.life)
	t.Run("a renamed link frees its slug and keeps its clicks", s.renamed)
	t.Run("domains do not cross", s.domains)
	t.Run("a thousand redirects are a thousand clicks", s.thousand)
	t.Run("HEAD is no click", s.head)
	t.Run("bad input stores nothing", s.badInput)
	t.Run("another team sees changes and clicks", s.tailed)
	t.Run("undecodable records go to the dead topics", s.poison)
	t.Run("a killed process is back within a second", s.killed)
	t.Run("what an edge answered is counted once, whatever is killed", s.killedUnderLoad)
	t.Run("a held process stays away, and links it served go on", s.held)
	t.Run("an edit is followed while nobody updates the region's Redis", s.unattended)
	t.Run("a wiped Redis is refilled from the changelog", s.wiped)
	t.Run("a purge is confirmed, and what it purged is gone", s.purged)
	t.Run("a purge says that an edge is silent", s.purgedSilent)
	t.Run("a pre-warmed link is in every memory", s.prewarmed)
	t.Run("a purge needs nothing but links and the edges", s.purgedAlone)
	t.Run("the ledger adds up", s.ledger)
	t.Run("the changelog rebuilds what the API lists", s.rebuilt)
	t.Run("dashboards and alerts ask for what is exposed", s.metrics)
	t.Run("the dashboard and the API share an address", s.dashboard)
	t.Run("a foreign tester finds nothing", s.foreign)
	t.Run("no secret is in a log", s.noSecrets)
	t.Run("malformed settings stop the start with a list", s.settings)
	t.Run("a second stack on the same folder is refused", s.second)
	t.Run("a restart keeps everything and leaves nothing behind", s.restart)
}

// Promise 1: an acknowledged edit is served everywhere within two seconds.
const freshness = 2 * time.Second

func (s *stack) life(t *testing.T) {
	made := s.create(t, "life", "https://e.test/first?a=1#x")
	if made.Version != 1 {
		t.Errorf("version %d, want 1", made.Version)
	}
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		return s.everyEdge(ctx, "life", http.StatusFound, "https://e.test/first?a=1#x")
	})

	var edited link
	if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"destination":"https://e.test/second"}`, &edited); status != http.StatusOK || edited.Version != 2 {
		t.Fatalf("editing: status %d, %+v", status, edited)
	}
	took := s.eventually(t, freshness, "all edges follow the edit", func(ctx context.Context) error {
		return s.everyEdge(ctx, "life", http.StatusFound, "https://e.test/second")
	})
	t.Logf("the edit was live on four edges after %v", took.Round(time.Millisecond))

	if status := s.call(t, http.MethodDelete, "/v1/links/"+made.ID, "", nil); status != http.StatusNoContent {
		t.Fatalf("deleting: status %d", status)
	}
	s.eventually(t, freshness, "no edge redirects", func(ctx context.Context) error {
		for _, edge := range s.edges() {
			status, _, _, err := visit(ctx, http.MethodGet, edge, "life")
			if err != nil || (status != http.StatusNotFound && status != http.StatusGone) {
				return fmt.Errorf("%s: %d %w", edge, status, err)
			}
		}
		return nil
	})

	// The address gets another link, whose version starts at 1 again.
	s.create(t, "life", "https://e.test/third")
	s.eventually(t, freshness, "all edges redirect to the new link", func(ctx context.Context) error {
		return s.everyEdge(ctx, "life", http.StatusFound, "https://e.test/third")
	})
}

// visits of one link are counted, and later looked at again.
const visits = 1000

func (s *stack) thousand(t *testing.T) {
	made := s.create(t, "thousand", "https://e.test/")
	s.thousandID = made.ID
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		for _, edge := range s.edges() { // by HEAD, which does not count
			if status, _, _, err := visit(ctx, http.MethodHead, edge, "thousand"); err != nil || status != http.StatusFound {
				return fmt.Errorf("%s: %d %w", edge, status, err)
			}
		}
		return nil
	})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < visits; i += 8 {
				edge := s.edges()[i%len(s.edges())]
				if status, location, _, err := visit(t.Context(), http.MethodGet, edge, "thousand"); err != nil || status != http.StatusFound || location != "https://e.test/" {
					t.Errorf("%s: %d %q %v", edge, status, location, err)
				}
			}
		})
	}
	wg.Wait()
	s.eventually(t, 30*time.Second, "the summary shows them all", func(context.Context) error {
		if got := s.clicks(t, made.ID); got != visits {
			return fmt.Errorf("%d clicks, want %d", got, visits)
		}
		return nil
	})
}

func (s *stack) head(t *testing.T) {
	made := s.create(t, "head", "https://e.test/")
	edge := s.edges()[0]
	s.eventually(t, freshness, "the edge redirects", func(ctx context.Context) error {
		if status, _, _, err := visit(ctx, http.MethodHead, edge, "head"); err != nil || status != http.StatusFound {
			return fmt.Errorf("%d %w", status, err)
		}
		return nil
	})
	// A GET after the HEAD: once it is counted, the HEAD would have been too.
	if status, _, _, err := visit(t.Context(), http.MethodGet, edge, "head"); err != nil || status != http.StatusFound {
		t.Fatalf("%d %v", status, err)
	}
	s.eventually(t, 30*time.Second, "the GET is counted", func(context.Context) error {
		if got := s.clicks(t, made.ID); got == 0 {
			return errors.New("no click yet")
		}
		return nil
	})
	if got := s.clicks(t, made.ID); got != 1 {
		t.Errorf("%d clicks, want 1", got)
	}
}

func (s *stack) badInput(t *testing.T) {
	count := func() int {
		var list struct {
			Data []link `json:"data"`
		}
		if status := s.call(t, http.MethodGet, "/v1/links?limit=100", "", &list); status != http.StatusOK {
			t.Fatalf("listing: status %d", status)
		}
		return len(list.Data)
	}
	before := count()
	check := func(name, body string, wantStatus int, wantCode, wantField string) {
		t.Helper()
		var p problem
		status := s.call(t, http.MethodPost, "/v1/links", body, &p)
		if status != wantStatus || p.Status != wantStatus || p.Code != wantCode || p.RequestID == "" {
			t.Errorf("%s: %d %+v, want %d %s", name, status, p, wantStatus, wantCode)
		}
		if wantField != "" && (len(p.Errors) == 0 || p.Errors[0].Field != wantField) {
			t.Errorf("%s: %+v, want the field %s", name, p.Errors, wantField)
		}
	}
	check("not JSON", `{"destination":`, 400, "malformed", "")
	check("no destination", `{}`, 422, "validation", "destination")
	check("unknown field", `{"destination":"https://e.test/","colour":"red"}`, 422, "validation", "colour")
	check("script", `{"destination":"javascript:alert(1)"}`, 422, "validation", "destination")
	check("reserved slug", `{"destination":"https://e.test/","slug":"API"}`, 422, "validation", "slug")
	check("status", `{"destination":"https://e.test/","status_code":200}`, 422, "validation", "status_code")
	check("not yet", `{"destination":"https://e.test/","password":"x"}`, 422, "validation", "password")
	s.create(t, "taken", "https://e.test/")
	check("taken", `{"destination":"https://e.test/","slug":"taken"}`, 409, "slug_taken", "")
	if got := count(); got != before+1 {
		t.Errorf("%d links, want %d", got, before+1)
	}
	var p problem
	if status := s.call(t, http.MethodGet, "/v1/nothing", "", &p); status != 404 || p.Code != "not_found" {
		t.Errorf("unknown path: %d %+v", status, p)
	}
}

// ledger holds for what was accepted since the processes started; the chapter
// on killed processes has reset some counters, so it counts a fresh round.
func (s *stack) ledger(t *testing.T) {
	edges := []int{9080 + s.base, 9081 + s.base, 9180 + s.base, 9181 + s.base}
	ingester := 9040 + s.base
	read := func(ctx context.Context) (accepted, settled float64, err error) {
		accepted, err = metric(ctx, "clicks_accepted_total", edges...)
		if err != nil {
			return 0, 0, err
		}
		for _, part := range []struct {
			name  string
			ports []int
		}{{"clicks_dropped_total", edges}, {"clicks_inserted_total", []int{ingester}}, {"clicks_dead_total", []int{ingester}}} {
			value, err := metric(ctx, part.name, part.ports...)
			if err != nil {
				return 0, 0, err
			}
			settled += value
		}
		return accepted, settled, nil
	}
	// What earlier chapters caused has arrived. That the counters rest says it alone only
	// where nobody is away: an ingester that joins its group again rests for seconds.
	s.eventually(t, chaosSettle, "everything before is counted", func(ctx context.Context) error { return s.runLedger(ctx) })
	// And what else reads the counters has seen the last batch when nothing has changed for
	// longer than one waits.
	var acceptedBefore, settledBefore float64
	var since time.Time
	s.eventually(t, 30*time.Second, "the counters rest", func(ctx context.Context) error {
		accepted, settled, err := read(ctx)
		if err != nil || accepted != acceptedBefore || settled != settledBefore {
			acceptedBefore, settledBefore, since = accepted, settled, time.Now()
		}
		if rest := time.Since(since); rest < 2*time.Second {
			return fmt.Errorf("unchanged for %v %w", rest, err)
		}
		return nil
	})
	// Duplicates would have arrived too by now, through all the kills.
	if got := s.clicks(t, s.thousandID); got != visits {
		t.Errorf("the thousand redirects have become %d clicks", got)
	}
	s.create(t, "ledger", "https://e.test/")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		return s.everyEdge(ctx, "ledger", http.StatusFound, "https://e.test/")
	})
	for range 25 {
		if err := s.everyEdge(t.Context(), "ledger", http.StatusFound, "https://e.test/"); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually(t, 30*time.Second, "accepted = inserted + dead + dropped", func(ctx context.Context) error {
		accepted, settled, err := read(ctx)
		if err != nil {
			return err
		}
		if accepted-acceptedBefore < 100 || accepted-acceptedBefore != settled-settledBefore {
			return fmt.Errorf("accepted %v, settled %v", accepted-acceptedBefore, settled-settledBefore)
		}
		return nil
	})
}

func (s *stack) dashboard(t *testing.T) {
	base := s.env["LINKSTREAM_DASHBOARD_URL"]
	check := func(path string, wantStatus int, wantText string) {
		t.Helper()
		status, body, err := get(t.Context(), base+path)
		if err != nil || status != wantStatus || !strings.Contains(body, wantText) {
			t.Errorf("%s: %d %v, want %d with %q", path, status, err, wantStatus, wantText)
		}
	}
	check("/", 200, "<!doctype html>")
	check("/openapi.json", 200, `"/v1/analytics/summary"`)
	check("/openapi.json", 200, `"/v1/links/{id}"`)
	check("/v1/links", 401, `"unauthenticated"`)

	body := fmt.Sprintf(`{"email":%q,"password":%q}`, s.env["LINKSTREAM_DASHBOARD_EMAIL"], s.env["LINKSTREAM_DASHBOARD_PASSWORD"])
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/session", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := noFollow.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode/100 != 2 || len(answer.Cookies()) != 1 {
		t.Fatalf("logging in: %d, cookies %v", answer.StatusCode, answer.Cookies())
	}
	request, err = http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/links", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.AddCookie(answer.Cookies()[0])
	list, err := noFollow.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Body.Close() }()
	if list.StatusCode != http.StatusOK {
		t.Errorf("listing with the session's cookie: %d", list.StatusCode)
	}
}

func (s *stack) settings(t *testing.T) {
	for _, name := range []string{"links", "cacheupdater", "redirect", "clicks", "analytics", "dashboard", "webhooks"} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(s.bin, name))
		cmd.Env = []string{"LINKSTREAM_DRAIN_TIMEOUT=soon", "LINKSTREAM_ADMIN_ADDR=nowhere"}
		output, err := cmd.CombinedOutput()
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Errorf("%s started: %v", name, err)
		}
		if !strings.Contains(string(output), "LINKSTREAM_DRAIN_TIMEOUT") || !strings.Contains(string(output), "LINKSTREAM_ADMIN_ADDR") {
			t.Errorf("%s does not name both mistakes:\n%s", name, output)
		}
		help := exec.CommandContext(t.Context(), filepath.Join(s.bin, name), "--help")
		help.Env = []string{}
		output, err = help.CombinedOutput()
		if err != nil || !strings.Contains(string(output), "LINKSTREAM_ADMIN_ADDR") {
			t.Errorf("%s --help: %v\n%s", name, err, output)
		}
	}
}

func (s *stack) second(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.bin, "stack"), "up", "--dir", s.dir, "--bin", s.bin)
	output, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it started:\n%s", output)
	}
	if lines := strings.Split(strings.TrimSpace(string(output)), "\n"); !strings.Contains(lines[len(lines)-1], "running") {
		t.Errorf("it does not say what is wrong:\n%s", output)
	}
}

func (s *stack) restart(t *testing.T) {
	made := s.create(t, "restart", "https://e.test/kept")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		return s.everyEdge(ctx, "restart", http.StatusFound, "https://e.test/kept")
	})
	var before int
	s.eventually(t, 30*time.Second, "the clicks are counted", func(context.Context) error {
		if before = s.clicks(t, made.ID); before < len(s.edges()) {
			return fmt.Errorf("%d clicks", before)
		}
		return nil
	})
	key := s.env["LINKSTREAM_API_KEY"]

	pids := map[string]int{}
	files, err := filepath.Glob(filepath.Join(s.dir, "run", "*.pid"))
	if err != nil || len(files) < 14 {
		t.Fatalf("%d pid files: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		if pids[name], err = s.pid(name); err != nil {
			t.Fatal(err)
		}
	}
	s.interrupt(t)
	for name, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("%s (%d) is still there", name, pid)
		}
	}
	if files, err = filepath.Glob(filepath.Join(s.dir, "run", "*.pid")); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v %v", files, err)
	}

	s.start(t)
	if s.env["LINKSTREAM_API_KEY"] != key {
		t.Error("the API key has changed")
	}
	if err := s.everyEdge(t.Context(), "restart", http.StatusFound, "https://e.test/kept"); err != nil {
		t.Error(err)
	}
	s.eventually(t, 30*time.Second, "old and new clicks are counted", func(context.Context) error {
		if got := s.clicks(t, made.ID); got != before+len(s.edges()) {
			return fmt.Errorf("%d clicks, want %d", got, before+len(s.edges()))
		}
		return nil
	})
}
