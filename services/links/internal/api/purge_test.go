package api_test

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/api"
	"github.com/linkstream/linkstream/services/links/internal/control"
)

// withEdges adds the operations that reach the edges, of which there are none.
func withEdges(t *testing.T) *service {
	t.Helper()
	s := newService(t)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	accounts, err := account.New(t.Context(), s.store, ring(t), cheap(), 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	registry := prometheus.NewRegistry()
	api.RegisterEdges(httpapi.New(mux, api.Title, api.Version, accounts, log), control.New(s.store, registry, log), s.store, log)
	both, links := httpapi.Middleware(mux, registry, log), s.handler
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/purge") || strings.HasSuffix(r.URL.Path, "/prewarm") {
			both.ServeHTTP(w, r)
			return
		}
		links.ServeHTTP(w, r)
	})
	return s
}

func TestPurgeAndPrewarmAnswer(t *testing.T) {
	t.Parallel()
	s := withEdges(t)
	made := s.send(t, http.MethodPost, "/v1/links", `{"destination":"https://e.test/","slug":"a"}`)
	check := func(path string, status int, body string) answer {
		t.Helper()
		a := s.send(t, http.MethodPost, path, "")
		if a.status != status || !strings.Contains(a.raw, body) {
			t.Errorf("%s: %d %s, want %d with %s", path, a.status, a.raw, status, body)
		}
		return a
	}
	a := check("/v1/links/"+made.ID+"/purge", 200, `"version":1,"edges_live":0,"edges_confirmed":0,"duration_ms":`)
	if !strings.Contains(a.raw, `"regions":[]`) {
		t.Errorf("no list of regions: %s", a.raw)
	}
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "1",
		"RateLimit": `"purge";r=4;t=1`, "RateLimit-Policy": `"purge";q=5;w=2`,
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	check("/v1/links/"+made.ID+"/prewarm", 200, `"version":1,"duration_ms":`)
	if a := check("/v1/links/"+uuid.NewString()+"/purge", 404, `"code":"not_found"`); a.header.Get("X-RateLimit-Remaining") == "" {
		t.Error("a 404 does not say what is left of the limit")
	}
	check("/v1/links/nonsense/purge", 404, `"code":"not_found"`)

	// Another workspace has its own limit, and does not find the link.
	first := s.key
	s.key = s.workspace(t, "second")
	check("/v1/links/"+made.ID+"/purge", 404, `"code":"not_found"`)
	check("/v1/links/"+made.ID+"/prewarm", 404, `"code":"not_found"`)
	s.key = first

	// A deleted link can be purged, and not warmed.
	if a := s.send(t, http.MethodDelete, "/v1/links/"+made.ID, ""); a.status != http.StatusNoContent {
		t.Fatalf("deleting: %d", a.status)
	}
	check("/v1/links/"+made.ID+"/prewarm", 404, `"code":"not_found"`)
	check("/v1/links/"+made.ID+"/purge", 200, `"version":2`)

	s.exec(t, `UPDATE api_keys SET scopes = '{links:read}'`)
	check("/v1/links/"+made.ID+"/purge", 403, `"code":"forbidden"`)
}

func TestPurgesAreLimitedForEachWorkspace(t *testing.T) {
	t.Parallel()
	s := withEdges(t)
	made := s.send(t, http.MethodPost, "/v1/links", `{"destination":"https://e.test/","slug":"a"}`)
	path := "/v1/links/" + made.ID + "/purge"
	start := time.Now()
	const calls = 30
	allowed := 0
	for range calls {
		a := s.send(t, http.MethodPost, path, "")
		switch a.status {
		case http.StatusOK:
			allowed++
		case http.StatusTooManyRequests:
			if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || a.Code != "rate_limited" || a.header.Get("X-RateLimit-Remaining") != "0" {
				t.Errorf("429 with %v %s", a.header, a.raw)
			}
		default:
			t.Fatalf("%d %s", a.status, a.raw)
		}
	}
	if most := 5 + int(3*time.Since(start).Seconds()) + 1; allowed < 5 || allowed > most {
		t.Errorf("%d of %d were allowed, want 5 to %d", allowed, calls, most)
	}
	s.exec(t, `UPDATE workspace_limits SET level = 0, level_at = level_at + 3600000000`) // its clock is ahead: nothing comes back
	if a := s.send(t, http.MethodPost, path, ""); a.status != http.StatusTooManyRequests {
		t.Errorf("%d, want 429", a.status)
	}
	if a := s.send(t, http.MethodPost, "/v1/links/"+made.ID+"/prewarm", ""); a.status != http.StatusOK {
		t.Errorf("pre-warms have a limit of their own, and got %d", a.status)
	}
	s.key = s.workspace(t, "second")
	if a := s.send(t, http.MethodPost, path, ""); a.status != http.StatusNotFound {
		t.Errorf("another workspace gets %d, want 404", a.status)
	}
}
