package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/lab"
	"github.com/linkstream/linkstream/loadtest/internal/metric"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

const (
	labEdges = 2
	// lostFor is how long the primary writes what its replica will never have.
	lostFor = time.Second
)

// failover promotes a replica that lacks the last writes, under edits and visits. The
// local stack has no replicas, so this is a region of its own.
func failover(ctx context.Context, b *bench.Bench) (err error) {
	b.Say("starting a region whose Redis has a replica")
	l, err := lab.Start(ctx, b.Stack, b.Bin, b.Environ, labEdges)
	defer func() { err = errors.Join(err, l.Close()) }()
	if err != nil {
		return err
	}
	b.Edges = nil
	for _, e := range l.Edges {
		b.Edges = append(b.Edges, bench.Edge{Name: e.Name, Region: "lab", Addr: e.Addr, Admin: e.Admin})
	}
	links, err := b.API.MakeLinks(ctx, watched)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(links)); err != nil {
		return err
	}
	w := b.Watch(links)
	_, err = b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Kinds: []bench.Kind{w.Kind("links")}, Next: w.Next, Seen: w.Saw, Plot: "failover",
	}, func(ctx context.Context, r *bench.Run) error {
		r.Phase("healthy")
		if err := w.Edit(ctx, editEvery, b.Duration); err != nil {
			return err
		}
		b.Say("the replica is cut off, and edits go on")
		r.Fault("replica cut off")
		if err := l.Detach(ctx); err != nil {
			return err
		}
		if err := w.Edit(ctx, editEvery, lostFor); err != nil {
			return err
		}
		b.Say("the primary is killed, the replica takes over")
		r.Fault("failed over")
		if err := l.FailOver(ctx); err != nil {
			return err
		}
		if err := w.Edit(ctx, editEvery, b.Duration); err != nil {
			return err
		}
		r.Phase("after")
		return w.EditAll(ctx)
	})
	if err != nil {
		return err
	}
	for _, e := range b.Edges {
		m, err := metric.Get(ctx, e.Admin)
		if err != nil {
			return err
		}
		b.Result.Add("flushes at "+e.Name, "%.0f", m[`cache_invalidation_total{source="gap"}`]+m[`cache_invalidation_total{source="reconnect"}`])
	}
	w.Report(b.Result, false)
	b.Result.Promise(report.Redirected(b.Result.Phases, "links"))
	return b.Count(ctx)
}
