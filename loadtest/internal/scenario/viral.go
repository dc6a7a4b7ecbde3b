package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/metric"
	"github.com/linkstream/linkstream/loadtest/internal/report"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

// coldLimit is how long a link may take to come to a region's Redis.
const coldLimit = 30 * time.Second

// viral sends everybody to one link that no cache has. Each edge asks once, and the
// second edge of a region finds what the first has put into Redis or asks, too.
func viral(ctx context.Context, b *bench.Bench) error {
	links, err := b.API.MakeLinks(ctx, 1)
	if err != nil {
		return err
	}
	number := links[0].Number
	if err := chill(ctx, b, number); err != nil {
		return err
	}
	calls, flushes, err := originCalls(ctx, b)
	if err != nil {
		return err
	}
	visitors := int(b.Rate * b.Duration.Seconds())
	edges := len(b.Edges)
	b.Say("sending %d visitors to one cold link within %v", visitors, b.Duration)
	run, err := b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Count: visitors, Kinds: []bench.Kind{bench.Links("the link")},
		Next: func(i int) bench.Ask { return bench.Ask{Edge: i % edges, Link: number} }, Plot: "viral",
	}, nil)
	if err != nil {
		return err
	}
	callsNow, flushesNow, err := originCalls(ctx, b)
	if err != nil {
		return err
	}
	// An edge that may have missed a message asks again: that is no stampede.
	again := flushesNow - flushes
	b.Result.Add("edges that had to ask again", "%d", again)
	row := run.Row("load", 0, -1)
	b.Result.Add("answered from", "memory %d, Redis %d, the origin %d", row.ByCache["l1"], row.ByCache["l2"], row.ByCache["origin"])
	b.Result.Promise(report.Redirected(b.Result.Phases, "the link"), report.FewOriginCalls(callsNow-calls, max(2, edges)+again, visitors))
	return b.Count(ctx)
}

// originCalls is how often the edges have asked the origin, and how often one of them
// could no longer trust what it held.
func originCalls(ctx context.Context, b *bench.Bench) (calls, flushes int, err error) {
	for _, e := range b.Edges {
		m, err := metric.Get(ctx, e.Admin)
		if err != nil {
			return 0, 0, err
		}
		calls += int(m.Sum("cache_origin_request_total"))
		flushes += int(m[`cache_invalidation_total{source="gap"}`] + m[`cache_invalidation_total{source="reconnect"}`])
	}
	return calls, flushes, nil
}

// chill takes a link out of every region's Redis once it has come there; no edge has
// been asked for it.
func chill(ctx context.Context, b *bench.Bench, number int32) error {
	key := fmt.Sprintf("redirect:%s:%s", bench.Domain, wire.Slug(int(number)))
	for _, region := range b.Stack.Regions {
		err := stack.Until(ctx, coldLimit, region.Name+" has the link", func(ctx context.Context) error {
			answer, err := stack.Redis(ctx, region.Redis, "DEL "+key)
			if err == nil && answer != ":1" {
				err = errors.New("not yet")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
