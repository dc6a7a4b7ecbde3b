package report

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What the API promises on the local stack with two cores.
const (
	SinglePerSecond = 2_000
	BulkPerSecond   = 20_000
	DrainSeconds    = 2
)

// API is what the scenario of that name measured.
type API struct {
	Stamp
	Duration string `json:"duration"`
	Single   Half   `json:"single"`
	Bulk     Half   `json:"bulk"`
}

// Half is one of its two loads.
type Half struct {
	Calls     int     `json:"calls"`
	Made      int     `json:"links_made"`
	Failed    int     `json:"links_failed"`
	Example   string  `json:"example_of_a_failure,omitempty"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"links_per_second"`
	// PendingAtEnd is how many rows were in the outbox when the load stopped, and
	// DrainSeconds how long it took until there were none; the gauge is read once a second.
	PendingAtEnd int     `json:"outbox_pending_at_end"`
	DrainSeconds float64 `json:"outbox_drained_after_seconds"`
	// GeneratorCPU is how many cores the generator used itself.
	GeneratorCPU float64 `json:"generator_cpu_cores"`
	// Latency is in microseconds for a call.
	Latency   *hdrhistogram.Histogram `json:"-"`
	Quantiles map[string]int64        `json:"latency_us"` // written by Write
}

// Verdict is nil when every promise held.
func (r *API) Verdict() error {
	return errors.Join(r.Single.verdict("one by one", SinglePerSecond), r.Bulk.verdict("in bulk", BulkPerSecond))
}

func (h *Half) verdict(how string, promised float64) error {
	var errs []error
	if h.Failed > 0 {
		errs = append(errs, fmt.Errorf("%d links %s failed, for instance: %s", h.Failed, how, h.Example))
	}
	if h.PerSecond < promised {
		errs = append(errs, fmt.Errorf("%.0f links a second %s, promised are %.0f", h.PerSecond, how, promised))
	}
	if h.DrainSeconds > DrainSeconds {
		errs = append(errs, fmt.Errorf("after links %s the outbox was empty after %.1f s, promised are %d", how, h.DrainSeconds, DrainSeconds))
	}
	return errors.Join(errs...)
}

// Write prints a short table and writes the report into folder.
func (r *API) Write(folder string, stdout io.Writer) error {
	for _, half := range []struct {
		name string
		h    *Half
	}{{"one by one", &r.Single}, {"in bulk", &r.Bulk}} {
		h := half.h
		h.Quantiles = map[string]int64{}
		fmt.Fprintf(stdout, "\n  %-10s  %.0f links a second   made %d   failed %d   in %d calls   the generator used %.2f cores\n",
			half.name, h.PerSecond, h.Made, h.Failed, h.Calls, h.GeneratorCPU)
		fmt.Fprintf(stdout, "  %-10s  outbox %d at the end, empty after %.1f s\n  %-10s ", "", h.PendingAtEnd, h.DrainSeconds, "")
		for _, q := range []float64{50, 95, 99, 100} {
			name := fmt.Sprintf("p%g", q)
			h.Quantiles[name] = h.Latency.ValueAtQuantile(q)
			fmt.Fprintf(stdout, " %s %v  ", name, time.Duration(h.Quantiles[name])*time.Microsecond)
		}
		fmt.Fprintln(stdout)
	}
	path, err := r.save(folder, r)
	if err == nil {
		fmt.Fprintln(stdout, "\n  report:", path+".json")
	}
	return err
}
