package report

import (
	"fmt"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/paired"
)

// Round is one measurement of the edge's latency and one of nginx', right after
// each other.
type Round struct {
	Edge  Microseconds `json:"edge_us"`
	Nginx Microseconds `json:"nginx_us"`
}

// AddHits adds a round of answers from memory. Quantiles are medians over rounds,
// because one stop of a virtual machine (20 ms were seen, without anything to do)
// decides the 99.9th percentile of all the requests of half a minute.
func (r *EdgeRun) AddHits(edge Waits, nginx Microseconds) {
	r.Rounds = append(r.Rounds, Round{Edge: edge.Latency, Nginx: nginx})
	n, before := float64(len(r.Rounds)), r.Hits
	mean := func(sum, next float64) float64 { return sum + (next-sum)/n }
	r.Hits = Waits{
		Rate: edge.Rate, Answers: before.Answers + edge.Answers, Wrong: before.Wrong + edge.Wrong, Late: before.Late + edge.Late,
		ServerCPU: mean(before.ServerCPU, edge.ServerCPU), OthersCPU: mean(before.OthersCPU, edge.OthersCPU),
		GeneratorCPU: mean(before.GeneratorCPU, edge.GeneratorCPU), StoresCPU: mean(before.StoresCPU, edge.StoresCPU),
		L1: mean(before.L1, edge.L1), L2: mean(before.L2, edge.L2), Origin: mean(before.Origin, edge.Origin),
		Latency: medians(r.Rounds, func(r Round) Microseconds { return r.Edge }),
	}
	r.Reference = medians(r.Rounds, func(r Round) Microseconds { return r.Nginx })
}

func medians(rounds []Round, side func(Round) Microseconds) Microseconds {
	of := func(value func(Microseconds) float64) float64 {
		values := make([]float64, len(rounds))
		for i, r := range rounds {
			values[i] = value(side(r))
		}
		return paired.Median(values)
	}
	return Microseconds{
		P50: of(func(m Microseconds) float64 { return m.P50 }), P95: of(func(m Microseconds) float64 { return m.P95 }),
		P99: of(func(m Microseconds) float64 { return m.P99 }), P999: of(func(m Microseconds) float64 { return m.P999 }),
		Max: of(func(m Microseconds) float64 { return m.Max }),
	}
}

// late says what is broken about a quantile, in microseconds. What nginx with a constant
// answer took in the same rounds says how much of it is the machine's, and excuses nothing.
func late(name string, edge, nginx float64, limit time.Duration) []error {
	if edge < float64(limit.Microseconds()) {
		return nil
	}
	us := func(f float64) time.Duration { return time.Duration(f * 1000) }
	return []error{fmt.Errorf("%s is %v, promised is less than %v (nginx, in turn: %v)", name, us(edge), limit, us(nginx))}
}
