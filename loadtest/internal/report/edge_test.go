package report_test

import (
	"strings"
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/report"
)

func good() report.Edge {
	r := report.EdgeRun{
		Links: 10,
		Pairs: []report.Pair{{Edge: report.Slice{Rate: 95, PerCPU: 95}, Nginx: report.Slice{Rate: 100, PerCPU: 100, ServerCPU: 1}, Hits: 1}},
		Hits:  report.Waits{L1: 1, Latency: report.Microseconds{P99: 999, P999: 4999}},
	}
	r.Compare()
	return report.Edge{Runs: []report.EdgeRun{r}}
}

func TestVerdictNamesWhatIsBroken(t *testing.T) {
	check := func(want string, spoil func(r *report.EdgeRun)) {
		t.Helper()
		e := good()
		spoil(&e.Runs[0])
		err := e.Verdict()
		if want == "" {
			if err != nil {
				t.Errorf("the verdict is %v", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the verdict is %v, want it to say %q", err, want)
		}
	}
	check("", func(*report.EdgeRun) {})
	check("0.89 times", func(r *report.EdgeRun) { r.Pairs[0].Edge.Rate = 89; r.Compare() })
	check("", func(r *report.EdgeRun) { r.Pairs[0].Edge.Rate = 90; r.Compare() })
	check("p99 is 1ms", func(r *report.EdgeRun) { r.Hits.Latency.P99 = 1000 })
	check("p99.9 is 5ms", func(r *report.EdgeRun) { r.Hits.Latency.P999 = 5000 })
	check("p99 is 1.2ms, promised is less than 1ms (nginx, in turn: 1.9ms)", func(r *report.EdgeRun) { r.Hits.Latency.P99, r.Reference.P99 = 1200, 1900 })
	check("1 answers were wrong", func(r *report.EdgeRun) { r.Mix.Wrong = 1 })
	check("1 answers were wrong", func(r *report.EdgeRun) { r.Pairs[0].Nginx.Wrong = 1 })
	check("from memory", func(r *report.EdgeRun) { r.Pairs[0].Hits = 0.98 })
	check("from memory", func(r *report.EdgeRun) { r.Hits.L1 = 0.98 })
	check("proves nothing", func(r *report.EdgeRun) { r.Pairs[0].Nginx.ServerCPU = 0.8 })
	check("", func(r *report.EdgeRun) { r.Pairs[0].Nginx.ServerCPU, r.Pairs[0].Nginx.OthersCPU = 0.8, 0.15 })
	check("on a quiet machine", func(r *report.EdgeRun) { r.Pairs[0].Edge.OthersCPU = 0.2; r.Mix.Wrong = 1 })
	check("missed heartbeats 2 times", func(r *report.EdgeRun) { r.Gaps = 2 })
	check("3 of 9 clicks were dropped", func(r *report.EdgeRun) { r.Clicks = report.Clicks{Accepted: 9, Produced: 6, Dropped: 3} })
}

func TestLatencyIsTheMedianOfRounds(t *testing.T) {
	var r report.EdgeRun
	for i, p99 := range []float64{700, 30_000, 900} {
		r.AddHits(report.Waits{Answers: 10, L1: 1, Wrong: i, Latency: report.Microseconds{P99: p99}}, report.Microseconds{P99: 2 * p99})
	}
	if r.Hits.Latency.P99 != 900 || r.Reference.P99 != 1800 {
		t.Errorf("the medians are %v and %v, want 900 and 1800", r.Hits.Latency.P99, r.Reference.P99)
	}
	if r.Hits.Answers != 30 || r.Hits.Wrong != 3 || r.Hits.L1 != 1 {
		t.Errorf("in all rounds: %d answers, %d wrong, %v from memory; want 30, 3, 1", r.Hits.Answers, r.Hits.Wrong, r.Hits.L1)
	}
}
