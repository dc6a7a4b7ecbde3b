package ratelimit

import "github.com/prometheus/client_golang/prometheus"

// metrics are the limiter's, by policy.
type metrics struct {
	allowed, rejected, fallback *prometheus.CounterVec
	remaining                   *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"policy"})
	}
	m := metrics{
		allowed:  counter("ratelimit_allowed_total", "Calls that a rate limit allowed."),
		rejected: counter("ratelimit_rejected_total", "Calls that a rate limit refused."),
		fallback: counter("ratelimit_fallback_total", "Calls that were decided without Redis because it did not answer: by this process's own bucket, or by refusing."),
		remaining: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ratelimit_tokens_remaining", Help: "Tokens that a call left in its bucket.",
			Buckets: []float64{0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000},
		}, []string{"policy"}),
	}
	registry.MustRegister(m.allowed, m.rejected, m.fallback, m.remaining)
	return m
}
