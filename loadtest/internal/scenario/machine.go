// Package scenario holds the load scenarios. Latencies are always those of an open
// loop: requests are due at fixed times, and a latency is counted from the time a
// request was due, so that a stalled server cannot hide behind a generator that
// waits for it.
//
// A scenario on a running stack is one file with its phases; what they share is in
// package bench.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// pollEvery is how often something awaited is asked for.
const pollEvery = 100 * time.Millisecond

// get reads a page.
func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", address, err)
	}
	defer func() { _ = answer.Body.Close() }()
	return io.ReadAll(answer.Body)
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
