// Package report prints what a scenario measured and keeps it as JSON, with the
// commit and the machine it was measured on.
package report

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a scenario measured.
type Result struct {
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Rate     int       `json:"rate_per_second"`
	Duration string    `json:"duration"`
	Sent     int       `json:"sent"`
	Right    int       `json:"right"`
	Wrong    int       `json:"wrong"`
	Failed   int       `json:"failed"`
	// Counted is how many clicks the analytics API shows for the links.
	Counted int `json:"counted"`
	// GeneratorCPU is how many cores the generator used itself.
	GeneratorCPU float64 `json:"generator_cpu_cores"`
	// Latency is in microseconds, from the time a request was due.
	Latency *hdrhistogram.Histogram `json:"-"`
}

// Verdict is nil when every promise held.
func (r *Result) Verdict() error {
	switch {
	case r.Wrong > 0 || r.Failed > 0:
		return fmt.Errorf("%d of %d answers were wrong and %d failed", r.Wrong, r.Sent, r.Failed)
	case r.Counted != r.Right:
		return fmt.Errorf("%d redirects were answered, %d were counted", r.Right, r.Counted)
	}
	return nil
}

// Write prints a short table and writes the report into folder.
func Write(ctx context.Context, folder string, stdout io.Writer, r *Result) error {
	quantiles := map[string]int64{}
	fmt.Fprintf(stdout, "\n  sent %d   right %d   wrong %d   failed %d   counted %d\n", r.Sent, r.Right, r.Wrong, r.Failed, r.Counted)
	fmt.Fprint(stdout, "  latency")
	for _, q := range []float64{50, 95, 99, 99.9, 100} {
		name := fmt.Sprintf("p%g", q)
		quantiles[name] = r.Latency.ValueAtQuantile(q)
		fmt.Fprintf(stdout, "   %s %v", name, time.Duration(quantiles[name])*time.Microsecond)
	}
	fmt.Fprintf(stdout, "\n  the generator used %.2f cores\n", r.GeneratorCPU)

	commit := "unknown"
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	text, err := json.MarshalIndent(struct {
		*Result
		Latency map[string]int64 `json:"latency_us"`
		Commit  string           `json:"commit"`
		Machine string           `json:"machine"`
		Command string           `json:"command"`
	}{r, quantiles, commit, fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), "make loadtest SCENARIO=" + r.Scenario}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder for reports: %w", err)
	}
	path := filepath.Join(folder, r.Started.Format("20060102-150405")+"-"+r.Scenario+".json")
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	fmt.Fprintln(stdout, "  report:", path)
	return nil
}
