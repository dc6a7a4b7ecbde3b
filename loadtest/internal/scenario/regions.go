package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/far"
	"github.com/linkstream/linkstream/loadtest/internal/lab"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

// roundTrips are about those from Frankfurt to a neighbour, to Ashburn and to
// Singapore.
func roundTrips() []time.Duration {
	return []time.Duration{30 * time.Millisecond, 90 * time.Millisecond, 160 * time.Millisecond}
}

// regions edits links while regions that are far away are visited by those who are
// near them.
func regions(ctx context.Context, b *bench.Bench) (err error) {
	means, err := far.Check(ctx)
	if errors.Is(err, far.ErrMissing) {
		return b.Skip(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if err != nil {
		return err
	}
	b.Say("starting regions: %s", means)
	b.Edges = nil
	for n, trip := range roundTrips() {
		place, err := far.Open(ctx, means, n, trip)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, place.Close()) }()
		name := fmt.Sprintf("far%d", trip.Milliseconds())
		d, startErr := lab.StartDistant(ctx, b.Stack, b.Bin, b.Environ, name, place)
		defer func() { err = errors.Join(err, d.Close()) }()
		if startErr != nil {
			return startErr
		}
		b.Edges = append(b.Edges, bench.Edge{Name: d.Edge.Name, Region: name, Addr: d.Edge.Addr, Admin: d.Edge.Admin, Enter: d.Enter})
	}
	links, err := b.API.MakeLinks(ctx, watched)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(links)); err != nil {
		return err
	}
	w := b.Watch(links)
	b.Say("editing a link every %v for %v", editEvery, b.Duration)
	edges := len(b.Edges)
	run, err := b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Kinds: []bench.Kind{kindLinks: w.Kind("links"), kindNothing: bench.Nothing()}, Seen: w.Saw, Plot: "regions",
		Next: func(i int) bench.Ask { return besideNothing(w, i, edges) },
	}, func(ctx context.Context, _ *bench.Run) error {
		if err := w.Edit(ctx, editEvery, b.Duration); err != nil {
			return err
		}
		return w.EditAll(ctx)
	})
	if err != nil {
		return err
	}
	b.Result.Add("links between regions", "%s", means)
	nearest := run.Row("load", kindLinks, 0)
	for e, edge := range b.Edges {
		row, nothing := run.Row("load", kindLinks, e), run.Row("load", kindNothing, e)
		b.Result.Add("redirects at "+edge.Name, "round trip %v; p50 %s, p99 %s ms; from memory %.1f %%, Redis %d, the origin %d", roundTrips()[e],
			strconv.FormatFloat(row.Latency.P50/1000, 'f', 2, 64), strconv.FormatFloat(row.Latency.P99/1000, 'f', 2, 64), 100*row.HitRate(), row.ByCache["l2"], row.ByCache["origin"])
		if e > 0 {
			b.Result.Promise(report.AsQuick(edge.Name, "it is further away than "+b.Edges[0].Name, row.Latency, nearest.Latency, nothing.Latency))
		}
	}
	w.Report(b.Result, false)
	b.Result.Promise(report.Redirected(b.Result.Phases, "links"))
	return b.Count(ctx)
}
