package sink

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the ingester's figures. A click is in inserted, dead or
// vanished once: they are counted when the range it belongs to has been committed.
type Metrics struct {
	inserted     prometheus.Counter
	deduplicated prometheus.Counter
	dead         prometheus.Counter
	vanished     prometheus.Counter
	lag          prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		inserted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clicks_inserted_total",
			Help: "Clicks that are in ClickHouse and whose offsets are committed.",
		}),
		deduplicated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clicks_deduplicated_total",
			Help: "Clicks that were sent to ClickHouse again after an unknown outcome and were there already; each is counted as inserted too, once.",
		}),
		dead: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clicks_dead_total",
			Help: "Records that were no click and went to the dead topic.",
		}),
		vanished: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "clicks_vanished_total",
			Help: "Clicks that were not in a table after several inserts that succeeded, and were passed over. More than 0 means that something removes rows.",
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "clicks_ingest_lag_seconds",
			Help:    "Time from the answer of the edge, by its clock, until the click can be queried.",
			Buckets: []float64{.1, .25, .5, .75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 1800, 7200, 43200},
		}),
	}
	registry.MustRegister(m.inserted, m.deduplicated, m.dead, m.vanished, m.lag)
	return m
}
