package apply_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/services/cacheupdater/internal/apply"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/trace"
)

// A record that carries a trace becomes a span of it, in the region where it was applied;
// others become none.
//
// Guards I88.
func TestAFollowedChangeIsSeenWhereItIsApplied(t *testing.T) {
	w := newWorld(t)
	type span struct {
		TraceID, ParentSpanID, Name string
		Attributes                  []struct {
			Key   string
			Value struct{ StringValue string }
		}
	}
	spans := make(chan span, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var document struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.NewDecoder(r.Body).Decode(&document); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, s := range document.ResourceSpans[0].ScopeSpans[0].Spans {
			spans <- s
		}
	}))
	t.Cleanup(collector.Close)
	log := slog.New(slog.DiscardHandler)
	tracer := trace.New(trace.Collector{TracesURL: collector.URL}, "cacheupdater", prometheus.NewRegistry(), log)
	updater, err := apply.New(kafka.Options(w.brokers, "test", log), w.open(),
		apply.Settings{Region: region, DrainTimeout: 5 * time.Second, Tracer: tracer}, prometheus.NewRegistry(), log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for _, run := range []func(context.Context) error{updater.Run, tracer.Run} {
		go func() { ended <- run(ctx) }()
	}
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})

	quiet, followed := newLink("quiet"), newLink("followed")
	record := followed.created(t, 2, "https://e.test/2")
	record.Headers = append(record.Headers, kgo.RecordHeader{Key: trace.Header, Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")})
	w.produce(t, quiet.created(t, 1, "https://e.test/1"), record)
	select {
	case s := <-spans:
		if s.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || s.ParentSpanID != "00f067aa0ba902b7" || s.Name != "apply" {
			t.Errorf("the span is %+v", s)
		}
		if len(s.Attributes) != 3 || s.Attributes[0].Key != "linkstream.region" || s.Attributes[0].Value.StringValue != region {
			t.Errorf("it says %+v", s.Attributes)
		}
	case <-time.After(patience):
		t.Fatal("no span comes")
	}
	w.holds(t, "followed", 2, "https://e.test/2")
	w.holds(t, "quiet", 1, "https://e.test/1")
	for len(spans) > 0 { // a record may be applied again, when Redis turns out to be new
		if s := <-spans; s.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("another span came: %+v", s)
		}
	}
}
