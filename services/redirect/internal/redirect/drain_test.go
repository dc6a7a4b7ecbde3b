package redirect_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/origintest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

// A request waits for the origin when the grace period ends. It is answered before the
// server has ended, and its connection is closed, because the look-up is, too, by then.
func TestNothingIsLookedUpAfterADrainThatTimedOut(t *testing.T) {
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	origin, open := origintest.New(), make(chan struct{})
	defer origin.Close()
	defer close(open)
	origin.SetGate(func(string) { <-open })
	recorded, err := clicks.New(t.Context(), kafka.Options([]string{"127.0.0.1:1"}, "test", log),
		clicks.Settings{Edge: "e", JournalDir: t.TempDir(), JournalMaxBytes: clicks.MinJournalBytes}, registry, log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = recorded.Close() }()
	links, err := lookup.New(linkcache.NewStore(redistest.Start(t).Client(t)), lookup.NewOriginClient(origin.URL),
		lookup.Settings{MaxBytes: 32 << 20, Counters: 10_000, TTL: time.Minute}, registry, log)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := redirect.New(links, recorded, domains.New(), nil, redirect.Settings{DefaultDomain: "s.test"}, registry)
	server, err := http1.NewServer(listener, handler, http1.Settings{Loops: 1, Grace: 50 * time.Millisecond, Waits: http1.DefaultWaits()}, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	ask := func(slug string) {
		t.Helper()
		if _, err := conn.Write([]byte("GET /" + slug + " HTTP/1.1\r\nHost: s.test\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	unavailable := func(what string) {
		t.Helper()
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d, want 503", what, answer.StatusCode)
		}
	}

	ask("waiting")
	facttest.Eventually(t, "the origin is asked", func() bool { return origin.Asked() == 1 })
	stop()
	if err := <-ended; err == nil {
		t.Error("a drain that timed out is not reported")
	}
	if n := facttest.Metric(t, registry, "redirect_responses_total", "503"); n != 1 {
		t.Errorf("%v requests answered with 503 when the server has ended, want the one that was cut off", n)
	}
	if err := links.Run(ctx); err != nil { // ctx is done: it closes what look-ups need
		t.Error(err)
	}
	unavailable("the request that was cut off")
	if _, err := answers.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection has not ended: %v", err)
	}
	if n := facttest.Metric(t, registry, "cache_l1_miss_total", ""); n != 1 {
		t.Errorf("%v look-ups, want the one before the end", n)
	}
}
