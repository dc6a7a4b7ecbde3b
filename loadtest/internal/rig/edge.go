package rig

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Metrics are samples by name and labels, as they are written.
type Metrics map[string]float64

// Since is how much a counter has grown.
func (m Metrics) Since(earlier Metrics, name string) float64 { return m[name] - earlier[name] }

// EdgeMetrics asks the edge for its metrics.
func (r *Rig) EdgeMetrics(ctx context.Context) (Metrics, error) {
	text, err := get(ctx, r.EdgeAdmin()+"/metrics")
	if err != nil {
		return nil, err
	}
	return parseMetrics(text)
}

func parseMetrics(text []byte) (Metrics, error) {
	m := Metrics{}
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		space := strings.LastIndexByte(line, ' ')
		if space < 0 {
			return nil, fmt.Errorf("reading metrics: %q has no value", line)
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("reading metrics: %w", err)
		}
		m[line[:space]] = value
	}
	return m, nil
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
