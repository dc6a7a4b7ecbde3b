package rig

import (
	"context"
	"fmt"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/metric"
)

// Metrics are samples by name and labels, as they are written.
type Metrics = metric.Samples

// EdgeMetrics asks the edge for its metrics.
func (r *Rig) EdgeMetrics(ctx context.Context) (Metrics, error) {
	return metric.Get(ctx, r.EdgeAdmin())
}

// Counters of clicks.
const (
	ClicksAccepted = "clicks_accepted_total"
	ClicksProduced = "clicks_produced_total"
	ClicksFull     = `clicks_dropped_total{reason="journal_full"}`
	ClicksDisk     = `clicks_dropped_total{reason="journal_disk"}`
)

// Settle waits until the edge has handed over every click, so that what is
// measured next has the processor for itself.
func (r *Rig) Settle(ctx context.Context, limit time.Duration) (Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var m Metrics
	err := r.edge.until(ctx, func(ctx context.Context) error {
		var err error
		if m, err = r.EdgeMetrics(ctx); err != nil {
			return err
		}
		if left := m[ClicksAccepted] - m[ClicksProduced] - m[ClicksFull] - m[ClicksDisk]; left > 0 {
			return fmt.Errorf("%.0f clicks are not handed over", left)
		}
		return nil
	})
	return m, err
}

// Profile is the edge's CPU profile over the time to come.
func (r *Rig) Profile(ctx context.Context, length time.Duration) ([]byte, error) {
	return get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", r.EdgeAdmin(), int(length.Seconds())))
}
