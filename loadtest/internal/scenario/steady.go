// Package scenario holds the load scenarios. Latencies are always those of an open
// loop: requests are due at fixed times, and a latency is counted from the time a
// request was due, so that a stalled server cannot hide behind a generator that
// waits for it.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"

	"github.com/linkstream/linkstream/loadtest/internal/report"
)

// Bounds of the scenario.
const (
	workers      = 64              // requests in flight at most
	requestLimit = 5 * time.Second // one answer
	countLimit   = time.Minute     // until every click is counted
	destination  = "https://e.test/steady?a=1"
	links        = 20
)

// Steady sends redirects at a fixed rate to all edges in turn.
type Steady struct {
	APIURL, APIKey string
	Edges          []string
	Rate           int // a second
	Duration       time.Duration
	Command        string // for the report
}

// Run sends the load and says what came of it.
func (s Steady) Run(ctx context.Context, progress io.Writer) (*report.Steady, error) {
	for _, edge := range s.Edges {
		if err := loopback(edge); err != nil {
			return nil, err
		}
	}
	api := &client{url: s.APIURL, key: s.APIKey}
	slugs, ids, err := s.prepare(ctx, api)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "sending %d redirects a second for %v to %d edges\n", s.Rate, s.Duration, len(s.Edges))
	result := &report.Steady{
		Stamp: report.NewStamp(ctx, "steady", s.Command), Rate: s.Rate, Duration: s.Duration.String(),
		Latency: hdrhistogram.New(1, (10 * time.Second).Microseconds(), 3),
	}
	cpu := cpuTime()
	wall := time.Now()
	s.load(ctx, slugs, result)
	result.GeneratorCPU = (cpuTime() - cpu).Seconds() / time.Since(wall).Seconds()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "waiting until %d clicks are counted\n", result.Right)
	result.Counted, err = api.waitForClicks(ctx, ids, result.Right, countLimit)
	return result, err
}

// prepare makes the links and waits until every edge knows them, by HEAD, which
// does not count as a click.
func (s Steady) prepare(ctx context.Context, api *client) (slugs, ids []string, err error) {
	for range links {
		slug, id, err := api.create(ctx, destination)
		if err != nil {
			return nil, nil, err
		}
		slugs, ids = append(slugs, slug), append(ids, id)
	}
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	for _, edge := range s.Edges {
		for _, slug := range slugs {
			if err := api.waitForLink(ctx, edge+"/"+slug); err != nil {
				return nil, nil, err
			}
		}
	}
	return slugs, ids, nil
}

// load keeps the schedule: a worker takes the next request when it is due.
func (s Steady) load(ctx context.Context, slugs []string, result *report.Steady) {
	var (
		next  atomic.Int64
		total = int64(float64(s.Rate) * s.Duration.Seconds())
		start = time.Now()
		http  = &fasthttp.Client{MaxConnsPerHost: workers, ReadTimeout: requestLimit, WriteTimeout: requestLimit}
		mu    sync.Mutex
		wg    sync.WaitGroup
	)
	defer http.CloseIdleConnections()
	for range workers {
		wg.Go(func() {
			request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(request)
			defer fasthttp.ReleaseResponse(answer)
			request.Header.SetUserAgent("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= total {
					return
				}
				due := start.Add(time.Duration(i) * time.Second / time.Duration(s.Rate))
				if !waitUntil(ctx, due) {
					return
				}
				request.SetRequestURI(s.Edges[int(i)%len(s.Edges)] + "/" + slugs[int(i)%len(slugs)])
				err := http.DoTimeout(request, answer, requestLimit)
				took := time.Since(due)
				mu.Lock()
				result.Sent++
				switch {
				case err != nil:
					result.Failed++
				case answer.StatusCode() != fasthttp.StatusFound || string(answer.Header.Peek("Location")) != destination:
					result.Wrong++
				default:
					result.Right++
				}
				_ = result.Latency.RecordValue(max(1, took.Microseconds())) // over ten seconds is a failure already
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// waitUntil says false when ctx ended first.
func waitUntil(ctx context.Context, due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// loopback refuses to send load anywhere else.
func loopback(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("reading the edge's address: %w", err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return errors.New("load goes to loopback only, not to " + u.Host)
	}
	return nil
}

// cpuTime is what this process has used so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
