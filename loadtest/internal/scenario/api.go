package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"

	"github.com/linkstream/linkstream/loadtest/internal/bench"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

const (
	singleCallers = 64 // creates in flight
	bulkCallers   = 4  // bulk calls in flight
	bulkLinks     = 1000
	bulkLimit     = 30 * time.Second
	drainLimit    = time.Minute
)

// API makes links as fast as the API takes them, first one by one, then 1,000 at a
// time, and measures after each how long the outbox takes to empty. It is a closed
// loop: it measures what the API can do, not what a caller waits.
type API struct {
	URL, Key string
	// Metrics is the address of the links service's metrics.
	Metrics  string
	Duration time.Duration // of each half
	Command  string        // for the report
}

// Run sends the load and says what came of it.
func (s API) Run(ctx context.Context, progress io.Writer) (*report.API, error) {
	if s.Metrics == "" {
		var err error
		if s.Metrics, err = metricsOf(s.URL); err != nil {
			return nil, err
		}
	}
	for _, address := range []string{s.URL, s.Metrics} {
		if err := loopback(address); err != nil {
			return nil, err
		}
	}
	result := &report.API{Stamp: report.NewStamp(ctx, "api", s.Command), Duration: s.Duration.String()}
	run := strconv.FormatInt(time.Now().Unix(), 36)
	var err error
	fmt.Fprintf(progress, "making links one by one for %v, %d at the same time\n", s.Duration, singleCallers)
	if result.Single, err = s.half(ctx, singleCallers, "/v1/links", 1, func(body []byte, n int64) []byte { return appendLink(body, run, n) }); err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "making links %d at a time for %v, %d calls at the same time\n", bulkLinks, s.Duration, bulkCallers)
	result.Bulk, err = s.half(ctx, bulkCallers, "/v1/links/bulk", bulkLinks, func(body []byte, n int64) []byte {
		body = append(body, `{"links":[`...)
		for i := range int64(bulkLinks) {
			if i > 0 {
				body = append(body, ',')
			}
			body = appendLink(body, run+"b", n*bulkLinks+i)
		}
		return append(body, `]}`...)
	})
	return result, err
}

// appendLink is a link as campaigns have them, with a destination of its own.
func appendLink(body []byte, run string, n int64) []byte {
	body = append(body, `{"destination":"https://www.example.com/landing/`...)
	body = append(body, run...)
	body = strconv.AppendInt(body, n, 10)
	body = append(body, `?utm_source=newsletter&utm_campaign=spring","title":"Spring sale `...)
	body = strconv.AppendInt(body, n, 10)
	return append(body, `","tags":["load","spring"]}`...)
}

// half makes links for the duration, and then waits for the outbox.
func (s API) half(ctx context.Context, callers int, path string, links int, body func([]byte, int64) []byte) (report.Half, error) {
	h := report.Half{Latency: hdrhistogram.New(1, bulkLimit.Microseconds(), 3)}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		wg    sync.WaitGroup
		http  = &fasthttp.Client{MaxConnsPerHost: callers, ReadTimeout: bulkLimit, WriteTimeout: bulkLimit, MaxResponseBodySize: 16 << 20}
		start = time.Now()
		cpu   = bench.ProcessTime()
	)
	defer http.CloseIdleConnections()
	for range callers {
		wg.Go(func() {
			request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(request)
			defer fasthttp.ReleaseResponse(answer)
			request.SetRequestURI(s.URL + path)
			request.Header.SetMethod(fasthttp.MethodPost)
			request.Header.SetContentType("application/json")
			request.Header.Set("Authorization", "Bearer "+s.Key)
			for ctx.Err() == nil && time.Since(start) < s.Duration {
				request.SetBodyRaw(body(nil, next.Add(1)))
				began := time.Now()
				err := http.DoTimeout(request, answer, bulkLimit)
				took := time.Since(began)
				made := 0
				if err == nil {
					made = madeLinks(answer, links)
				}
				mu.Lock()
				h.Calls++
				h.Made += made
				h.Failed += links - made
				if made < links && h.Example == "" {
					h.Example = example(answer, err)
				}
				_ = h.Latency.RecordValue(max(1, took.Microseconds())) // longer than the limit is a failure already
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	h.Seconds, h.GeneratorCPU = took.Seconds(), (bench.ProcessTime()-cpu).Seconds()/took.Seconds()
	h.PerSecond = float64(h.Made) / h.Seconds
	if err := ctx.Err(); err != nil {
		return h, err
	}
	var err error
	h.PendingAtEnd, h.DrainSeconds, err = s.drain(ctx)
	return h, err
}

func madeLinks(answer *fasthttp.Response, links int) int {
	switch {
	case links == 1 && answer.StatusCode() == fasthttp.StatusCreated:
		return 1
	case links > 1 && answer.StatusCode() == fasthttp.StatusOK:
		return bytes.Count(answer.Body(), []byte(`"status":201`))
	}
	return 0
}

func example(answer *fasthttp.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %.300s", answer.StatusCode(), answer.Body())
}

// drain waits until the outbox is empty, and says how full it was at first.
func (s API) drain(ctx context.Context) (pending int, seconds float64, err error) {
	start, first := time.Now(), -1
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		n, err := s.pending(ctx)
		if err != nil {
			return 0, 0, err
		}
		if first < 0 {
			first = n
		}
		// The gauge is a second old at most: only what it says after that counts.
		if since := time.Since(start); n == 0 && since > time.Second {
			return first, since.Seconds(), nil
		} else if since > drainLimit {
			return first, since.Seconds(), fmt.Errorf("%d rows are still in the outbox after %v", n, drainLimit)
		}
		select {
		case <-ctx.Done():
			return first, 0, ctx.Err()
		case <-tick.C:
		}
	}
}

// pending reads outbox_pending.
func (s API) pending(ctx context.Context) (int, error) {
	text, err := get(ctx, s.Metrics)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("outbox_pending ")); ok {
			n, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
			return int(n), err
		}
	}
	return 0, errors.New("the links service has no outbox_pending among its metrics")
}

// metricsOf is where the local stack's links service has its metrics, given the
// address of its API: ports 9010 and 8000, moved by the same number.
func metricsOf(api string) (string, error) {
	u, err := url.Parse(api)
	if err != nil {
		return "", fmt.Errorf("reading the API's address: %w", err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return "", fmt.Errorf("reading the API's port: %w", err)
	}
	return "http://" + net.JoinHostPort(u.Hostname(), strconv.Itoa(port+1010)) + "/metrics", nil
}
