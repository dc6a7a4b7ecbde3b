package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/load"
)

const (
	warmRate  = 2000.0
	warmTries = 20
	warmPause = 200 * time.Millisecond
)

// Warm visits every link at every edge until all answers come from memory. These
// visits are clicks like all others.
func (b *Bench) Warm(ctx context.Context, links []int32) error {
	b.Say("warming %d links at %d edges", len(links), len(b.Edges))
	left := make([]Ask, 0, len(links)*len(b.Edges))
	for e := range b.Edges {
		for _, n := range links {
			left = append(left, Ask{Edge: e, Link: n})
		}
	}
	for range warmTries {
		var again []Ask
		asks := left
		t := Traffic{
			Rate: warmRate, Count: len(asks), Kinds: []Kind{Links("links")},
			Next: func(i int) Ask { return asks[i] },
			Seen: func(v *load.Visit) {
				if v.Outcome != load.Answered || !LeadsHome(v) || string(v.Cache) != "l1" {
					again = append(again, Ask{Edge: v.Server, Link: v.Key})
				}
			},
		}
		before := len(b.Result.Phases)
		if _, err := b.Drive(ctx, t, nil); err != nil {
			return err
		}
		// Answers while an edge only just hears of a link prove nothing, but their
		// clicks count.
		b.Result.Phases = slices.Delete(b.Result.Phases, before, len(b.Result.Phases))
		if len(again) == 0 {
			return nil
		}
		left = again
		if err := Pause(ctx, warmPause); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d visits of warm links do not come from memory", len(left))
}

// Hot is a load of links drawn by the distribution, at all edges in turn.
func (b *Bench) Hot(links []int32) (func(i int) Ask, error) {
	ranks, err := b.Draw(len(links))
	if err != nil {
		return nil, err
	}
	edges := len(b.Edges)
	return func(i int) Ask { return Ask{Edge: i % edges, Link: links[ranks[i/edges%len(ranks)]]} }, nil
}
