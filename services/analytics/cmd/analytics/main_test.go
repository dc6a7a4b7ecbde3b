package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/accesstest"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(clickhousetest.Main(m))) }

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	err := run(t.Context(), []string{
		"LINKSTREAM_LOG_LEVEL=loud", "LINKSTREAM_HTTP_ADDR=nowhere", "LINKSTREAM_ADMIN_ADDR=nowhere", "LINKSTREAM_DRAIN_TIMEOUT=0s",
		"LINKSTREAM_CLICKHOUSE_URL=http://user:secret@host:port:port/x", "LINKSTREAM_ACCESS_URL=127.0.0.1:8011", "LINKSTREAM_KAFKA_BROKERS=nowhere",
	}, nil, &bytes.Buffer{})
	if err == nil {
		t.Fatal("started with settings that are wrong")
	}
	for _, name := range []string{"LOG_LEVEL", "HTTP_ADDR", "ADMIN_ADDR", "DRAIN_TIMEOUT", "CLICKHOUSE_URL", "ACCESS_URL", "KAFKA_BROKERS"} {
		if !strings.Contains(err.Error(), "LINKSTREAM_"+name) {
			t.Errorf("LINKSTREAM_%s is not in the message: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message quotes a password: %v", err)
	}
}

func TestOpenAPIDocumentIsPrinted(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, []string{"openapi"}, &out); err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenAPI string
		Paths   map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/analytics/summary", "/v1/analytics/timeseries", "/v1/analytics/breakdown", "/v1/analytics/totals", "/v1/analytics/links", "/v1/analytics/live", "/v1/analytics/export", "/v1/analytics/definitions"} {
		if document.Paths[path] == nil {
			t.Errorf("%s is not in the document", path)
		}
	}
	if len(document.Paths) != 8 || !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Errorf("OpenAPI %s with %d paths, want 3.1 with 8", document.OpenAPI, len(document.Paths))
	}
}

func TestServesUntilItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	api, admin := testproc.FreeAddr(t), testproc.FreeAddr(t)
	stopped := make(chan error, 1)
	environ := []string{
		"LINKSTREAM_HTTP_ADDR=" + api, "LINKSTREAM_ADMIN_ADDR=" + admin,
		"LINKSTREAM_CLICKHOUSE_URL=" + clickhousetest.New(t), "LINKSTREAM_KAFKA_BROKERS=" + testproc.FreeAddr(t), // away
		"LINKSTREAM_ACCESS_URL=" + accesstest.Nobody(t),
	}
	go func() { stopped <- run(ctx, environ, nil, t.Output()) }()
	check := func(url string, status int, holds string) {
		t.Helper()
		code, body := get(t, url)
		if code != status || !strings.Contains(body, holds) {
			t.Errorf("%s answers %d %s, want %d with %q", url, code, body, status, holds)
		}
	}
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if code, _ := get(t, "http://"+admin+"/readyz"); code == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not ready in 20 seconds")
		}
	}
	check("http://"+admin+"/healthz", http.StatusOK, "ok")
	check("http://"+api+"/v1/analytics/summary", http.StatusUnauthorized, "unauthenticated")
	check("http://"+api+"/v1/analytics/live", http.StatusUnauthorized, "unauthenticated")
	check("http://"+api+"/v1/analytics/nothing", http.StatusNotFound, "not_found")
	check("http://"+api+"/openapi.json", http.StatusOK, "/v1/analytics/summary")
	check("http://"+admin+"/metrics", http.StatusOK, "http_request_duration_seconds")
	cancel()
	select {
	case err := <-stopped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(15 * time.Second):
		t.Fatal("still running 15 seconds after it was stopped")
	}
}

// get returns 0 when nobody answers.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}
