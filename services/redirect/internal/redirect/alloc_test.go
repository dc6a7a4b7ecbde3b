//go:build !race

package redirect_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/valyala/fasthttp"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/origintest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

// A HEAD is the whole hit without the click: nothing may be allocated. A GET may
// allocate what it gives away: the click's bytes, its record, and what franz-go
// keeps of it.
const (
	headAllocs = 0
	getAllocs  = 6
)

func TestHitStaysInBudget(t *testing.T) {
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, string(events.Clicks)))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	origin := origintest.New()
	defer origin.Close()
	store := linkcache.NewStore(redistest.Start(t).Client(t))
	producer, err := clicks.New(kafka.Options(cluster.ListenAddrs(), "test", log),
		clicks.Settings{MaxBufferBytes: 64 << 20, DrainTimeout: time.Second}, registry, log)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Client().Close()
	links, err := lookup.New(store, lookup.NewOriginClient(origin.URL), lookup.Settings{MaxBytes: 32 << 20, Counters: 10_000, TTL: time.Hour}, registry, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	done := make(chan struct{})
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() { _ = links.Run(runCtx); close(done) }()
	defer func() { stop(); <-done }()
	h := redirect.New(links, producer, redirect.Settings{DefaultDomain: "s.test", ServerTiming: true, Region: "fra", Edge: "e"}, registry)
	// Nobody announces anything here: the origin's own word is good for a second,
	// and the measurement is done by then.
	origin.Put(change("s.test", "launch", linkcache.Record{Destination: "https://e.test/", Version: 1, Revision: 1}, 302))

	var rc fasthttp.RequestCtx
	var req fasthttp.Request
	req.Header.SetMethod("HEAD")
	req.SetRequestURI("/launch?utm_source=x")
	req.Header.SetHost("s.test")
	req.Header.SetUserAgent("Mozilla/5.0")
	rc.Init(&req, nil, nil)
	measure := func(method string, budget float64) {
		t.Helper()
		rc.Request.Header.SetMethod(method)
		facttest.Eventually(t, "it is a hit", func() bool {
			rc.Response.Reset()
			h.Serve(ctx, &rc)
			return string(rc.Response.Header.Peek("Server-Timing")) == "cache;desc=l1"
		})
		got := testing.AllocsPerRun(500, func() {
			rc.Response.Reset()
			h.Serve(ctx, &rc)
		})
		if timing := string(rc.Response.Header.Peek("Server-Timing")); timing != "cache;desc=l1" || rc.Response.StatusCode() != 302 {
			t.Fatalf("%s: not a hit: %s, %d", method, timing, rc.Response.StatusCode())
		}
		t.Logf("%s: %v allocations", method, got)
		if got > budget {
			t.Errorf("%s: a hit allocates %v times, the budget is %v", method, got, budget)
		}
	}
	measure("HEAD", headAllocs)
	measure("GET", getAllocs)
}
