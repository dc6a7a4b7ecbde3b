package apidoc

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func part(t *testing.T, doc string, asked *atomic.Int32) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, doc)
	}))
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, h http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	return w
}

func TestDocumentAndPageOfRunningServices(t *testing.T) {
	var asked atomic.Int32
	links, analytics := part(t, linksDoc, &asked), part(t, analyticsDoc, &asked)
	source := NewSource(slog.New(slog.DiscardHandler), links.URL, analytics.URL)
	page, err := NewPage(source, false)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := ask(t, http.HandlerFunc(source.ServeJSON)); got.Code != 200 || got.Body.String() != whole {
			t.Fatalf("document: %d %s", got.Code, got.Body)
		}
	}
	html := ask(t, page)
	if html.Code != 200 {
		t.Fatalf("page: %d", html.Code)
	}
	for _, want := range []string{"POST", "/v1/links", "Create &lt;a&gt; link", "links:write", "/v1/analytics/summary", `href="/openapi.json"`} {
		if !strings.Contains(html.Body.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(html.Body.String(), `<a href="/">`) {
		t.Error("no way back to the dashboard")
	}
	for _, banned := range []string{"<script", "style=", "<style", "http://", "https://"} {
		if strings.Contains(html.Body.String(), banned) {
			t.Errorf("the page has %q", banned)
		}
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("the services were asked %d times, want once each", got)
	}
}

func TestTheReferenceLoadsNothingFromElsewhere(t *testing.T) {
	var asked atomic.Int32
	source := NewSource(slog.New(slog.DiscardHandler), part(t, linksDoc, &asked).URL)
	page, err := NewPage(source, true)
	if err != nil {
		t.Fatal(err)
	}
	html := ask(t, page)
	for _, want := range []string{`src="/docs/redoc.js"`, `src="/docs/page.js"`, `id="reference"`, "/v1/links"} {
		if !strings.Contains(html.Body.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	policy := html.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'self'; ") || strings.Contains(policy, "http") || strings.Contains(policy, "script-src") || strings.Contains(policy, "*") {
		t.Errorf("the policy is %q", policy)
	}
	script := ask(t, http.HandlerFunc(page.ServeScript)).Body.String()
	for _, text := range []string{html.Body.String(), script} {
		for _, banned := range []string{"style=", "<style", "http://", "https://", "`"} {
			if strings.Contains(text, banned) {
				t.Errorf("there is %q in %s", banned, text)
			}
		}
	}
}

func TestAMissingPartIsSaid(t *testing.T) {
	var asked atomic.Int32
	links, analytics := part(t, linksDoc, &asked), part(t, analyticsDoc, &asked)
	address := analytics.URL
	analytics.Close()
	source := NewSource(slog.New(slog.DiscardHandler), links.URL, address)
	page, err := NewPage(source, false)
	if err != nil {
		t.Fatal(err)
	}
	got := ask(t, http.HandlerFunc(source.ServeJSON))
	if got.Code != 503 || got.Header().Get("Content-Type") != "application/problem+json" || got.Header().Get("Retry-After") == "" {
		t.Errorf("document: %d %v", got.Code, got.Header())
	}
	if got := ask(t, page); got.Code != 503 || !strings.Contains(got.Body.String(), `role="alert"`) {
		t.Errorf("page: %d %s", got.Code, got.Body)
	}
}

// A crowd before a service that is away costs one question, not one each; a moment
// later it is asked again.
func TestAFailureIsRememberedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		source := NewSource(slog.New(slog.DiscardHandler), "http://links.test")
		source.client.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return nil, errors.New("away")
		})
		for range 5 {
			if got := ask(t, http.HandlerFunc(source.ServeJSON)); got.Code != 503 {
				t.Errorf("got %d", got.Code)
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times at once", asked)
		}
		time.Sleep(forgetFor) //nolint:forbidigo // virtual time
		ask(t, http.HandlerFunc(source.ServeJSON))
		if asked != 2 {
			t.Errorf("asked %d times, want twice", asked)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
