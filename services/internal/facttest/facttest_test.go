package facttest_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
)

func TestMetricsOfEveryKindAreRead(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "visits_total"}, []string{"cache"})
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "lag"})
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds"})
	registry.MustRegister(counter, gauge, histogram)
	counter.WithLabelValues("l1").Add(2)
	counter.WithLabelValues("l2").Add(3)
	gauge.Set(7)
	histogram.Observe(0.1)
	histogram.Observe(100)
	check := func(name, label string, want float64) {
		t.Helper()
		if got := facttest.Metric(t, registry, name, label); got != want {
			t.Errorf("%s %q is %v, want %v", name, label, got, want)
		}
	}
	check("visits_total", "l1", 2)
	check("visits_total", "l2", 3)
	check("visits_total", "", 5)
	check("lag", "", 7)
	check("seconds", "", 2)
}
