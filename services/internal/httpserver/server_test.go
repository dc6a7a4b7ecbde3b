package httpserver_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// start serves handler until the returned function is called, which returns
// what Run returned.
func start(t *testing.T, handler http.Handler, grace time.Duration) (url string, stop func() error) {
	t.Helper()
	listener, err := httpserver.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- httpserver.New(listener, handler, grace, slog.New(slog.DiscardHandler)).Run(ctx) }()
	return "http://" + listener.Addr().String(), func() error {
		cancel()
		return <-done
	}
}

func TestWhatHasBegunIsAnsweredBeforeTheStop(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	url, stop := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		_, _ = w.Write([]byte("answered"))
	}), time.Minute)
	body := make(chan string, 1)
	go func() {
		_, b := get(t, url)
		body <- b
	}()
	<-begun
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	close(finish)
	if got := <-body; got != "answered" {
		t.Errorf("got %q", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestAnEndlessAnswerIsCutAfterTheGracePeriod(t *testing.T) {
	begun := make(chan struct{})
	url, stop := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	}), 10*time.Millisecond)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	<-begun
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAPortInUseStopsTheStart(t *testing.T) {
	listener, err := httpserver.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	addr := listener.Addr().String()
	if _, err := httpserver.Listen(t.Context(), addr); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("got %v, want an error that names %s", err, addr)
	}
}

func TestReadyzSaysWhatIsMissing(t *testing.T) {
	var missing error
	admin := httpserver.NewAdmin(telemetry.NewRegistry(), httpserver.Check{Name: "redis", Ready: func(context.Context) error { return missing }})
	server := httptest.NewServer(admin)
	defer server.Close()

	if status, body := get(t, server.URL+"/readyz"); status != http.StatusOK || body != "ready\n" {
		t.Errorf("ready: %d %q", status, body)
	}
	missing = errors.New("connection refused")
	if status, body := get(t, server.URL+"/readyz"); status != http.StatusServiceUnavailable || body != "redis: connection refused\n" {
		t.Errorf("not ready: %d %q", status, body)
	}
	if status, _ := get(t, server.URL+"/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d", status)
	}
	if _, body := get(t, server.URL+"/metrics"); !strings.Contains(body, "build_info") || !strings.Contains(body, "go_goroutines") {
		t.Error("metrics lack build_info or go_goroutines")
	}
	if status, _ := get(t, server.URL+"/debug/pprof/"); status != http.StatusOK {
		t.Errorf("pprof: %d", status)
	}

	missing = nil
	hung := httptest.NewServer(httpserver.NewAdmin(telemetry.NewRegistry(),
		httpserver.Check{Name: "postgres", Ready: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		httpserver.Check{Name: "broker", Ready: func(ctx context.Context) error { return ctx.Err() }},
	))
	defer hung.Close()
	if _, body := get(t, hung.URL+"/readyz"); body != "postgres: context deadline exceeded\n" {
		t.Errorf("one that hangs is blamed on another: %q", body)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := admin.Stopping(ctx); err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, server.URL+"/readyz"); status != http.StatusServiceUnavailable || body != "stopping\n" {
		t.Errorf("stopping: %d %q", status, body)
	}
}

func TestReachableSaysWhetherSomebodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	check := httpserver.Reachable("links", server.URL)
	if err := check.Ready(t.Context()); err != nil || check.Name != "links" {
		t.Errorf("%s: %v", check.Name, err)
	}
	server.Close()
	if check.Ready(t.Context()) == nil {
		t.Error("a closed port is reachable")
	}
	// The system takes connections for a process that hangs.
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if httpserver.Reachable("links", "http://"+silent.Addr().String()).Ready(ctx) == nil {
		t.Error("a process that hangs is reachable")
	}
}

// deadlines records the read deadlines of a connection.
type deadlines struct {
	net.Conn
	last chan time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	select {
	case <-d.last:
	default:
	}
	d.last <- t
	return d.Conn.SetReadDeadline(t)
}

type recordingListener struct {
	net.Listener
	last chan time.Time
}

func (l *recordingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &deadlines{conn, l.last}, nil
}

// The limit on reading a request does not end the answer to one that has been read.
//
// Guards I73.
func TestALongAnswerIsNotEndedByTheLimitOfItsRequest(t *testing.T) {
	plain, err := httpserver.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &recordingListener{plain, make(chan time.Time, 1)}
	begun := make(chan time.Time, 1)
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { begun <- <-listener.last })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- httpserver.New(listener, handler, time.Second, slog.New(slog.DiscardHandler)).Run(ctx) }()
	check := func(body io.Reader, limited bool) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+plain.Addr().String(), body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if last := <-begun; last.IsZero() == limited {
			t.Errorf("the deadline in the handler is %v, want one: %t", last, limited)
		}
	}
	check(http.NoBody, false)
	check(strings.NewReader("a body"), true)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
