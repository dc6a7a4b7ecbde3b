package bench

import (
	"context"
	"sync"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/metric"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

// Metrics of every process.
const (
	Memory     = "process_resident_memory_bytes"
	Goroutines = "go_goroutines"
)

// Probe is a metric of a process.
type Probe struct{ Process, Metric string }

// Samples are values of probes at regular times. A process that did not answer has
// none at that time.
type Samples struct {
	start time.Time
	mu    sync.Mutex
	at    map[Probe][][2]float64
}

// Sample asks processes for metrics until the returned function is called.
func (b *Bench) Sample(ctx context.Context, every time.Duration, probes ...Probe) (*Samples, func()) {
	s := &Samples{start: time.Now(), at: map[Probe][][2]float64{}}
	admins := map[string]string{}
	for _, p := range probes {
		if admin, ok := b.Stack.Admin(p.Process); ok {
			admins[p.Process] = admin
		}
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			for process, admin := range admins {
				ask, cancel := context.WithTimeout(ctx, every)
				m, err := metric.Get(ask, admin)
				cancel()
				if err == nil {
					s.take(process, m, probes)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return s, func() { stop(); wg.Wait() }
}

func (s *Samples) take(process string, m metric.Samples, probes []Probe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Since(s.start).Seconds()
	for _, p := range probes {
		if p.Process == process {
			s.at[p] = append(s.at[p], [2]float64{at, m.Sum(p.Metric)})
		}
	}
}

// Values are those of one probe in order.
func (s *Samples) Values(p Probe) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	values := make([]float64, len(s.at[p]))
	for i, point := range s.at[p] {
		values[i] = point[1]
	}
	return values
}

// Plot draws one metric of several processes, divided by unit.
func (s *Samples) Plot(title, up, name string, unit float64, processes ...string) report.Plot {
	s.mu.Lock()
	defer s.mu.Unlock()
	plot := report.Plot{Title: title, Across: "s", Up: up}
	for _, process := range processes {
		series := report.Series{Name: process}
		for _, point := range s.at[Probe{process, name}] {
			series.Points = append(series.Points, [2]float64{point[0], point[1] / unit})
		}
		if len(series.Points) > 0 {
			plot.Series = append(plot.Series, series)
		}
	}
	return plot
}
