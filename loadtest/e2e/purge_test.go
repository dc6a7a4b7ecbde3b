package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reached is what a purge or a pre-warm answers.
type reached struct {
	Version        int `json:"version"`
	EdgesLive      int `json:"edges_live"`
	EdgesConfirmed int `json:"edges_confirmed"`
	DurationMS     int `json:"duration_ms"`
	Regions        []struct {
		Region         string `json:"region"`
		EdgesLive      int    `json:"edges_live"`
		EdgesConfirmed int    `json:"edges_confirmed"`
		EdgesWarmed    int    `json:"edges_warmed"`
		L2             string `json:"l2"`
	} `json:"regions"`
}

// reach gives a command about a link to all edges.
func (s *stack) reach(t *testing.T, id, command string) reached {
	t.Helper()
	var got reached
	s.eventually(t, 10*time.Second, "the limit lets it pass", func(context.Context) error {
		got = reached{}
		if status := s.call(t, http.MethodPost, "/v1/links/"+id+"/"+command, "", &got); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
	return got
}

// corrupt replaces the target in what a region's Redis holds of a slug, and leaves the
// revision as it is.
func (s *stack) corrupt(t *testing.T, region, slug, right, wrong string) {
	t.Helper()
	key, addr := "redirect:localhost:"+slug, s.redis(t, region)
	var held string
	s.eventually(t, freshness, "Redis has the link", func(ctx context.Context) (err error) {
		held, err = redisCommand(ctx, addr, "GET "+key)
		if err == nil && !strings.Contains(held, right) {
			err = fmt.Errorf("it holds %s", held)
		}
		return err
	})
	if answer, err := redisCommand(t.Context(), addr, "SET "+key+" '"+strings.ReplaceAll(held, right, wrong)+"'"); err != nil || answer != "+OK" {
		t.Fatalf("SET: %s %v", answer, err)
	}
}

// redisIsBelieved waits until every edge answers from its region's Redis what it does
// not hold: after a fault an edge asks the origin for a while, and does not see what a
// test has put into Redis.
func (s *stack) redisIsBelieved(t *testing.T, chapter string) {
	t.Helper()
	n := 0
	s.eventually(t, 30*time.Second, "Redis is believed", func(ctx context.Context) error {
		n++
		slug := fmt.Sprintf("before/%s/%d", chapter, n)
		s.create(t, slug, "https://e.test/")
		for _, region := range []string{"fra", "ash"} {
			s.eventually(t, 10*time.Second, "Redis has the link", func(ctx context.Context) error {
				if answer, err := redisCommand(ctx, s.redis(t, region), "EXISTS redirect:localhost:"+slug); err != nil || answer != ":1" {
					return fmt.Errorf("%s %w", answer, err)
				}
				return nil
			})
		}
		return s.everyEdgeBy(ctx, slug, "https://e.test/", "l2")
	})
}

// purged is a take-down: two regions hold a wrong copy under the right revision, in
// Redis and in the memory of every edge, and nothing that compares revisions notices.
//
// Guards I22, I24.
func (s *stack) purged(t *testing.T) {
	const right, wrong = "https://e.test/right", "https://e.test/wrong"
	s.redisIsBelieved(t, "purged")
	made := s.create(t, "purged", right)
	for _, region := range []string{"fra", "ash"} {
		s.corrupt(t, region, "purged", right, wrong)
	}
	s.eventually(t, freshness, "every edge serves the wrong copy from memory", func(ctx context.Context) error {
		return s.everyEdgeBy(ctx, "purged", wrong, "l1")
	})
	got := s.reach(t, made.ID, "purge")
	if err := s.everyEdge(t.Context(), "purged", http.StatusFound, right); err != nil {
		t.Error(err) // at once: no edge needs time after the answer
	}
	if got.Version != 1 || got.EdgesLive != 4 || got.EdgesConfirmed != 4 || got.DurationMS < 1 || len(got.Regions) != 2 {
		t.Errorf("the purge answers %+v", got)
	}
	for _, r := range got.Regions {
		if r.EdgesLive != 2 || r.EdgesConfirmed != 2 || r.L2 != "done" {
			t.Errorf("region %+v", r)
		}
		if held, err := redisCommand(t.Context(), s.redis(t, r.Region), "GET redirect:localhost:purged"); err != nil || !strings.Contains(held, right) {
			t.Errorf("the Redis of %s holds %s %v", r.Region, held, err)
		}
	}
	t.Logf("four edges confirmed a purge within %d ms", got.DurationMS)

	// A deleted link can be taken down, too.
	if status := s.call(t, http.MethodDelete, "/v1/links/"+made.ID, "", nil); status != http.StatusNoContent {
		t.Fatalf("deleting: %d", status)
	}
	if got = s.reach(t, made.ID, "purge"); got.Version != 2 || got.EdgesConfirmed != 4 {
		t.Errorf("purging a deleted link answers %+v", got)
	}
	for _, edge := range s.edges() {
		if status, location, _, err := visit(t.Context(), http.MethodGet, edge, "purged"); err != nil || (status != http.StatusNotFound && status != http.StatusGone) {
			t.Errorf("the deleted link at %s: %d %q %v", edge, status, location, err)
		}
	}
}

// purgedSilent is a purge while one edge cannot answer.
func (s *stack) purgedSilent(t *testing.T) {
	const right, wrong = "https://e.test/right", "https://e.test/wrong"
	s.redisIsBelieved(t, "silent")
	made := s.create(t, "silent", right)
	s.corrupt(t, "ash", "silent", right, wrong)
	s.eventually(t, freshness, "every edge of the region serves the wrong copy", func(ctx context.Context) error {
		for _, edge := range s.edges()[2:] {
			if _, location, _, err := visit(ctx, http.MethodGet, edge, "silent"); err != nil || location != wrong {
				return fmt.Errorf("%s: %q %w", edge, location, err)
			}
		}
		return nil
	})
	pid, err := s.pid("redirect-ash-1")
	if err != nil {
		t.Fatal(err)
	}
	flushes, err := s.flushes(t.Context(), 9181)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume := func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	defer resume()
	got := s.reach(t, made.ID, "purge")
	if got.EdgesLive != 4 || got.EdgesConfirmed != 3 || got.DurationMS < 2000 || got.DurationMS > 4000 {
		t.Errorf("with one edge stopped the purge answers %+v", got)
	}
	resume()
	// It was told meanwhile, or is told now.
	s.eventually(t, freshness, "the edge serves what is right again", func(ctx context.Context) error {
		return s.everyEdge(ctx, "silent", http.StatusFound, right)
	})
	s.eventually(t, 10*time.Second, "all edges confirm again", func(context.Context) error {
		if got := s.reach(t, made.ID, "purge"); got.EdgesLive != 4 || got.EdgesConfirmed != 4 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	// It answers before it has noticed what it missed, and forgets then what it was told
	// since. That is over when heartbeats are heard again.
	s.eventually(t, 10*time.Second, "the edge notices that it was silent", func(ctx context.Context) error {
		if got, err := s.flushes(ctx, 9181); err != nil || got == flushes {
			return fmt.Errorf("%v flushes %w", got, err)
		}
		return nil
	})
	s.redisIsBelieved(t, "resumed")
}

// flushes is how often an edge has stopped trusting all that it holds. port is that of
// its admin address in a stack at base 0.
func (s *stack) flushes(ctx context.Context, port int) (float64, error) {
	gaps, err := metric(ctx, `cache_invalidation_total{source="gap"}`, s.base+port)
	if err != nil {
		return 0, err
	}
	reconnects, err := metric(ctx, `cache_invalidation_total{source="reconnect"}`, s.base+port)
	return gaps + reconnects, err
}

// purgedAlone is a purge while everything between links and the edges is away.
//
// Guards I23, I24.
func (s *stack) purgedAlone(t *testing.T) {
	const right, wrong = "https://e.test/right", "https://e.test/wrong"
	s.redisIsBelieved(t, "alone")
	made := s.create(t, "alone", right)
	s.corrupt(t, "fra", "alone", right, wrong)
	s.eventually(t, freshness, "an edge serves the wrong copy", func(ctx context.Context) error {
		if _, location, _, err := visit(ctx, http.MethodGet, s.edges()[0], "alone"); err != nil || location != wrong {
			return fmt.Errorf("%q %w", location, err)
		}
		return nil
	})
	var releases []func()
	for _, name := range []string{"broker", "cacheupdater-fra", "redis-fra"} {
		releases = append(releases, s.hold(t, name))
		s.kill(t, name)
	}
	got := s.reach(t, made.ID, "purge")
	if got.EdgesLive != 4 || got.EdgesConfirmed != 4 || len(got.Regions) != 2 || got.Regions[0].L2 != "done" || got.Regions[1].L2 != "unreachable" {
		t.Errorf("the purge answers %+v", got)
	}
	if err := s.everyEdge(t.Context(), "alone", http.StatusFound, right); err != nil {
		t.Error(err)
	}
	for _, release := range releases {
		release()
	}
	for _, port := range s.adminPorts() {
		s.eventually(t, time.Minute, "everything is ready again", func(ctx context.Context) error {
			if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil || status != http.StatusOK {
				return fmt.Errorf("port %d: %d %s %w", port, status, body, err)
			}
			return nil
		})
	}
	s.eventually(t, 30*time.Second, "the purge has reached the region's Redis by itself", func(ctx context.Context) error {
		held, err := redisCommand(ctx, s.redis(t, "fra"), "GET redirect:localhost:alone")
		if err == nil && !strings.Contains(held, right) {
			err = fmt.Errorf("it holds %s", held)
		}
		return err
	})
}

func (s *stack) prewarmed(t *testing.T) {
	made := s.create(t, "prewarmed", "https://e.test/warm")
	got := s.reach(t, made.ID, "prewarm")
	if got.Version != 1 || len(got.Regions) != 2 {
		t.Errorf("the pre-warm answers %+v", got)
	}
	for _, r := range got.Regions {
		if r.EdgesLive != 2 || r.EdgesWarmed != 2 || r.L2 != "done" {
			t.Errorf("region %+v", r)
		}
	}
	if err := s.everyEdgeBy(t.Context(), "prewarmed", "https://e.test/warm", "l1"); err != nil {
		t.Errorf("the first visit: %v", err)
	}
}

// everyEdgeBy checks that all edges redirect there, and by which cache.
func (s *stack) everyEdgeBy(ctx context.Context, slug, location, cache string) error {
	for _, edge := range s.edges() {
		status, gotLocation, gotCache, err := visit(ctx, http.MethodGet, edge, slug)
		if err != nil || status != http.StatusFound || gotLocation != location || gotCache != cache {
			return fmt.Errorf("%s/%s: %d %q by %s %w, want %q by %s", edge, slug, status, gotLocation, gotCache, err, location, cache)
		}
	}
	return nil
}
