// Package facttest states facts about running parts in tests: one that becomes true
// in time, and the value of a metric.
//
// It promises that a fact which does not come is named, and that a metric which is
// not there fails the test instead of being nought.
package facttest

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// patience is for what takes a second on a busy two-core machine under the race
	// detector, several times over.
	patience  = 30 * time.Second
	pollEvery = 10 * time.Millisecond
)

// Eventually waits until a fact holds, and ends the test when it does not come.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("never: %s", what)
		}
	}
}

// Metric is the value of a counter or gauge, or how often a histogram was observed:
// that of one value of its label, or with label "" the sum of all. A metric that is
// not there ends the test.
func Metric(tb testing.TB, registry prometheus.Gatherer, name, label string) float64 {
	tb.Helper()
	families, err := registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	sum, found := 0.0, false
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if label == "" || len(m.GetLabel()) > 0 && m.GetLabel()[0].GetValue() == label {
				found = true
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	if !found {
		tb.Fatalf("no metric %s %s", name, label)
	}
	return sum
}
