package scenario

import (
	"context"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

const (
	restartLimit = time.Minute
	deployEdits  = 250 * time.Millisecond
)

// deploy restarts edges, links, cacheupdaters and the ingester one by one with
// SIGTERM, under load. Visitors come through a balancer that goes to the next edge
// when one does not take a request; there is one process of links, so that edits wait
// while it is away.
func deploy(ctx context.Context, b *bench.Bench) error {
	links, err := b.API.MakeLinks(ctx, watched)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(links)); err != nil {
		return err
	}
	var names []string
	for _, e := range b.Edges {
		names = append(names, e.Name)
	}
	names = append(names, "links")
	for _, r := range b.Stack.Regions {
		names = append(names, "cacheupdater-"+r.Name)
	}
	names = append(names, "clicks")
	pause := b.Duration / time.Duration(2*len(names)+1)
	restarted := 0
	w := b.Watch(links)
	_, err = b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Balance: true, Kinds: []bench.Kind{w.Kind("links")}, Next: w.Next, Seen: w.Saw, Plot: "deployment",
	}, func(ctx context.Context, r *bench.Run) error {
		editing, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- w.Edit(editing, deployEdits, time.Hour) }()
		err := func() error {
			defer stop()
			for _, name := range names {
				r.Phase("before")
				if err := bench.Pause(ctx, pause); err != nil {
					return err
				}
				b.Say("restarting %s", name)
				r.Fault(name)
				if err := b.Stack.Restart(ctx, name, restartLimit); err != nil {
					return err
				}
				restarted++
				if err := bench.Pause(ctx, pause); err != nil {
					return err
				}
			}
			return nil
		}()
		if edits := <-done; err == nil && editing.Err() == nil {
			err = edits
		}
		if err != nil {
			return err
		}
		r.Phase("after")
		return w.EditAll(ctx)
	})
	if err != nil {
		return err
	}
	w.Report(b.Result, false)
	b.Result.Promise(report.Done("processes restarted", restarted, len(names)), report.Redirected(b.Result.Phases, "links"))
	return b.Count(ctx)
}
