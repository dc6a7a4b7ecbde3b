package ratelimit

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the limiter's, by policy.
type metrics struct {
	allowed, rejected, fallback *prometheus.CounterVec
	remaining                   *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer) metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"policy"})
	}
	allowed, rejected := Decisions(registry)
	m := metrics{
		allowed:  allowed,
		rejected: rejected,
		fallback: counter("ratelimit_fallback_total", "Calls that were decided without Redis because it did not answer: by this process's own bucket, or by refusing."),
		remaining: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ratelimit_tokens_remaining", Help: "Tokens that a call left in its bucket.",
			Buckets: []float64{0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000},
		}, []string{"policy"}),
	}
	registry.MustRegister(m.fallback, m.remaining)
	return m
}

// Decisions are what all limits of a process count in, also those that are no Policy.
// Whoever asks for them first registers them.
func Decisions(registry prometheus.Registerer) (allowed, rejected *prometheus.CounterVec) {
	counter := func(name, help string) *prometheus.CounterVec {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"policy"})
		err := registry.Register(vec)
		if before, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
			if there, ok := before.ExistingCollector.(*prometheus.CounterVec); ok {
				return there
			}
		}
		if err != nil {
			panic(err) // somebody else's metric has the name, as MustRegister would say
		}
		return vec
	}
	return counter("ratelimit_allowed_total", "Calls that a rate limit allowed."), counter("ratelimit_rejected_total", "Calls that a rate limit refused.")
}
