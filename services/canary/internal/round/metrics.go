package round

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Step is one thing that a customer or a visitor does or waits for.
type Step string

// The steps of a round, in their order.
const (
	Create Step = "create" // the API made a link
	Follow Step = "follow" // an edge redirected to its target
	Edit   Step = "edit"   // the API took another target
	Live   Step = "live"   // an edge redirected to the new target, and did not go back
	Count  Step = "count"  // analytics had every visit, and no more
	Delete Step = "delete" // the API removed the link
	Gone   Step = "gone"   // an edge knew it no more
)

func steps() []Step { return []Step{Create, Follow, Edit, Live, Count, Delete, Gone} }

type metrics struct {
	api      *prometheus.HistogramVec
	follow   *prometheus.HistogramVec
	live     *prometheus.HistogramVec
	gone     *prometheus.HistogramVec
	counted  prometheus.Histogram
	failures *prometheus.CounterVec
	rounds   *prometheus.CounterVec
	last     prometheus.Gauge
}

// newMetrics registers what a user would feel. Failures of every step begin at 0, so that
// the first one is an increase.
func newMetrics(registry prometheus.Registerer, edges []string) *metrics {
	wait := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 30}
	perEdge := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: wait}, []string{"edge"})
	}
	m := &metrics{
		api:      prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "canary_api_seconds", Help: "How long the API took, by step.", Buckets: wait}, []string{"step"}),
		follow:   perEdge("canary_redirect_seconds", "How long a visitor waited for a redirect, by edge. The first visit of a link is a miss."),
		live:     perEdge("canary_edit_live_seconds", "From the answer to an edit until the edge led to the new target."),
		gone:     perEdge("canary_delete_gone_seconds", "From the answer to a removal until the edge knew the link no more."),
		counted:  prometheus.NewHistogram(prometheus.HistogramOpts{Name: "canary_click_counted_seconds", Help: "From the last visit of a round until analytics had all of them.", Buckets: wait}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "canary_failures_total", Help: "Steps that did not do what they promise, in time."}, []string{"step"}),
		rounds:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "canary_rounds_total", Help: "Rounds, by result."}, []string{"result"}),
		last:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "canary_last_ok_timestamp_seconds", Help: "When a whole round went well the last time; 0 for never."}),
	}
	registry.MustRegister(m.api, m.follow, m.live, m.gone, m.counted, m.failures, m.rounds, m.last)
	for _, s := range steps() {
		m.failures.WithLabelValues(string(s))
	}
	for _, e := range edges {
		m.follow.WithLabelValues(e)
		m.live.WithLabelValues(e)
		m.gone.WithLabelValues(e)
	}
	for _, r := range []string{"ok", "failed"} {
		m.rounds.WithLabelValues(r)
	}
	return m
}

func (m *metrics) took(h prometheus.Observer, since time.Time) {
	h.Observe(time.Since(since).Seconds())
}
