package trace_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/services/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTraceparents(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	check := func(text, want string) {
		t.Helper()
		c, err := trace.Parse(text)
		if c.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q is read as %q, %v; want %q", text, c.String(), err, want)
		}
	}
	check(good, good)
	check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
	check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", good) // what other bits mean is not known
	check("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", good)
	check("", "")
	check(good+"-more", "")
	check("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "")
	check("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", "")
	check("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more", "")
	check("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "")
	check("00-00000000000000000000000000000000-00f067aa0ba902b7-01", "")
	check("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "")
	check("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "")
	check("00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", "")
	check("00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", "")
}

// Off, which is the default, is free.
//
// Guards I88.
func TestNothingIsAllocatedWhereTracingIsOff(t *testing.T) {
	tracer := trace.New(trace.Collector{TracesShare: 1}, "test", prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		span := tracer.Follow(trace.From(ctx), "apply", trace.Consumer)
		span.Set("a", "b")
		_ = trace.Into(ctx, span.Context())
		span.End(true)
	}); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
	h := http.NewServeMux()
	if tracer.Handler(h, nil) != http.Handler(h) {
		t.Error("the handler is wrapped all the same")
	}
}

// collector takes spans as a real one does.
type collector struct {
	spans chan map[string]any
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var document struct {
		ResourceSpans []struct {
			Resource   json.RawMessage
			ScopeSpans []struct{ Spans []map[string]any }
		}
	}
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &document) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, resource := range document.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				span["resource"] = string(resource.Resource)
				c.spans <- span
			}
		}
	}
}

// What one process begins another goes on with, by what a record header carries.
//
// Guards I88.
func TestATraceGoesThroughTwoProcesses(t *testing.T) {
	seen := &collector{spans: make(chan map[string]any, 10)}
	server := httptest.NewServer(seen)
	defer server.Close()
	settings := trace.Collector{TracesURL: server.URL, TracesShare: 1}
	log := slog.New(slog.DiscardHandler)
	links := trace.New(settings, "links", prometheus.NewRegistry(), log)
	updater := trace.New(trace.Collector{TracesURL: server.URL, TracesShare: 0}, "cacheupdater", prometheus.NewRegistry(), log) // follows what others began

	var carried string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/links", func(w http.ResponseWriter, r *http.Request) {
		carried = trace.From(r.Context()).String()
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("GET /v1/links", func(_ http.ResponseWriter, r *http.Request) {
		if !trace.From(r.Context()).IsZero() {
			t.Error("a question is followed")
		}
	})
	api := links.Handler(mux, func(r *http.Request) string {
		_, route := mux.Handler(r)
		return route
	})
	call := func(method string) {
		r := httptest.NewRequestWithContext(t.Context(), method, "/v1/links", http.NoBody)
		r.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
		r.Header.Set("Authorization", "Bearer secret")
		api.ServeHTTP(httptest.NewRecorder(), r)
	}
	call(http.MethodGet)
	call(http.MethodPost)
	parent, err := trace.Parse(carried)
	if err != nil {
		t.Fatal(err)
	}
	span := updater.Follow(parent, "apply", trace.Consumer)
	span.Set("region", "fra")
	span.End(false)
	if updater.Begin(trace.Context{}, "apply", trace.Consumer) != nil {
		t.Error("a share of 0 begins a trace")
	}

	stopped, cancel := context.WithCancel(t.Context())
	cancel() // what is queued is sent all the same
	for _, tracer := range []*trace.Tracer{links, updater} {
		if err := tracer.Run(stopped); err != nil {
			t.Fatal(err)
		}
	}
	first, second := <-seen.spans, <-seen.spans
	for _, s := range []map[string]any{first, second} {
		if s["traceId"] != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%v is in a trace of its own", s)
		}
	}
	if first["name"] != "POST /v1/links" || first["parentSpanId"] != "00f067aa0ba902b7" || first["kind"] != 2.0 || first["status"] == nil || !strings.Contains(first["resource"].(string), `"links"`) {
		t.Errorf("the API's span is %v", first)
	}
	if second["name"] != "apply" || second["parentSpanId"] != first["spanId"] || second["status"] != nil || !strings.Contains(second["resource"].(string), `"cacheupdater"`) {
		t.Errorf("the updater's span is %v", second)
	}
	if text, _ := json.Marshal(first); strings.Contains(string(text), "secret") {
		t.Errorf("%s holds a secret", text)
	}
}

// A collector that is away costs spans, and nothing else.
//
// Guards I88.
func TestACollectorThatIsAwayHoldsNobodyUp(t *testing.T) {
	registry, log := prometheus.NewRegistry(), &strings.Builder{}
	tracer := trace.New(trace.Collector{TracesURL: "http://user:secret@127.0.0.1:1", TracesShare: 1}, "test", registry, slog.New(slog.NewTextHandler(log, nil)))
	for range 3000 { // more than may wait, with nobody sending
		tracer.Begin(trace.Context{}, "x", trace.Server).End(false)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tracer.Run(stopped); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var dropped float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			dropped += m.GetCounter().GetValue()
		}
	}
	if dropped != 3000 {
		t.Errorf("%v of 3000 spans are accounted for", dropped)
	}
	if said := log.String(); strings.Count(said, "\n") != 1 || strings.Contains(said, "secret") {
		t.Errorf("it says %s", said)
	}
}
