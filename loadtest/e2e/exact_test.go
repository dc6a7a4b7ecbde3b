package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// tally counts what one visitor of many saw.
type tally struct {
	answered atomic.Int64 // redirects that arrived
	unknown  atomic.Int64 // requests whose connection broke: the edge may have answered
}

// visit asks once, on a connection of its own: on one that is used again, net/http
// repeats a request silently.
func (a *tally) visit(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", browser)
	answer, err := client.Do(request)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED): // nobody was there
		return nil
	case err != nil:
		a.unknown.Add(1)
		return nil
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		a.unknown.Add(1)
		return nil
	}
	if answer.StatusCode != http.StatusFound {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	a.answered.Add(1)
	return nil
}

// killedUnderLoad: an edge is killed with SIGKILL again and again while it redirects,
// the broker and the ingester in between. Every redirect that arrived is counted once;
// what is counted beyond those was under way when a connection broke.
func (s *stack) killedUnderLoad(t *testing.T) {
	made := s.create(t, "under-load", "https://e.test/")
	edge := s.edges()[0]
	redirects := func(ctx context.Context) error { // by HEAD, which does not count
		if status, _, _, err := visit(ctx, http.MethodHead, edge, "under-load"); err != nil || status != http.StatusFound {
			return fmt.Errorf("%d %w", status, err)
		}
		return nil
	}
	s.eventually(t, freshness, "the edge redirects", redirects)
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: noFollow.CheckRedirect,
		Timeout:       10 * time.Second,
	}
	var seen tally
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-pace.C:
				}
				if err := seen.visit(t.Context(), client, edge+"/under-load"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, victim := range []string{"redirect-fra-0", "broker", "redirect-fra-0", "clicks", "redirect-fra-0"} {
		before := seen.answered.Load()
		s.eventually(t, time.Minute, "redirects are answered", func(context.Context) error {
			if n := seen.answered.Load() - before; n < 200 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		s.kill(t, victim)
	}
	s.eventually(t, 30*time.Second, "the edge redirects again", redirects)
	stop()
	wg.Wait()

	least, most := int(seen.answered.Load()), int(seen.answered.Load()+seen.unknown.Load())
	s.eventually(t, time.Minute, "every answered redirect is counted", func(context.Context) error {
		if got := s.clicks(t, made.ID); got < least {
			return fmt.Errorf("%d of %d", got, least)
		}
		return nil
	})
	// Everything that was accepted is settled, so nothing comes after.
	s.eventually(t, time.Minute, "the journal is empty", func(ctx context.Context) error {
		if waiting, err := metric(ctx, "clicks_journal_clicks", 9080+s.base); err != nil || waiting != 0 {
			return fmt.Errorf("%v %w", waiting, err)
		}
		return nil
	})
	s.eventually(t, 30*time.Second, "the edge's own count is in the summary", func(ctx context.Context) error {
		if got := s.clicks(t, made.ID); got < least || got > most {
			t.Fatalf("%d clicks of %d answered redirects and %d that were under way", got, least, most-least)
		}
		dropped, err := metric(ctx, "clicks_dropped_total", 9080+s.base)
		if err != nil || dropped != 0 {
			return fmt.Errorf("%v were dropped %w", dropped, err)
		}
		return nil
	})
	t.Logf("%d redirects were answered, %d more were under way when a connection broke, %d were counted", least, most-least, s.clicks(t, made.ID))
}
