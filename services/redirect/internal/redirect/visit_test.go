package redirect_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/internal/tracetest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
	sampled      = "traceparent: 00-" + callersTrace + "-" + callersSpan + "-01"
	notSampled   = "traceparent: 00-" + callersTrace + "-" + callersSpan + "-00"
)

func tracing(tracer *trace.Tracer, share float64) func(*redirect.Settings) {
	return func(s *redirect.Settings) { s.Tracer, s.Traced = tracer, share }
}

func newTracer(url string) *trace.Tracer {
	return trace.New(trace.Collector{TracesURL: url}, "redirect", prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
}

// A visit that a trusted proxy follows goes on in its trace, to Redis and to the origin,
// which is told where it is.
//
// Guards I99.
func TestAFollowedVisitIsSeenWhereItIsAnswered(t *testing.T) {
	collector := tracetest.Start(t)
	tracer := newTracer(collector.URL)
	w := newWorld(t, trusting("127.0.0.0/8"), tracing(tracer, 0))
	w.origin.Put(change("s.test", "secret-slug", linkcache.Record{Destination: "https://secret-target.test/", Version: 1, Revision: 1}, 302))
	ask := func(path, source string, headers ...string) {
		t.Helper()
		headers = append(headers, "X-Forwarded-For: 203.0.113.9", "User-Agent: secret-agent", "Referer: https://secret-referrer.test/", "Cookie: secret=cookie")
		if r := w.get(t, path+"?secret-query=1", headers...); !strings.Contains(r.header["Server-Timing"], source) {
			t.Errorf("%s: answered by %q, want %s", path, r.header["Server-Timing"], source)
		}
	}
	ask("/secret-slug", "origin", sampled)
	tracetest.Sent(t, tracer.Run)
	spans := collector.Take()
	visit := tracetest.Named(t, spans, "visit")
	if visit.TraceID != callersTrace || visit.ParentSpanID != callersSpan || visit.Kind != int(trace.Server) || visit.Service != "redirect" || visit.Failed || visit.Took <= 0 {
		t.Errorf("the visit's span is %+v", visit)
	}
	for key, want := range map[string]string{
		"http.request.method": "GET", "http.response.status_code": "302", "linkstream.cache": "origin",
		"linkstream.region": "fra", "linkstream.edge": "redirect-fra-0",
	} {
		if visit.Attributes[key] != want {
			t.Errorf("%s is %q, want %q", key, visit.Attributes[key], want)
		}
	}
	origin := tracetest.Named(t, spans, "ask origin")
	for _, s := range []tracetest.Span{origin, tracetest.Named(t, spans, "read redis"), tracetest.Named(t, spans, "write redis")} {
		if s.TraceID != callersTrace || s.ParentSpanID != visit.SpanID || s.Kind != int(trace.Client) || s.Failed {
			t.Errorf("%+v is no child of the visit", s)
		}
	}
	if callers := w.origin.Callers(); len(callers) != 1 || callers[0] != "00-"+callersTrace+"-"+origin.SpanID+"-01" {
		t.Errorf("the origin was told %q", callers)
	}

	facttest.Eventually(t, "it is a hit", func() bool { return w.get(t, "/secret-slug").header["Server-Timing"] == "cache;desc=l1" })
	ask("/secret-slug", "l1", sampled)
	ask("/secret-slug", "l1", notSampled)
	ask("/secret-slug", "l1", "traceparent: nonsense")
	ask("/secret-slug", "l1")
	tracetest.Sent(t, tracer.Run)
	if spans := collector.Take(); len(spans) != 1 || spans[0].Attributes["linkstream.cache"] != "l1" || spans[0].ParentSpanID != callersSpan {
		t.Errorf("a hit's spans are %+v", spans)
	}

	w.origin.SetDown(true)
	w.get(t, "/other", sampled)
	tracetest.Sent(t, tracer.Run)
	spans = collector.Take()
	if !tracetest.Named(t, spans, "visit").Failed || !tracetest.Named(t, spans, "ask origin").Failed || tracetest.Named(t, spans, "read redis").Failed {
		t.Errorf("a visit that failed at the origin has the spans %+v", spans)
	}
	for _, word := range []string{"secret", "203.0.113", "127.0.0.1", "s.test"} {
		if strings.Contains(collector.Text(), word) {
			t.Errorf("the collector was told %q", word)
		}
	}
}

// A stranger's traceparent is nothing: nor is a visit followed for it, nor is it in the
// traces of those that are.
//
// Guards I99.
func TestAStrangerDoesNotSayWhatIsFollowed(t *testing.T) {
	collector := tracetest.Start(t)
	none, all := newTracer(collector.URL), newTracer(collector.URL)
	w := newWorld(t, trusting("10.0.0.0/8"), tracing(none, 0))
	w.get(t, "/a", sampled)
	w.get(t, "/a", sampled)
	w.get(t, "/robots.txt", sampled)
	tracetest.Sent(t, none.Run)
	if spans := collector.Take(); len(spans) > 0 {
		t.Errorf("a stranger has made the spans %+v", spans)
	}
	w = newWorld(t, trusting("10.0.0.0/8"), tracing(all, 1))
	w.get(t, "/a", sampled)
	w.get(t, "/robots.txt", sampled)
	w.send(t, "BREW", "/a", "s.test", sampled)
	tracetest.Sent(t, all.Run)
	roots := map[string]bool{}
	for _, s := range collector.Take() {
		if s.TraceID == callersTrace {
			t.Errorf("%+v is in a stranger's trace", s)
		}
		if s.Name == "visit" {
			roots[s.TraceID+s.Attributes["http.request.method"]+s.Attributes["linkstream.cache"]] = s.ParentSpanID == ""
		}
	}
	if len(roots) != 3 {
		t.Errorf("three visits are the traces %v", roots)
	}
	for root, first := range roots {
		if !first {
			t.Errorf("%s has a parent", root)
		}
	}
	if callers := w.origin.Callers(); len(callers) != 1 || callers[0] == "" || strings.Contains(callers[0], callersTrace) {
		t.Errorf("the origin was told %q", callers)
	}
}
