package report

import (
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Steady is what the scenario of that name measured.
type Steady struct {
	Stamp
	Rate     int    `json:"rate_per_second"`
	Duration string `json:"duration"`
	Sent     int    `json:"sent"`
	Right    int    `json:"right"`
	Wrong    int    `json:"wrong"`
	Failed   int    `json:"failed"`
	// Counted is how many clicks the analytics API shows for the links.
	Counted int `json:"counted"`
	// GeneratorCPU is how many cores the generator used itself.
	GeneratorCPU float64 `json:"generator_cpu_cores"`
	// Latency is in microseconds, from the time a request was due.
	Latency   *hdrhistogram.Histogram `json:"-"`
	Quantiles map[string]int64        `json:"latency_us"` // written by Write
}

// Verdict is nil when every promise held.
func (r *Steady) Verdict() error {
	switch {
	case r.Wrong > 0 || r.Failed > 0:
		return fmt.Errorf("%d of %d answers were wrong and %d failed", r.Wrong, r.Sent, r.Failed)
	case r.Counted != r.Right:
		return fmt.Errorf("%d redirects were answered, %d were counted", r.Right, r.Counted)
	}
	return nil
}

// Write prints a short table and writes the report into folder.
func (r *Steady) Write(folder string, stdout io.Writer) error {
	r.Quantiles = map[string]int64{}
	fmt.Fprintf(stdout, "\n  sent %d   right %d   wrong %d   failed %d   counted %d\n", r.Sent, r.Right, r.Wrong, r.Failed, r.Counted)
	fmt.Fprint(stdout, "  latency")
	for _, q := range []float64{50, 95, 99, 99.9, 100} {
		name := fmt.Sprintf("p%g", q)
		r.Quantiles[name] = r.Latency.ValueAtQuantile(q)
		fmt.Fprintf(stdout, "   %s %v", name, time.Duration(r.Quantiles[name])*time.Microsecond)
	}
	fmt.Fprintf(stdout, "\n  the generator used %.2f cores\n", r.GeneratorCPU)
	path, err := r.save(folder, r)
	if err == nil {
		fmt.Fprintln(stdout, "  report:", path+".json")
	}
	return err
}
