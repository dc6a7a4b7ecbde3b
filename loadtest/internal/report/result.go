package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

var (
	// ErrSkipped is the verdict of a scenario that this machine cannot run.
	ErrSkipped = errors.New("skipped")
	// ErrNotJudged is the verdict when all that could be judged was held, and times looked
	// too long that this machine could not measure.
	ErrNotJudged = errors.New("not judged")
)

// Result is what a scenario on a running stack measured.
type Result struct {
	Stamp
	Seconds   float64    `json:"seconds"`
	Settings  []Fact     `json:"settings"`
	Phases    []Phase    `json:"phases"`
	Facts     []Fact     `json:"facts"`
	Clicks    ClickCount `json:"clicks"`
	Generator Generator  `json:"generator"`
	// Load is how many threads of the machine wanted a processor when the scenario
	// began, its own not among them; 0 where nobody knows.
	Load  float64 `json:"load_average_before"`
	Cores int     `json:"cores"`
	// Strangers are who used the processors meanwhile and is not part of the system, nor
	// of the load.
	Strangers Strangers `json:"strangers"`
	Promises  []Promise `json:"promises"`
	Plots     []Plot    `json:"plots"`
	// Skipped says what is missing, if anything.
	Skipped string `json:"skipped,omitempty"`
}

// Fact is one number with its unit, or a word.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Phase is a part of a scenario.
type Phase struct {
	Name    string  `json:"name"`
	From    float64 `json:"from_seconds"` // since the load began
	Seconds float64 `json:"seconds"`
	Rows    []Row   `json:"rows"`
}

// Row is what became of the requests of one kind.
type Row struct {
	Name  string `json:"name"`
	Sent  int    `json:"sent"`
	Right int    `json:"right"`
	Wrong int    `json:"wrong"`
	// Failed were not answered, and no server has seen them.
	Failed int `json:"failed"`
	// Unknown were sent and not answered.
	Unknown int `json:"unknown"`
	// Moved were taken by another server than the first.
	Moved int `json:"moved"`
	// Examples are the first answers that were not right.
	Examples []string       `json:"examples,omitempty"`
	ByCache  map[string]int `json:"by_cache,omitempty"`
	Latency  Microseconds   `json:"latency_us"`
	// Spectrum is the latency in microseconds by quantile.
	Spectrum [][2]float64 `json:"spectrum,omitempty"`
}

// Good is whether every request got the right answer.
func (r *Row) Good() bool { return r.Right == r.Sent }

// ClickCount compares what visitors were told with the summary.
type ClickCount struct {
	Answered int `json:"answered"` // redirects that arrived
	Unknown  int `json:"unknown"`  // requests whose answer got lost: a click or none
	Counted  int `json:"counted"`
	Bots     int `json:"counted_bots"`
	// Seconds from the last answer until the summary had them all.
	Seconds float64 `json:"seconds"`
}

// Generator says what the load cost and how punctual it was.
type Generator struct {
	Requests int          `json:"requests"`
	CPU      float64      `json:"cpu_cores"`       // of the thread that sends
	Process  float64      `json:"process_cores"`   // of everything in this process
	Behind   int          `json:"sent_after_wait"` // no connection was free
	Late     Microseconds `json:"late_us"`
}

// Spectrum of a histogram of nanoseconds: microseconds by quantile.
func Spectrum(h *hdrhistogram.Histogram) [][2]float64 {
	if h.TotalCount() == 0 {
		return nil
	}
	quantiles := []float64{0, 25, 50, 75, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100}
	points := make([][2]float64, 0, len(quantiles))
	for _, q := range quantiles {
		points = append(points, [2]float64{q, float64(h.ValueAtQuantile(q)) / 1000})
	}
	return points
}

// Strangers is how many processors they used, on average and in the worst second of a
// hundred.
type Strangers struct {
	Mean  float64 `json:"mean_cores"`
	Worst float64 `json:"worst_cores"`
}

// Add notes a fact.
func (r *Result) Add(name, format string, values ...any) {
	r.Facts = append(r.Facts, Fact{Name: name, Value: fmt.Sprintf(format, values...)})
}

const (
	// punctual is the part of a limit by which the generator may be late for what it
	// measures to say something about the limit.
	punctual = 5
	// inexcusable is what no noise explains.
	inexcusable = FreshWorst / 2
	// aside and aBurst are which part of all processors strangers may use for times to say
	// something about the system: on average, and in the worst second of a hundred, which
	// is where the 99th percentile is. The limits are guesses; with two of two processors
	// wanted by strangers the 2 ms of an edit become 70 to 250 (see loadtest/README.md),
	// and beside an idle machine's housekeeping they stay.
	aside  = 0.1
	aBurst = 0.5
)

// Doubt takes back the judgment of promises about times that this machine cannot
// measure: strangers used its processors, or its generator, which goes before most other
// work, came late itself. Whoever wants a verdict from a machine that others use calls it;
// nobody else should. It excuses nothing that the system did to itself: what its own
// processes use is not strangers' use.
func (r *Result) Doubt() {
	late := time.Duration(r.Generator.Late.P99 * 1000)
	for i, p := range r.Promises {
		if !p.Broken || p.limit <= 0 || p.took <= p.limit || p.took >= inexcusable {
			continue
		}
		var why string
		switch {
		case r.Strangers.Mean > aside*float64(r.Cores), r.Strangers.Worst > aBurst*float64(r.Cores):
			why = fmt.Sprintf("others used %.2f of %d processors, and %.2f in the worst second of a hundred", r.Strangers.Mean, r.Cores, r.Strangers.Worst)
		case late > p.limit/punctual:
			why = fmt.Sprintf("this machine comes %s late to its own timers (p99)", Duration(late))
		default:
			continue
		}
		r.Promises[i].Broken, r.Promises[i].Doubtful = false, true
		r.Promises[i].Measured += "; " + why
	}
}

// Promise notes what was promised, and whether it held.
func (r *Result) Promise(p ...Promise) { r.Promises = append(r.Promises, p...) }

// Verdict is nil when every promise held. It names those that did not; it is ErrNotJudged
// where the only ones are doubtful, and ErrSkipped if the scenario could not run.
func (r *Result) Verdict() error {
	if r.Skipped != "" {
		return fmt.Errorf("%w: %s", ErrSkipped, r.Skipped)
	}
	if len(r.Promises) == 0 {
		return errors.New("nothing was looked at")
	}
	var broken []error
	for _, p := range r.Promises {
		if p.Broken {
			broken = append(broken, errors.New(p.String()))
		}
	}
	if len(broken) > 0 && r.Cores > 0 && r.Load > float64(r.Cores) {
		broken = append(broken, fmt.Errorf("%.1f threads wanted one of %d processors before the scenario began: measure again on a quiet machine", r.Load, r.Cores))
	}
	if len(broken) > 0 {
		return errors.Join(broken...)
	}
	var doubtful []error
	for _, p := range r.Promises {
		if p.Doubtful {
			doubtful = append(doubtful, fmt.Errorf("%w: %s", ErrNotJudged, p))
		}
	}
	return errors.Join(doubtful...)
}

// Print prints a short table and the promises.
func (r *Result) Print(w io.Writer) {
	fmt.Fprintf(w, "\n%-22s %-16s %9s %9s %6s %6s %7s %6s %9s %9s %9s\n", "phase", "", "sent", "right", "wrong", "failed", "unknown", "moved", "p50 ms", "p99 ms", "max ms")
	for _, p := range r.Phases {
		name := fmt.Sprintf("%s, %.1f s", p.Name, p.Seconds)
		for _, row := range p.Rows {
			fmt.Fprintf(w, "%-22s %-16s %9d %9d %6d %6d %7d %6d %9.2f %9.2f %9.2f\n", name, row.Name, row.Sent, row.Right, row.Wrong, row.Failed,
				row.Unknown, row.Moved, row.Latency.P50/1000, row.Latency.P99/1000, row.Latency.Max/1000)
			name = ""
		}
	}
	fmt.Fprintln(w)
	for _, f := range r.Facts {
		fmt.Fprintf(w, "  %s: %s\n", f.Name, f.Value)
	}
	if g := r.Generator; g.Requests > 0 {
		fmt.Fprintf(w, "  generator: %.2f cores for %d requests (the whole process %.2f), late by p50 %.2f, p99 %.2f, at most %.2f ms; %d waited for a connection\n",
			g.CPU, g.Requests, g.Process, g.Late.P50/1000, g.Late.P99/1000, g.Late.Max/1000, g.Behind)
	}
	if s := r.Strangers; r.Cores > 0 && r.Generator.Requests > 0 {
		fmt.Fprintf(w, "  others on this machine: %.2f of %d processors, %.2f in the worst second of a hundred\n", s.Mean, r.Cores, s.Worst)
	}
	fmt.Fprintln(w)
	for _, p := range r.Promises {
		fmt.Fprintln(w, "  "+p.mark()+" "+p.String())
	}
	if r.Skipped != "" {
		fmt.Fprintln(w, "  skipped:", r.Skipped)
	}
}

// Write prints the result and writes it into folder, as JSON and as a page.
func (r *Result) Write(folder string, stdout io.Writer) error {
	r.Print(stdout)
	if r.Skipped != "" {
		return nil
	}
	path, err := r.save(folder, r)
	if err != nil {
		return err
	}
	page, err := r.Page()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".html", page, 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	fmt.Fprintf(stdout, "\n  report: %s.html and .json\n", path)
	return nil
}

// Duration in milliseconds, for people.
func Duration(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)), ".0") + " ms"
}
