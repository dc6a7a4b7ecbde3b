// Package tracetest is an OpenTelemetry collector for tests: it takes what programs send
// and refuses what is not OTLP over HTTP in JSON.
package tracetest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Span is one span as it came.
type Span struct {
	TraceID, SpanID, ParentSpanID string
	Name                          string
	Kind                          int
	Attributes                    map[string]string
	Failed                        bool
	Service                       string
	Took                          time.Duration
}

// Collector keeps what it was sent.
type Collector struct {
	URL string

	mu    sync.Mutex
	spans []Span
	raw   strings.Builder
}

// Start starts a collector, until the test ends.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	tb.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

type keyValue struct {
	Key   string
	Value struct{ StringValue string }
}

func named(list []keyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.Key] = a.Value.StringValue
	}
	return out
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var document struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []keyValue }
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					Kind                                int
					StartTimeUnixNano, EndTimeUnixNano  int64 `json:",string"`
					Attributes                          []keyValue
					Status                              struct{ Code int }
				}
			}
		}
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &document) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	for _, resource := range document.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, Span{
					TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: s.ParentSpanID, Name: s.Name, Kind: s.Kind,
					Attributes: named(s.Attributes), Failed: s.Status.Code == 2, Service: named(resource.Resource.Attributes)["service.name"],
					Took: time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano),
				})
			}
		}
	}
}

// Take returns what came since the last call, the spans that ended first before others.
func (c *Collector) Take() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := c.spans
	c.spans = nil
	return spans
}

// Text is all that ever came, as it came.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// Sent runs a tracer for as long as it takes to send what it holds.
func Sent(tb testing.TB, run func(ctx context.Context) error) {
	tb.Helper()
	stopped, cancel := context.WithCancel(tb.Context())
	cancel() // what is queued is sent all the same
	if err := run(stopped); err != nil {
		tb.Error(err)
	}
}

// Named is the span of a name, which has to be the only one.
func Named(tb testing.TB, spans []Span, name string) Span {
	tb.Helper()
	n := 0
	for _, s := range spans {
		if s.Name == name {
			n++
		}
	}
	i := slices.IndexFunc(spans, func(s Span) bool { return s.Name == name })
	if n != 1 {
		tb.Fatalf("%d spans %q in %+v", n, name, spans)
	}
	return spans[i]
}
