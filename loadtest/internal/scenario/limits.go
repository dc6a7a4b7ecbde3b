package scenario

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

const (
	limitCapacity = 60
	limitRefill   = 20.0
	limitCallers  = 6
	// limitEvery is how often each caller comes: together many times as often as the
	// limit allows.
	limitEvery = 30 * time.Millisecond
)

// limits calls two services with one key, much more often than it may, beside
// redirects, which no key's limit concerns.
func limits(ctx context.Context, b *bench.Bench) (err error) {
	links, err := b.API.MakeLinks(ctx, watched)
	if err != nil {
		return err
	}
	if err := b.Warm(ctx, bench.Numbers(links)); err != nil {
		return err
	}
	next, err := b.Hot(bench.Numbers(links))
	if err != nil {
		return err
	}
	key, id, err := b.API.MakeKey(ctx, limitCapacity, limitRefill)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.API.DropKey(context.WithoutCancel(ctx), id)) }()
	b.Say("%d callers with one key that may call %.0f times a second, for %v", limitCallers, limitRefill, b.Duration)
	var bucket report.Bucket
	_, err = b.Drive(ctx, bench.Traffic{Rate: b.Rate, Kinds: []bench.Kind{bench.Links("links")}, Next: next, Plot: "limits"},
		func(ctx context.Context, _ *bench.Run) error {
			bucket = press(ctx, key, b.Duration)
			return ctx.Err()
		})
	if err != nil {
		return err
	}
	b.Result.Add("calls", "%d allowed, %d refused, %d other answers in %.2f s", bucket.Allowed, bucket.Refused, bucket.Other, bucket.Seconds)
	b.Result.Promise(report.Limited(bucket)...)
	b.Result.Promise(report.Redirected(b.Result.Phases, "links"))
	return b.Count(ctx)
}

// press calls again and again, whatever the answer says.
func press(ctx context.Context, key *bench.API, length time.Duration) report.Bucket {
	bucket := report.Bucket{Capacity: limitCapacity, Refill: limitRefill}
	paths := []string{"/v1/links?limit=1", "/v1/analytics/summary"}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		begun = time.Now()
	)
	for caller := range limitCallers {
		wg.Go(func() {
			tick := time.NewTicker(limitEvery)
			defer tick.Stop()
			for n := caller; time.Since(begun) < length && ctx.Err() == nil; n++ {
				err := key.Call(ctx, http.MethodGet, paths[n%len(paths)], nil, http.StatusOK, nil)
				status := new(bench.StatusError)
				mu.Lock()
				switch {
				case err == nil:
					bucket.Allowed++
				case errors.As(err, &status) && status.Status == http.StatusTooManyRequests:
					bucket.Refused++
					if status.RetryAfter == "" {
						bucket.NoAdvice++
					}
				default:
					bucket.Other++
				}
				bucket.Seconds = time.Since(begun).Seconds()
				mu.Unlock()
				<-tick.C
			}
		})
	}
	wg.Wait()
	return bucket
}
