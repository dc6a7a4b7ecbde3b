package trace_test

import (
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/internal/tracetest"
)

func asked() trace.Context {
	return trace.Context{Trace: [16]byte{1}, Span: [8]byte{2}, Sampled: true}
}

// Guards I99.
func TestASamplerPicksItsShare(t *testing.T) {
	const calls = 200_000
	tracer := trace.New(trace.Collector{TracesURL: "http://127.0.0.1:1"}, "test", prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	picks := func(share float64, parent trace.Context) (n int) {
		s := tracer.Sampler(share)
		for range calls {
			if s.Pick(parent, "visit", trace.Server, time.Now()) != nil {
				n++
			}
		}
		return n
	}
	check := func(share float64, parent trace.Context) {
		t.Helper()
		want := share * calls
		// Six times the deviation of so many throws: once in a thousand million runs it is more.
		if got := float64(picks(share, parent)); math.Abs(got-want) > 6*math.Sqrt(want*(1-share)) {
			t.Errorf("a share of %v of %d calls was %v", share, calls, got)
		}
	}
	check(0, trace.Context{})
	check(0, trace.Context{Trace: [16]byte{1}, Span: [8]byte{2}}) // of a caller who does not follow it
	check(0.001, trace.Context{})
	check(0.3, trace.Context{})
	check(1, trace.Context{})
}

// What callers ask for is bounded, and what is left out is counted; the own share is not
// touched by it.
//
// Guards I99.
func TestCallersMayAskForSoManyTracesASecond(t *testing.T) {
	registry := prometheus.NewRegistry()
	tracer := trace.New(trace.Collector{TracesURL: "http://127.0.0.1:1"}, "test", registry, slog.New(slog.DiscardHandler))
	now := time.Now()
	picked := func(s *trace.Sampler, now time.Time) (n int) {
		for range 1000 {
			if span := s.Pick(asked(), "visit", trace.Server, now); span != nil {
				n++
				if at := span.Context(); at.Trace != asked().Trace || at.Span == asked().Span {
					t.Fatalf("the span is at %v", at)
				}
			}
		}
		return n
	}
	if n := picked(tracer.Sampler(0), now); n != 100 {
		t.Errorf("%d traces of 1000 that were asked for in a second, want 100", n)
	}
	if n := picked(tracer.Sampler(0), now); n != 0 { // another goroutine's
		t.Errorf("%d more in the same second", n)
	}
	if n := picked(tracer.Sampler(0), now.Add(time.Second)); n != 100 {
		t.Errorf("%d traces in the next second, want 100", n)
	}
	if n := picked(tracer.Sampler(1), now.Add(time.Second)); n != 1000 {
		t.Errorf("%d of 1000 with a share of all", n)
	}
	if n := facttest.Metric(t, registry, "trace_spans_dropped_total", "too_many"); n != 900+1000+900 {
		t.Errorf("%v are counted as left out", n)
	}
}

// Who is called goes on with the caller's trace, if there is one, and begins none.
//
// Guards I99.
func TestATraceGoesWithACall(t *testing.T) {
	collector := tracetest.Start(t)
	settings := trace.Collector{TracesURL: collector.URL, TracesShare: 1}
	log := slog.New(slog.DiscardHandler)
	edge, links := trace.New(settings, "redirect", prometheus.NewRegistry(), log), trace.New(settings, "links", prometheus.NewRegistry(), log)
	mux := http.NewServeMux()
	var inside []trace.Context
	mux.HandleFunc("POST /origin/", func(_ http.ResponseWriter, r *http.Request) { inside = append(inside, trace.From(r.Context())) })
	server := httptest.NewServer(links.Followed(mux, func(r *http.Request) string {
		_, route := mux.Handler(r)
		return route
	}))
	t.Cleanup(server.Close)
	client := &http.Client{Transport: trace.Carrying(http.DefaultTransport)}
	t.Cleanup(client.CloseIdleConnections)
	call := func(at trace.Context) {
		t.Helper()
		r, err := http.NewRequestWithContext(trace.Into(t.Context(), at), http.MethodPost, server.URL+"/origin/what", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if r.Header.Get("traceparent") != "" {
			t.Error("the caller's request was changed")
		}
	}
	call(trace.Context{})
	span := edge.Follow(asked(), "ask origin", trace.Client)
	call(span.Context())
	span.End(false)
	tracetest.Sent(t, edge.Run)
	tracetest.Sent(t, links.Run)
	spans := collector.Take()
	asking, answering := tracetest.Named(t, spans, "ask origin"), tracetest.Named(t, spans, "POST /origin/")
	if len(spans) != 2 || answering.TraceID != asking.TraceID || answering.ParentSpanID != asking.SpanID || answering.Service != "links" || answering.Kind != int(trace.Server) {
		t.Errorf("the spans are %+v", spans)
	}
	if len(inside) != 2 || !inside[0].IsZero() || inside[1].IsZero() {
		t.Errorf("the handler was at %v", inside)
	}
}

// BenchmarkPick is what a request pays that is not picked.
func BenchmarkPick(b *testing.B) {
	run := func(name string, tracer *trace.Tracer, share float64) {
		b.Run(name, func(b *testing.B) {
			s := tracer.Sampler(share)
			b.ReportAllocs()
			for b.Loop() {
				if s.Pick(trace.Context{}, "visit", trace.Server, time.Time{}) != nil {
					b.Fatal("it was picked")
				}
			}
		})
	}
	run("off", nil, 0)
	run("on", trace.New(trace.Collector{TracesURL: "http://127.0.0.1:1"}, "test", prometheus.NewRegistry(), slog.New(slog.DiscardHandler)), 0)
}
