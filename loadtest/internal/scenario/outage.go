package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
)

const (
	// recoverLimit is how long all may take to be ready again by itself.
	recoverLimit = 2 * time.Minute
)

// The kinds of what is asked for in an outage.
const (
	kindLinks = iota
	kindNothing
)

// outage breaks stores while visitors come at a steady rate: first it kills them and
// holds them down, then it stops them so that they hang.
func outage(names func(s *stack.Stack) []string) func(ctx context.Context, b *bench.Bench) error {
	return func(ctx context.Context, b *bench.Bench) error { return breakStores(ctx, b, names(b.Stack)) }
}

func breakStores(ctx context.Context, b *bench.Bench, names []string) (err error) {
	links, err := b.API.MakeLinks(ctx, watched)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(links)); err != nil {
		return err
	}
	var (
		what   = strings.Join(names, ", ")
		w      = b.Watch(links)
		faults = b.Stack.Faults()
		ready  []string // who was ready again last, and when
	)
	if len(names) > 2 {
		what = "every store"
	}
	defer func() { err = errors.Join(err, faults.Mend()) }()
	// broken is one fault and the time after it.
	broken := func(ctx context.Context, r *bench.Run, name string, begin func() error) error {
		b.Say("%s", name)
		r.Fault(name)
		if err := begin(); err != nil {
			return err
		}
		if err := bench.Pause(ctx, b.Duration); err != nil {
			return err
		}
		if err := faults.Mend(); err != nil {
			return err
		}
		r.Phase("coming back")
		took, err := b.Stack.ReadyAgain(ctx, recoverLimit)
		if err != nil {
			return err
		}
		ready = append(ready, latest(took))
		r.Phase("healthy")
		return w.EditAll(ctx)
	}
	dead, hangs := what+" dead", what+" hanging"
	edges := len(b.Edges)
	run, err := b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Kinds: []bench.Kind{kindLinks: w.Kind("links"), kindNothing: bench.Nothing()}, Seen: w.Saw, Plot: "outage",
		Next: func(i int) bench.Ask { return besideNothing(w, i, edges) },
	}, func(ctx context.Context, r *bench.Run) error {
		b.Say("all is well")
		r.Phase("healthy")
		if err := bench.Pause(ctx, b.Duration); err != nil {
			return err
		}
		if err := broken(ctx, r, dead, func() error { return faults.Kill(ctx, names...) }); err != nil {
			return err
		}
		if runtime.GOOS != "linux" {
			return nil
		}
		return broken(ctx, r, hangs, func() error { return faults.Hang(names...) })
	})
	if err != nil {
		return err
	}
	for e, edge := range b.Edges {
		healthy := run.Row("healthy", kindLinks, e).Latency
		for _, phase := range []string{dead, hangs} {
			b.Result.Promise(report.AsQuick(edge.Name, phase, run.Row(phase, kindLinks, e).Latency, healthy, run.Row(phase, kindNothing, e).Latency))
		}
	}
	b.Result.Add("last to be ready again", "%s", strings.Join(ready, "; "))
	for _, phase := range []string{"healthy", dead, hangs} {
		row := run.Row(phase, kindLinks, -1)
		b.Result.Add("answers while "+phase, "memory %d, stale %d, Redis %d, the origin %d", row.ByCache["l1"], row.ByCache["stale"], row.ByCache["l2"], row.ByCache["origin"])
	}
	dropped, err := b.Stack.EdgeSum(ctx, "clicks_dropped_total")
	if err != nil {
		return err
	}
	w.Report(b.Result, false)
	b.Result.Promise(report.Redirected(b.Result.Phases, "links"), report.Promise{
		Number: 5, What: "no click is dropped", Measured: fmt.Sprintf("%.0f since the edges started", dropped), Broken: dropped > 0,
	})
	return b.Count(ctx)
}

// besideNothing asks, for every visit of a link, the same edge at the same time for what
// nothing is looked up for: the noise of the machine hits both.
func besideNothing(w *bench.Watch, i, edges int) bench.Ask {
	a := w.Next(i / (2 * edges) * edges)
	a.Edge = i % edges
	if i/edges%2 == 1 {
		a.Kind = kindNothing
	}
	return a
}

// latest says who took longest.
func latest(took map[string]time.Duration) string {
	last := ""
	for _, name := range slices.Sorted(maps.Keys(took)) {
		if last == "" || took[name] > took[last] {
			last = name
		}
	}
	return fmt.Sprintf("%s after %.1f s", last, took[last].Seconds())
}

func onlyPostgres(*stack.Stack) []string   { return []string{"postgres"} }
func onlyBroker(*stack.Stack) []string     { return []string{"broker"} }
func onlyClickHouse(*stack.Stack) []string { return []string{"clickhouse"} }

func everyRedis(s *stack.Stack) (names []string) {
	for _, r := range s.Regions {
		names = append(names, "redis-"+r.Name)
	}
	return names
}

func everyStore(s *stack.Stack) []string {
	return append([]string{"postgres", "broker", "clickhouse"}, everyRedis(s)...)
}
