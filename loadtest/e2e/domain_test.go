package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/apiclient"
)

// at is a request for a path of a host, and what an edge has to answer.
type at struct {
	host, path string
	status     int
	location   string
}

// onEveryEdge checks what all edges answer, by HEAD, which is no click, or by GET.
func (s *stack) onEveryEdge(ctx context.Context, method string, wanted ...at) error {
	for _, edge := range s.edges() {
		for _, want := range wanted {
			request, err := http.NewRequestWithContext(ctx, method, edge+want.path, http.NoBody)
			if err != nil {
				return err
			}
			request.Host = want.host
			request.Header.Set("User-Agent", browser)
			answer, err := noFollow.Do(request)
			if err != nil {
				return err
			}
			_ = answer.Body.Close()
			if location := answer.Header.Get("Location"); answer.StatusCode != want.status || location != want.location {
				return fmt.Errorf("%s for %s%s: %d %q, want %d %q", edge, want.host, want.path, answer.StatusCode, location, want.status, want.location)
			}
		}
	}
	return nil
}

// within waits until all edges answer so.
func (s *stack) within(t *testing.T, limit time.Duration, what string, wanted ...at) {
	t.Helper()
	took := s.eventually(t, limit, what, func(ctx context.Context) error { return s.onEveryEdge(ctx, http.MethodHead, wanted...) })
	t.Logf("%s: after %v", what, took.Round(time.Millisecond))
}

func (s *stack) createOn(t *testing.T, host, slug, destination string) string {
	t.Helper()
	answer, err := s.api(t).CreateLinkWithResponse(t.Context(), nil, apiclient.NewLinkBody{Destination: destination, Slug: &slug, Domain: &host})
	if err != nil || answer.JSON201 == nil {
		t.Fatalf("creating %s/%s: %v, %v", host, slug, answer, err)
	}
	return answer.JSON201.Id.String()
}

// domains: the same slug on two domains leads to two places, counts for two links, and
// whatever happens to one of them leaves the other alone. What a domain says of itself
// is on every edge in time, and on one that starts while links is away.
//
// Guards I50, I51, I52.
func (s *stack) domains(t *testing.T) {
	const (
		first, second = "localhost", "second.test"
		one, two      = "https://e.test/one", "https://e.test/two"
		home          = "https://home.test/?a=b&c=%2F"
		fallback      = "https://fallback.test/"
		limit         = 30 * time.Second
	)
	// An edge has not heard of the domain and is asked for it: not found, for now.
	if err := s.onEveryEdge(t.Context(), http.MethodHead, at{second, "/promo-x", 404, ""}, at{second, "/", 200, ""}); err != nil {
		t.Error(err)
	}
	fold := false
	created, err := s.api(t).CreateDomainWithResponse(t.Context(), nil, apiclient.NewDomainBody{Host: "Second.Test", CaseSensitive: &fold})
	if err != nil || created.JSON201 == nil {
		t.Fatalf("creating the domain: %v, %v", created, err)
	}
	domain := "/v1/domains/" + created.JSON201.Id.String()

	a, b := s.createOn(t, first, "Promo-X", one), s.createOn(t, second, "Promo-X", two)
	// At once: an edge that lacks the host asks before it says no.
	if err := s.onEveryEdge(t.Context(), http.MethodHead, at{second, "/pROMO-x", 302, two}); err != nil {
		t.Error(err)
	}
	s.within(t, freshness, "both links redirect", at{first, "/Promo-X", 302, one}, at{first, "/promo-x", 404, ""},
		at{second, "/PROMO-X", 302, two}, at{second, "/promo-x/", 302, two})
	for range 3 { // from memory, too
		if err := s.onEveryEdge(t.Context(), http.MethodGet, at{first, "/Promo-X", 302, one}, at{second, "/promo-X", 302, two}, at{second, "/PROMO-x", 302, two}); err != nil {
			t.Error(err)
		}
	}
	edges := len(s.edges())
	s.eventually(t, limit, "each link has its own clicks", func(context.Context) error {
		if gotA, gotB := s.clicks(t, a), s.clicks(t, b); gotA != 3*edges || gotB != 6*edges {
			return fmt.Errorf("%d and %d clicks, want %d and %d", gotA, gotB, 3*edges, 6*edges)
		}
		return nil
	})
	var ofDomain struct{ Clicks int }
	if s.call(t, http.MethodGet, "/v1/analytics/summary?domain="+second, "", &ofDomain); ofDomain.Clicks != 6*edges {
		t.Errorf("the domain has %d clicks, want %d", ofDomain.Clicks, 6*edges)
	}

	if status := s.call(t, http.MethodPatch, domain, `{"home_url":"`+home+`","fallback_url":"`+fallback+`"}`, nil); status != http.StatusOK {
		t.Fatalf("changing the domain: status %d", status)
	}
	s.within(t, freshness, "home and fallback are on every edge", at{second, "/", 302, home}, at{second, "/nothing-here", 302, fallback},
		at{first, "/", 200, ""}, at{first, "/nothing-here", 404, ""}, at{second, "/robots.txt", 200, ""}, at{second, "/favicon.ico", 204, ""})

	// Edited, purged, expired and deleted on one domain; the other does not notice.
	untouched := at{first, "/Promo-X", 302, one}
	if status := s.call(t, http.MethodPatch, "/v1/links/"+b, `{"destination":"https://e.test/three"}`, nil); status != http.StatusOK {
		t.Fatalf("editing: status %d", status)
	}
	s.within(t, freshness, "the edit is on one domain", at{second, "/promo-x", 302, "https://e.test/three"}, untouched)
	if got := s.reach(t, b, "purge"); got.EdgesConfirmed != edges {
		t.Errorf("the purge gives %+v", got)
	}
	if err := s.onEveryEdge(t.Context(), http.MethodHead, at{second, "/PROMO-X", 302, "https://e.test/three"}, untouched); err != nil {
		t.Error(err)
	}
	if status := s.call(t, http.MethodPatch, "/v1/links/"+b, `{"expires_at":"2020-01-01T00:00:00Z"}`, nil); status != http.StatusOK {
		t.Fatalf("ending the link: status %d", status)
	}
	s.within(t, freshness, "an expired link leads to the domain's fallback", at{second, "/promo-x", 302, fallback}, untouched)

	s.startedWithoutLinks(t, at{second, "/", 302, home}, untouched)

	if status := s.call(t, http.MethodDelete, domain, "", nil); status != http.StatusConflict {
		t.Errorf("deleting a domain with a link: status %d", status)
	}
	if status := s.call(t, http.MethodDelete, "/v1/links/"+b, "", nil); status != http.StatusNoContent {
		t.Fatalf("deleting the link: status %d", status)
	}
	if status := s.call(t, http.MethodDelete, domain, "", nil); status != http.StatusNoContent {
		t.Fatalf("deleting the domain: status %d", status)
	}
	s.within(t, freshness, "the domain is gone", at{second, "/", 200, ""}, at{second, "/promo-x", 404, ""}, untouched)
}

// startedWithoutLinks kills an edge while links is away: it starts with what its
// region's Redis has.
func (s *stack) startedWithoutLinks(t *testing.T, wanted ...at) {
	t.Helper()
	for _, region := range []string{"fra", "ash"} {
		s.eventually(t, freshness+2*time.Second, "Redis has the domains", func(ctx context.Context) error {
			held, err := redisCommand(ctx, s.redis(t, region), "GET domains")
			if err == nil && !strings.Contains(held, `"home_url":"`+wanted[0].location+`"`) {
				err = fmt.Errorf("it holds %s", held)
			}
			return err
		})
	}
	release := s.hold(t, "links")
	s.kill(t, "links")
	old := s.kill(t, "redirect-fra-0")
	s.eventually(t, 10*time.Second, "another edge runs under the name", func(context.Context) error {
		pid, err := s.pid("redirect-fra-0")
		if err == nil && (pid == old || syscall.Kill(pid, 0) != nil) {
			err = fmt.Errorf("process %d", pid)
		}
		return err
	})
	s.within(t, 10*time.Second, "an edge that starts without links knows the domains", wanted...)
	release()
	for _, port := range s.adminPorts() {
		s.eventually(t, time.Minute, "everything is ready again", func(ctx context.Context) error {
			if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil || status != http.StatusOK {
				return fmt.Errorf("port %d: %d %s %w", port, status, body, err)
			}
			return nil
		})
	}
}
