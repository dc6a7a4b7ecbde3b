package scenario

import (
	"context"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

// steadyLinks are enough for the rare ones to be asked for seldom.
const steadyLinks = 500

// steady sends redirects at a fixed rate to all edges in turn.
func steady(ctx context.Context, b *bench.Bench) error {
	links, err := b.API.MakeLinks(ctx, steadyLinks)
	if err != nil {
		return err
	}
	numbers := bench.Numbers(links)
	if err := b.Warm(ctx, numbers); err != nil {
		return err
	}
	next, err := b.Hot(numbers)
	if err != nil {
		return err
	}
	b.Say("sending %.0f redirects a second for %v", b.Rate, b.Duration)
	run, err := b.Drive(ctx, bench.Traffic{Rate: b.Rate, Count: int(b.Rate * b.Duration.Seconds()), Kinds: []bench.Kind{bench.Links("links")}, Next: next, Plot: "load"}, nil)
	if err != nil {
		return err
	}
	row := run.Row("load", 0, -1)
	b.Result.Add("from memory", "%.2f %%", 100*row.HitRate())
	b.Result.Promise(report.Redirected(b.Result.Phases, "links"))
	return b.Count(ctx)
}
