package scenario

import (
	"context"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

const (
	soakEdits = time.Second
	// soakSamples is how many there are in a run, soakFastest how often at most.
	soakSamples = 300
	soakFastest = time.Second
	// What may come and go: the collector's pace, and connections.
	memorySlack, goroutineSlack = 32e6, 20
)

// soak sends a steady load and edits for long, and watches what every process holds.
func soak(ctx context.Context, b *bench.Bench) error {
	hot, err := b.API.MakeLinks(ctx, hotLinks)
	if err != nil {
		return err
	}
	edited, err := b.API.MakeLinks(ctx, watched)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, append(bench.Numbers(hot), bench.Numbers(edited)...)); err != nil {
		return err
	}
	next, err := b.Hot(bench.Numbers(hot))
	if err != nil {
		return err
	}
	services := b.Stack.Services()
	var probes []bench.Probe
	for _, name := range services {
		probes = append(probes, bench.Probe{Process: name, Metric: bench.Memory}, bench.Probe{Process: name, Metric: bench.Goroutines})
	}
	w := b.Watch(edited)
	b.Say("%.0f redirects a second and an edit every %v, for %v", b.Rate, soakEdits, b.Duration)
	samples, stop := b.Sample(ctx, max(soakFastest, b.Duration/soakSamples), probes...)
	defer stop()
	const both = 2
	_, err = b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Kinds: []bench.Kind{bench.Links("hot links"), w.Kind("edited links")}, Plot: "soak",
		Next: func(i int) bench.Ask {
			if i/len(b.Edges)%both == 0 {
				return next(i)
			}
			a := w.Next(i)
			a.Kind = 1
			return a
		},
		Seen: w.Saw,
	}, func(ctx context.Context, _ *bench.Run) error { return w.Edit(ctx, soakEdits, b.Duration) })
	if err != nil {
		return err
	}
	stop()
	for _, name := range services {
		b.Result.Promise(
			report.Stays("the memory of "+name, samples.Values(bench.Probe{Process: name, Metric: bench.Memory}), memorySlack, report.Megabytes),
			report.Stays("the number of goroutines of "+name, samples.Values(bench.Probe{Process: name, Metric: bench.Goroutines}), goroutineSlack, report.Count),
		)
	}
	b.Result.Plots = append(b.Result.Plots,
		samples.Plot("Memory", "MB", bench.Memory, 1e6, services...), samples.Plot("Goroutines", "", bench.Goroutines, 1, services...))
	w.Report(b.Result, false)
	b.Result.Promise(report.Redirected(b.Result.Phases, "hot links"), report.Redirected(b.Result.Phases, "edited links"))
	return b.Count(ctx)
}
