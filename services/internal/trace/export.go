package trace

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/config"
)

const (
	queued      = 2048            // spans that may wait; more are dropped and counted
	perBatch    = 256             // spans in one request
	exportEvery = 2 * time.Second // or sooner, when a batch is full
	exportLimit = 5 * time.Second // for one request, and for the last ones when the process stops
)

// Collector is where spans go, as settings of a process that can be followed.
type Collector struct {
	TracesURL   string  `env:"TRACES_URL" help:"an OpenTelemetry collector's OTLP/HTTP listener, for instance http://127.0.0.1:4318; without it nothing is traced"`
	TracesShare float64 `env:"TRACES_SHARE" envDefault:"0.01" help:"which share of changes is traced, from 0 to 1; decided where a change begins"`
}

// CheckTraces is for the Validate of the settings that Collector is part of.
func (s Collector) CheckTraces() error {
	return errors.Join(CheckURL("TRACES_URL", s.TracesURL), CheckShare("TRACES_SHARE", s.TracesShare))
}

// CheckURL checks the setting of a collector, which there need not be.
func CheckURL(name, url string) error {
	if url == "" {
		return nil
	}
	return config.CheckURL(name, url)
}

// CheckShare checks a setting that is a share.
func CheckShare(name string, share float64) error {
	if share >= 0 && share <= 1 { // which NaN is not
		return nil
	}
	return fmt.Errorf("%s%s must be from 0 to 1", config.Prefix, name)
}

// Tracer makes spans and sends them. A nil Tracer makes none.
type Tracer struct {
	share   float64
	service string
	url     string
	client  *http.Client
	queue   chan ended
	dropped *prometheus.CounterVec
	tooMany prometheus.Counter // of dropped, where it is counted while somebody waits
	sent    prometheus.Counter
	log     *slog.Logger

	second, asked atomic.Int64 // how many callers have asked for a trace in which second
}

// New returns the tracer that the settings ask for, nil if they ask for none.
func New(s Collector, service string, registry prometheus.Registerer, log *slog.Logger) *Tracer {
	if s.TracesURL == "" {
		return nil
	}
	url := strings.TrimSuffix(s.TracesURL, "/")
	if !strings.HasSuffix(url, "/v1/traces") {
		url += "/v1/traces"
	}
	t := &Tracer{
		share: s.TracesShare, service: service, url: url, client: &http.Client{Timeout: exportLimit}, queue: make(chan ended, queued), log: log,
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "trace_spans_dropped_total", Help: "Spans that nobody will see, by reason."}, []string{"reason"}),
		sent:    prometheus.NewCounter(prometheus.CounterOpts{Name: "trace_spans_sent_total", Help: "Spans that the collector took."}),
	}
	t.tooMany = t.dropped.WithLabelValues("too_many")
	registry.MustRegister(t.dropped, t.sent)
	return t
}

// take queues a span. Policy: what it follows never waits for it.
func (t *Tracer) take(e ended) {
	select {
	case t.queue <- e:
	default:
		t.dropped.WithLabelValues("queue_full").Inc()
	}
}

// Run sends spans until ctx is done, and then what is queued, for a moment. A collector
// that is away costs the spans of that time, and two lines in the log.
func (t *Tracer) Run(ctx context.Context) error {
	if t == nil {
		<-ctx.Done()
		return nil
	}
	defer t.client.CloseIdleConnections()
	tick := time.NewTicker(exportEvery)
	defer tick.Stop()
	var batch []ended
	away := false
	send := func(ctx context.Context) {
		if len(batch) == 0 {
			return
		}
		err := t.export(ctx, batch)
		switch {
		case err != nil:
			t.dropped.WithLabelValues("refused").Add(float64(len(batch)))
			if !away {
				t.log.WarnContext(ctx, "traces are lost", "err", err)
			}
		case away:
			t.log.InfoContext(ctx, "traces are taken again")
		}
		if err == nil {
			t.sent.Add(float64(len(batch)))
		}
		away, batch = err != nil, batch[:0]
	}
	for {
		select {
		case e := <-t.queue:
			if batch = append(batch, e); len(batch) == perBatch {
				send(ctx)
			}
		case <-tick.C:
			send(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), exportLimit)
			defer cancel()
			for {
				select {
				case e := <-t.queue:
					if batch = append(batch, e); len(batch) == perBatch {
						send(last)
					}
				default:
					send(last)
					return nil
				}
			}
		}
	}
}

func (t *Tracer) export(ctx context.Context, batch []ended) error {
	body, err := json.Marshal(t.document(batch))
	if err != nil {
		return fmt.Errorf("writing spans: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("making the request: LINKSTREAM_TRACES_URL is none") // the URL may hold a password
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %d", response.StatusCode)
	}
	return nil
}

// The document is OTLP's ExportTraceServiceRequest in its JSON form: ids in hex, 64-bit
// numbers as text.
type (
	document struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	spanJSON struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       Kind       `json:"kind"`
		Begun      string     `json:"startTimeUnixNano"`
		Ended      string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Status     *status    `json:"status,omitempty"`
	}
	status struct {
		Code int `json:"code"`
	}
	keyValue struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text string `json:"stringValue"`
	}
)

func (t *Tracer) document(batch []ended) document {
	spans := make([]spanJSON, len(batch))
	for i, e := range batch {
		s := spanJSON{
			TraceID: hex.EncodeToString(e.here.Trace[:]), SpanID: hex.EncodeToString(e.here.Span[:]), Name: e.name, Kind: e.kind,
			Begun: strconv.FormatInt(e.begun.UnixNano(), 10), Ended: strconv.FormatInt(e.at.UnixNano(), 10),
		}
		if e.parent != [8]byte{} {
			s.ParentID = hex.EncodeToString(e.parent[:])
		}
		for _, a := range e.attributes {
			s.Attributes = append(s.Attributes, keyValue{a.key, value{a.value}})
		}
		if e.failed {
			s.Status = &status{Code: 2} // STATUS_CODE_ERROR
		}
		spans[i] = s
	}
	return document{[]resourceSpans{{
		Resource:   resource{[]keyValue{{"service.name", value{t.service}}}},
		ScopeSpans: []scopeSpans{{scope{"linkstream"}, spans}},
	}}}
}
