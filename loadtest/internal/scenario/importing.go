package scenario

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

const (
	importers  = 2 // bulk calls at the same time
	importCall = 1000
	// freshEvery is which of the visits goes to a link that was just imported.
	freshEvery = 4
)

// imported are the links that bulk calls have made so far.
type imported struct {
	mu     sync.Mutex
	calls  int
	links  []int32
	failed error
}

// bulkImport imports links 1,000 at a time beside a hot load. An imported link has to
// redirect at every edge from the moment on at which the call was answered.
func bulkImport(ctx context.Context, b *bench.Bench) error {
	hot, err := b.API.MakeLinks(ctx, hotLinks)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(hot)); err != nil {
		return err
	}
	next, err := b.Hot(bench.Numbers(hot))
	if err != nil {
		return err
	}
	made := &imported{}
	first, err := made.begin(ctx, b)
	if err != nil {
		return err
	}
	b.Say("importing links for %v, %d calls of %d at the same time", b.Duration, importers, importCall)
	var began, ended time.Time
	edges := len(b.Edges)
	_, err = b.Drive(ctx, bench.Traffic{
		Rate: b.Rate, Kinds: []bench.Kind{bench.Links("hot links"), bench.Links("imported links")}, Plot: "import",
		Next: func(i int) bench.Ask {
			if i/edges%freshEvery == 0 {
				return bench.Ask{Edge: i % edges, Kind: 1, Link: made.any()}
			}
			return next(i)
		},
	}, func(ctx context.Context, _ *bench.Run) error {
		began = time.Now()
		made.run(ctx, b, first, b.Duration)
		ended = time.Now()
		if made.failed != nil {
			return made.failed
		}
		return b.Stack.Drained(ctx, drainLimit)
	})
	if err != nil {
		return err
	}
	took := ended.Sub(began).Seconds()
	links := len(made.links) - importCall // the first call was before
	b.Result.Add("imported", "%d links in %.1f s, %.0f a second", links, took, float64(links)/took)
	b.Result.Promise(
		report.Redirected(b.Result.Phases, "hot links"), report.Redirected(b.Result.Phases, "imported links"),
		report.Done("links imported", links, (made.calls-1)*importCall),
		report.Within("the outbox is empty", time.Since(ended), report.DrainSeconds*time.Second),
	)
	return b.Count(ctx)
}

// begin makes the first links, with slugs that nobody has.
func (m *imported) begin(ctx context.Context, b *bench.Bench) (first int, err error) {
	for {
		first = bench.Block()
		links, err := b.API.MakeBulk(ctx, first, importCall)
		if errors.Is(err, bench.ErrTaken) {
			continue
		}
		m.calls, m.links = 1, bench.Numbers(links)
		return first, err
	}
}

func (m *imported) run(ctx context.Context, b *bench.Bench, first int, length time.Duration) {
	var wg sync.WaitGroup
	begun := time.Now()
	for range importers {
		wg.Go(func() {
			for time.Since(begun) < length && ctx.Err() == nil {
				m.mu.Lock()
				call := m.calls
				stop := m.failed != nil || (call+1)*importCall > bench.BlockSize
				if !stop {
					m.calls++
				}
				m.mu.Unlock()
				if stop {
					return
				}
				links, err := b.API.MakeBulk(ctx, first+call*importCall, importCall)
				m.mu.Lock()
				m.links = append(m.links, bench.Numbers(links)...)
				m.failed = errors.Join(m.failed, err)
				m.mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// any is an imported link, of the newest ones every other time.
func (m *imported) any() int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.links); rand.IntN(2) == 0 {
		return m.links[n-1-rand.IntN(importCall)]
	}
	return m.links[rand.IntN(len(m.links))]
}
