package scenario

import (
	"context"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

const (
	// watched links are few, so that each is looked at often.
	watched = 8
	// editEvery leaves every edit the time in which it is looked at most.
	editEvery = 120 * time.Millisecond
)

// mutate edits links under load and looks at each edge for the last old target.
func mutate(ctx context.Context, b *bench.Bench) error {
	links, err := b.API.MakeLinks(ctx, watched)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(links)); err != nil {
		return err
	}
	w := b.Watch(links)
	b.Say("editing a link every %v for %v, %.0f visits a second", editEvery, b.Duration, b.Rate)
	_, err = b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Kinds: []bench.Kind{w.Kind("edited links")}, Next: w.Next, Seen: w.Saw, Plot: "edits",
	}, func(ctx context.Context, _ *bench.Run) error {
		if err := w.Edit(ctx, editEvery, b.Duration); err != nil {
			return err
		}
		return w.EditAll(ctx)
	})
	if err != nil {
		return err
	}
	w.Report(b.Result, true)
	b.Result.Promise(report.Redirected(b.Result.Phases, "edited links"))
	return b.Count(ctx)
}
