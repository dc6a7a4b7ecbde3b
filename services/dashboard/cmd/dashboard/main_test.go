package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/internal/accesstest"
	"github.com/linkstream/linkstream/services/internal/config"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// process is a run of the program, as its environment makes it.
type process struct {
	public, admin string
	stop          context.CancelFunc
	done          chan error
}

func start(t *testing.T, environ ...string) *process {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	p := &process{stop: stop, done: make(chan error, 1)}
	environ = append(environ, "LINKSTREAM_HTTP_ADDR=127.0.0.1:0", "LINKSTREAM_ADMIN_ADDR=127.0.0.1:0", "LINKSTREAM_DRAIN_TIMEOUT=2s")
	go func() {
		err := run(ctx, environ, nil, writer)
		_ = writer.CloseWithError(io.EOF)
		p.done <- err
	}()
	lines := bufio.NewScanner(reader)
	for lines.Scan() && p.public == "" {
		var line struct {
			Msg   string `json:"msg"`
			Addr  string `json:"addr"`
			Admin string `json:"admin_addr"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("log line %q: %v", lines.Text(), err)
		}
		if line.Addr != "" {
			p.public, p.admin = "http://"+line.Addr, "http://"+line.Admin
			break
		}
	}
	if p.public == "" {
		t.Fatalf("the program ended: %v", <-p.done)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, reader)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-p.done; err != nil {
			t.Errorf("stopping: %v", err)
		}
		<-drained
	})
	return p
}

func get(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func named(name string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, name+" "+r.URL.Path)
	}))
}

func TestEachPathReachesWhatAnswersIt(t *testing.T) {
	links, analytics, webhooks := named("links"), named("analytics"), named("webhooks")
	defer links.Close()
	defer webhooks.Close()
	defer analytics.Close()
	p := start(t, "LINKSTREAM_LINKS_URL="+links.URL, "LINKSTREAM_ANALYTICS_URL="+analytics.URL, "LINKSTREAM_WEBHOOKS_URL="+webhooks.URL, "LINKSTREAM_ACCESS_URL="+accesstest.Nobody(t))
	check := func(path string, status int, want string) {
		t.Helper()
		answer, body := get(t, p.public+path)
		if answer.StatusCode != status || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q, want %d with %q", path, answer.StatusCode, body, status, want)
		}
		if answer.Header.Get("X-Request-Id") == "" || len(answer.Header.Values("X-Content-Type-Options")) != 1 ||
			!strings.Contains(answer.Header.Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%s: headers %v", path, answer.Header)
		}
	}
	check("/v1/links", 200, "links /v1/links")
	check("/v1/links/0190", 200, "links /v1/links/0190")
	check("/v1/domains", 200, "links /v1/domains")
	check("/v1/analytics/summary", 200, "analytics /v1/analytics/summary")
	check("/v1/tags", 200, "links /v1/tags")
	check("/v1/utm-templates/0190", 200, "links /v1/utm-templates/0190")
	check("/session/workspace", 405, `"code":"method_not_allowed"`)
	check("/session/join", 405, `"code":"method_not_allowed"`)
	check("/session/password", 405, `"code":"method_not_allowed"`)
	check("/v1/webhooks", 200, "webhooks /v1/webhooks")
	check("/v1/webhooks/0190/deliveries", 200, "webhooks /v1/webhooks/0190/deliveries")
	check("/v1/events", 200, "webhooks /v1/events")
	check("/v1/linksx", 404, `"code":"not_found"`)
	check("/v1/analytics", 404, `"code":"not_found"`)
	check("/v1/", 404, `"code":"not_found"`)
	check("/session", 401, `"code":"unauthenticated"`)
	check("/docs/page.css", 200, "color-scheme")
	check("/missing.js", 404, "no such file")
	// The parts are no OpenAPI documents here.
	check("/openapi.json", 503, `"code":"unavailable"`)

	if answer, body := get(t, p.admin+"/readyz"); answer.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %d %s", answer.StatusCode, body)
	}
	if _, body := get(t, p.admin+"/metrics"); !strings.Contains(body, `http_request_duration_seconds_count{route="/v1/links",status="200"} 1`) {
		t.Error("the request is not in /metrics")
	}
	analytics.Close()
	if answer, body := get(t, p.admin+"/readyz"); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "analytics") {
		t.Errorf("/readyz without analytics: %d %s", answer.StatusCode, body)
	}
}

func TestBadSettingsAreNamedAllAtOnce(t *testing.T) {
	err := run(t.Context(), []string{"LINKSTREAM_LINKS_URL=nonsense", "LINKSTREAM_HTTP_ADDR=8000", "LINKSTREAM_COOKIE_SECURE=perhaps", "LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_DRAIN_TIMEOUT=0s"}, nil, io.Discard)
	for _, name := range []string{"LINKS_URL", "ANALYTICS_URL", "WEBHOOKS_URL", "ACCESS_URL", "HTTP_ADDR", "COOKIE_SECURE", "LOG_LEVEL", "DRAIN_TIMEOUT"} {
		if err == nil || !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), nil, []string{"--help"}, &out); !errors.Is(err, config.ErrHelp) || !strings.Contains(out.String(), "LINKSTREAM_COOKIE_SECURE") {
		t.Errorf("--help: %v %s", err, out.String())
	}
}

func TestOpenAPIMergePrintsTheWholeDocument(t *testing.T) {
	dir := t.TempDir()
	write := func(name, path string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(`{"openapi":"3.1.0","paths":{"`+path+`":{"get":{}}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var out strings.Builder
	err := run(t.Context(), nil, []string{"openapi-merge", write("links.json", "/v1/links"), write("analytics.json", "/v1/analytics/summary")}, &out)
	if err != nil || !strings.Contains(out.String(), `"/v1/links"`) || !strings.Contains(out.String(), `"title": "linkstream API"`) {
		t.Errorf("%v %s", err, out.String())
	}
	if err := run(t.Context(), nil, []string{"openapi-merge"}, io.Discard); err == nil {
		t.Error("no files are accepted")
	}
	if err := run(t.Context(), nil, []string{"openapi-merge", filepath.Join(dir, "none")}, io.Discard); err == nil {
		t.Error("a missing file is accepted")
	}
}
