package apply

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	applied      prometheus.Counter
	stale        prometheus.Counter
	dead         prometheus.Counter
	refills      prometheus.Counter
	unreplicated prometheus.Counter
	propagation  prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer, lag func() float64) metrics {
	m := metrics{
		applied: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "changelog_applied_total",
			Help: "Records of the changelog that were written to Redis, or were there already.",
		}),
		stale: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "changelog_stale_skipped_total",
			Help: "Records of the changelog that Redis held a newer revision of.",
		}),
		dead: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "changelog_dead_total",
			Help: "Records of the changelog that could not be decoded and went to the dead topic.",
		}),
		refills: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "changelog_refills_total",
			Help: "Partitions that were written again, from where Redis had lost something or may have.",
		}),
		unreplicated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "changelog_unreplicated_total",
			Help: "Batches that were published before a replica had confirmed to have them.",
		}),
		propagation: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "propagation_seconds",
			Help:    "From the database's commit time of a change to its published invalidation.",
			Buckets: []float64{.002, .005, .01, .02, .03, .05, .075, .1, .25, .5, 1, 2, 5, 10, 60},
		}),
	}
	registry.MustRegister(m.applied, m.stale, m.dead, m.refills, m.unreplicated, m.propagation,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "changelog_lag_records",
			Help: "Offsets of the changelog between what was applied and the end, over the partitions this process reads.",
		}, lag))
	return m
}
