package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linkstream/linkstream/loadtest/internal/paired"
)

// The promises about the edge. Latencies are for answers from its memory, at half
// of its maximum rate.
const (
	MinRatio = 0.9
	MaxP99   = time.Millisecond
	MaxP999  = 5 * time.Millisecond
	// disturbed is the share of the servers' processor from which other work makes
	// a measurement doubtful; busy is how much of it has to be used, by whomever, for
	// a measurement to be one of the server and not of the load.
	disturbed = 0.1
	busy      = 0.9
	// minHits is the share of answers from memory below which a measurement is not
	// one of answers from memory. The rest are entries that expired meanwhile.
	minHits = 0.99
)

// Edge is what the scenario of that name measured.
type Edge struct {
	Stamp
	Connections int       `json:"connections"`
	Burst       int       `json:"burst"` // requests that are due at once, in open loops
	Runs        []EdgeRun `json:"runs"`
}

// EdgeRun is what was measured with one number of links.
type EdgeRun struct {
	Links int `json:"links"`
	// Warm is how many of the links, from the most wanted one, were asked for
	// before; the pairs and Hits ask for these only.
	Warm  int           `json:"warm_links"`
	Pairs []Pair        `json:"pairs"`
	Ratio paired.Ratios `json:"ratio"`
	// PerCPU is the ratio of answers by processor time used: other work on the
	// machine shifts it less.
	PerCPU paired.Ratios `json:"ratio_per_cpu_second"`
	// Hits are the sums of its rounds; its latencies are the medians of theirs.
	Hits   Waits   `json:"l1_hits"`
	Rounds []Round `json:"l1_hits_rounds"`
	// Reference is nginx' latency at the same rate, measured in turn with Hits.
	Reference Microseconds `json:"nginx_latency_us"`
	Mix       Mix          `json:"mix"`
	Clicks    Clicks       `json:"clicks"`
	// Gaps is how often the edge could not rely on its memory, because heartbeats
	// came late. It then asks the origin, which does not know these links.
	Gaps int `json:"gaps"`
	// Memory of the edge at the end.
	MemoryMB   float64 `json:"edge_rss_mb"`
	L1MemoryMB float64 `json:"edge_l1_mb"`
}

// Pair is one measurement of the edge and one of nginx, right after each other.
type Pair struct {
	Edge  Slice   `json:"edge"`
	Nginx Slice   `json:"nginx"`
	Ratio float64 `json:"ratio"`
	// Hits is the share of the edge's look-ups that its memory answered.
	Hits float64 `json:"edge_l1_share"`
}

// Slice is one measurement of throughput. Shares are of one processor.
type Slice struct {
	Rate         float64 `json:"answers_per_second"`
	Wrong        int     `json:"wrong"`
	ServerCPU    float64 `json:"server_cpu"`
	OthersCPU    float64 `json:"others_on_server_cpu"`
	GeneratorCPU float64 `json:"generator_cpu"`
	PerCPU       float64 `json:"answers_per_cpu_second"`
}

// Waits are latencies from the time a request was due.
type Waits struct {
	Rate         float64      `json:"rate_per_second"`
	Answers      int          `json:"answers"`
	Wrong        int          `json:"wrong"`
	Late         int          `json:"sent_late"`
	ServerCPU    float64      `json:"server_cpu"`
	OthersCPU    float64      `json:"others_on_server_cpu"`
	GeneratorCPU float64      `json:"generator_cpu"`
	StoresCPU    float64      `json:"others_on_generator_cpu"` // Redis, the broker and whoever else is there
	L1           float64      `json:"l1_share"`
	L2           float64      `json:"l2_share"`
	Origin       float64      `json:"origin_share"`
	Latency      Microseconds `json:"latency_us"`
}

// Mix is a load of which a part is in no memory.
type Mix struct {
	Waits
	ByL1     Microseconds `json:"latency_us_meant_for_l1"`
	ByL2     Microseconds `json:"latency_us_meant_for_l2"`
	ByOrigin Microseconds `json:"latency_us_meant_for_origin"`
}

// Microseconds at some quantiles.
type Microseconds struct {
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// QuantilesOf a histogram of nanoseconds.
func QuantilesOf(h *hdrhistogram.Histogram) Microseconds {
	at := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1000 }
	return Microseconds{P50: at(50), P95: at(95), P99: at(99), P999: at(99.9), Max: at(100)}
}

func (m Microseconds) String() string {
	return fmt.Sprintf("p50 %.0f   p95 %.0f   p99 %.0f   p99.9 %.0f   max %.0f µs", m.P50, m.P95, m.P99, m.P999, m.Max)
}

// Clicks are what became of the clicks of a whole run.
type Clicks struct {
	Accepted int `json:"accepted"`
	Produced int `json:"produced"`
	Dropped  int `json:"dropped"`
}

// Verdict is nil when every promise held. It names those that did not.
func (e *Edge) Verdict() error {
	var broken []error
	for i := range e.Runs {
		for _, err := range e.Runs[i].broken() {
			broken = append(broken, fmt.Errorf("%d links: %w", e.Runs[i].Links, err))
		}
	}
	return errors.Join(broken...)
}

func (r *EdgeRun) broken() (broken []error) {
	if r.Ratio.Median < MinRatio {
		broken = append(broken, fmt.Errorf("the edge answers %.2f times as many requests as nginx, promised are %.2f", r.Ratio.Median, MinRatio))
	}
	broken = append(broken, late("p99", r.Hits.Latency.P99, r.Reference.P99, MaxP99)...)
	broken = append(broken, late("p99.9", r.Hits.Latency.P999, r.Reference.P999, MaxP999)...)
	wrong := r.Hits.Wrong + r.Mix.Wrong
	hits := r.Hits.L1
	for _, p := range r.Pairs {
		wrong += p.Edge.Wrong + p.Nginx.Wrong
		hits = min(hits, p.Hits)
	}
	if wrong > 0 {
		broken = append(broken, fmt.Errorf("%d answers were wrong", wrong))
	}
	if used := paired.Median(r.of(func(p Pair) float64 { return p.Nginx.ServerCPU + p.Nginx.OthersCPU })); used < busy {
		broken = append(broken, fmt.Errorf("the load kept nginx busy for only %.0f %% of the time, so the ratio proves nothing", 100*used))
	}
	if r.Gaps > 0 {
		broken = append(broken, fmt.Errorf("the edge missed heartbeats %d times: the machine is too busy for this measurement", r.Gaps))
	}
	if hits < minHits {
		broken = append(broken, fmt.Errorf("only %.1f %% of answers came from memory, so the numbers are not about that", 100*hits))
	}
	if r.Clicks.Dropped > 0 {
		broken = append(broken, fmt.Errorf("%d of %d clicks were dropped", r.Clicks.Dropped, r.Clicks.Accepted))
	}
	others := paired.Median(r.of(func(p Pair) float64 { return max(p.Edge.OthersCPU, p.Nginx.OthersCPU) }))
	if len(broken) > 0 && others > disturbed {
		broken = append(broken, fmt.Errorf("other work used %.0f %% of the servers' processor: measure again on a quiet machine", 100*others))
	}
	return broken
}

// of is a value of each pair.
func (r *EdgeRun) of(value func(p Pair) float64) []float64 {
	values := make([]float64, len(r.Pairs))
	for i, p := range r.Pairs {
		values[i] = value(p)
	}
	return values
}

// Print prints a run.
func (r *EdgeRun) Print(w io.Writer) {
	fmt.Fprintf(w, "\n%d links, %d of them warm\n\n", r.Links, r.Warm)
	fmt.Fprintln(w, "  pair       edge/s   (its cpu, others', load's)      nginx/s   (its cpu, others', load's)   ratio   from memory")
	for i, p := range r.Pairs {
		fmt.Fprintf(w, "  %4d  %s  %s   %.3f   %.2f %%\n", i+1, p.Edge, p.Nginx, p.Ratio, 100*p.Hits)
	}
	fmt.Fprintf(w, "\n  ratio %.3f (from %.3f to %.3f); by processor time %.3f (from %.3f to %.3f)\n",
		r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, r.PerCPU.Median, r.PerCPU.Min, r.PerCPU.Max)
	fmt.Fprintf(w, "\n  from memory, %.0f/s, open loop in bursts: %s\n", r.Hits.Rate, r.Hits.Latency)
	r.Hits.print(w)
	fmt.Fprintf(w, "    nginx, in turn: %s\n", r.Reference)
	for i, round := range r.Rounds {
		fmt.Fprintf(w, "      %d   edge p99 %5.0f   p99.9 %5.0f      nginx p99 %5.0f   p99.9 %5.0f\n",
			i+1, round.Edge.P99, round.Edge.P999, round.Nginx.P99, round.Nginx.P999)
	}
	fmt.Fprintf(w, "\n  mix,         %.0f/s, open loop in bursts: %s\n", r.Mix.Rate, r.Mix.Latency)
	r.Mix.print(w)
	fmt.Fprintf(w, "    meant for l1:     %s\n    meant for l2:     %s\n    meant for origin: %s\n", r.Mix.ByL1, r.Mix.ByL2, r.Mix.ByOrigin)
	fmt.Fprintf(w, "\n  clicks: %d accepted, %d produced, %d dropped; edge memory %.0f MB, of which %.0f for links\n",
		r.Clicks.Accepted, r.Clicks.Produced, r.Clicks.Dropped, r.MemoryMB, r.L1MemoryMB)
}

func (s Slice) String() string {
	return fmt.Sprintf("%9.0f   (%.2f, %.2f, %.2f)               ", s.Rate, s.ServerCPU, s.OthersCPU, s.GeneratorCPU)
}

func (w *Waits) print(to io.Writer) {
	fmt.Fprintf(to, "    measured: l1 %.2f %%, l2 %.2f %%, origin %.2f %%; %d answers, %d wrong, %d sent late\n    cpu: edge %.2f, others beside it %.2f; load %.2f, stores and others beside it %.2f\n",
		100*w.L1, 100*w.L2, 100*w.Origin, w.Answers, w.Wrong, w.Late, w.ServerCPU, w.OthersCPU, w.GeneratorCPU, w.StoresCPU)
}

// Write writes the report into folder, as JSON and as a table.
func (e *Edge) Write(folder string, stdout io.Writer) error {
	path, err := e.save(folder, e)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".md", []byte(e.table()), 0o644); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	fmt.Fprintf(stdout, "\n  report: %s.json, table: %[1]s.md\n", path)
	return nil
}

// table shows how cost grows with the number of links.
func (e *Edge) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The edge against nginx, by number of links\n\n"+
		"- commit %s, %s\n- %s\n- `%s`\n- %d connections; latencies in µs, open loop in bursts of %d, from the time a request was due; hits at half of the maximum rate (medians of rounds in turn with nginx), the mix at a quarter\n\n",
		e.Commit, e.Started.Format(time.RFC3339), e.Machine, e.Command, e.Connections, e.Burst)
	b.WriteString("| links | warm | edge/s | nginx/s | ratio (range) | ratio by CPU | L1 hits p50 / p95 / p99 / p99.9 | nginx, the same | mix L1 / L2 / origin % | mix p50 / p95 / p99 / p99.9 | edge RSS MB (L1) |\n" +
		"|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i := range e.Runs {
		r := &e.Runs[i]
		edge, nginx := r.rates()
		fmt.Fprintf(&b, "| %d | %d | %.0f | %.0f | %.3f (%.3f to %.3f) | %.3f | %s | %s | %.2f / %.2f / %.2f | %s | %.0f (%.0f) |\n",
			r.Links, r.Warm, paired.Median(edge), paired.Median(nginx), r.Ratio.Median, r.Ratio.Min, r.Ratio.Max, r.PerCPU.Median,
			r.Hits.Latency.cells(), r.Reference.cells(), 100*r.Mix.L1, 100*r.Mix.L2, 100*r.Mix.Origin, r.Mix.Latency.cells(), r.MemoryMB, r.L1MemoryMB)
	}
	return b.String()
}

func (m Microseconds) cells() string {
	return fmt.Sprintf("%.0f / %.0f / %.0f / %.0f", m.P50, m.P95, m.P99, m.P999)
}

func (r *EdgeRun) rates() (edge, nginx []float64) {
	return r.of(func(p Pair) float64 { return p.Edge.Rate }), r.of(func(p Pair) float64 { return p.Nginx.Rate })
}

// Compare fills in the ratios, from the pairs.
func (r *EdgeRun) Compare() {
	edge, nginx := r.rates()
	r.Ratio = paired.Compare(edge, nginx)
	r.PerCPU = paired.Compare(r.of(func(p Pair) float64 { return p.Edge.PerCPU }), r.of(func(p Pair) float64 { return p.Nginx.PerCPU }))
	for i, p := range r.Pairs {
		if p.Nginx.Rate > 0 {
			r.Pairs[i].Ratio = p.Edge.Rate / p.Nginx.Rate
		}
	}
}

// MaxRate is the median of what the edge answered in the pairs.
func (r *EdgeRun) MaxRate() float64 {
	edge, _ := r.rates()
	return paired.Median(edge)
}
