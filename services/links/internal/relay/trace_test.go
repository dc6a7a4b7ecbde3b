package relay

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// A change that is followed is followed into its record, whether or not this process has
// a collector; one that is not carries nothing.
//
// Guards I88.
func TestATraceGoesThroughTheOutbox(t *testing.T) {
	w := newWorld(t)
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	parent, err := trace.Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if err != nil {
		t.Fatal(err)
	}
	seen, unseen := parent, parent
	unseen.Sampled = false
	create := func(slug string, at trace.Context) {
		t.Helper()
		c, err := w.rules.CheckNew(link.Change{Destination: link.Some("https://e.test/1"), Slug: link.Some(slug)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Create(trace.Into(t.Context(), at), w.workspace, c); err != nil {
			t.Fatal(err)
		}
	}
	check := func(followed bool, slug string) {
		t.Helper()
		record := w.read(t, 1)[0]
		text := header(record, trace.Header)
		if !followed {
			if text != "" {
				t.Errorf("%s: the record carries %s", slug, text)
			}
			return
		}
		at, err := trace.Parse(text)
		if err != nil || at.Trace != parent.Trace || !at.Sampled {
			t.Errorf("%s: the record carries %q, %v", slug, text, err)
		}
	}

	stop := start(t, w.relay(t))
	create("untraced", trace.Context{})
	check(false, "untraced")
	create("unseen", unseen)
	check(false, "unseen")
	create("passed", seen)
	check(true, "passed")
	stop()

	registry := prometheus.NewRegistry()
	relay := w.relay(t)
	relay.Trace(trace.New(trace.Collector{TracesURL: collector.URL}, "links", registry, slog.New(slog.DiscardHandler)))
	start(t, relay)
	create("spanned", seen)
	record := w.read(t, 1)[0]
	if at, err := trace.Parse(header(record, trace.Header)); err != nil || at.Trace != parent.Trace || at.Span == parent.Span {
		t.Errorf("the record of a relay with a tracer carries %q, %v", header(record, trace.Header), err)
	}
}
