package deliver

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

type metrics struct {
	attempts    *prometheus.CounterVec
	seconds     prometheus.Histogram
	disabledNow *prometheus.GaugeVec
	disabledAll *prometheus.CounterVec
	pending     prometheus.Gauge
	age         prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry) *metrics {
	m := &metrics{
		attempts:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "webhook_attempts_total", Help: "Attempts to deliver, by what became of the delivery."}, []string{"result"}),
		seconds:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "webhook_attempt_seconds", Help: "How long an attempt took.", Buckets: []float64{.01, .03, .1, .3, 1, 3, 10}}),
		disabledNow: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "webhook_endpoints_disabled", Help: "Endpoints that are disabled, by reason."}, []string{"reason"}),
		disabledAll: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "webhook_endpoints_disabled_total", Help: "Endpoints that this process disabled, by reason."}, []string{"reason"}),
		pending:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "webhook_queue_pending", Help: "Deliveries that are queued and not done."}),
		age:         prometheus.NewGauge(prometheus.GaugeOpts{Name: "webhook_queue_age_seconds", Help: "For how long the delivery has been due that has been due longest."}),
	}
	for _, result := range results() {
		m.attempts.WithLabelValues(result)
	}
	for _, reason := range reasons() {
		m.disabledNow.WithLabelValues(string(reason))
		m.disabledAll.WithLabelValues(string(reason))
	}
	registry.MustRegister(m.attempts, m.seconds, m.disabledNow, m.disabledAll, m.pending, m.age)
	return m
}

func reasons() []endpoint.Reason {
	return []endpoint.Reason{endpoint.ByRequest, endpoint.Gone, endpoint.Failing, endpoint.QueueFull}
}

// results are the labels of postgres.Outcome, in its order.
func results() []string { return []string{"delivered", "retry", "given_up", "gone"} }

func (m *metrics) observe(r postgres.Result) {
	m.attempts.WithLabelValues(results()[r.Outcome]).Inc()
	m.seconds.Observe(r.Attempt.Took.Seconds())
}

func (m *metrics) disabled(reason endpoint.Reason) {
	m.disabledAll.WithLabelValues(string(reason)).Inc()
}

// Caretaker sweeps the queue and measures it.
type Caretaker struct {
	store    *postgres.Store
	keep     time.Duration
	maxQueue int
	metrics  *metrics
	log      *slog.Logger
}

// Caretaker returns one for the deliverer's queue. Deliveries that are done are kept for
// as long as keep; an endpoint for which more than maxQueue wait is disabled.
func (d *Deliverer) Caretaker(keep time.Duration, maxQueue int) *Caretaker {
	return &Caretaker{store: d.store, keep: keep, maxQueue: maxQueue, metrics: d.metrics, log: d.log}
}

const (
	measureEvery = 5 * time.Second
	sweepEvery   = time.Minute
)

// Run works until ctx is done.
func (c *Caretaker) Run(ctx context.Context) error {
	measure, sweep := time.NewTicker(measureEvery), time.NewTicker(sweepEvery)
	defer measure.Stop()
	defer sweep.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-measure.C:
			err = c.measure(ctx)
		case <-sweep.C:
			err = c.sweep(ctx)
		}
		if err != nil && ctx.Err() == nil {
			c.log.ErrorContext(ctx, "queue not looked after", "err", err)
		}
	}
}

func (c *Caretaker) measure(ctx context.Context) error {
	depth, err := c.store.Depth(ctx)
	if err != nil {
		return err
	}
	c.metrics.pending.Set(float64(depth.Pending))
	c.metrics.age.Set(depth.OldestDue.Seconds())
	counts, err := c.store.Disabled(ctx)
	if err != nil {
		return err
	}
	for _, reason := range reasons() {
		c.metrics.disabledNow.WithLabelValues(string(reason)).Set(float64(counts[reason]))
	}
	return nil
}

func (c *Caretaker) sweep(ctx context.Context) error {
	full, err := c.store.Sweep(ctx, c.keep, c.maxQueue)
	for _, id := range full {
		c.metrics.disabled(endpoint.QueueFull)
		c.log.WarnContext(ctx, "endpoint disabled", "endpoint", id, "reason", string(endpoint.QueueFull))
	}
	return err
}
