package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	chaosLength  = time.Minute
	chaosRate    = 300 // requests a second over all edges
	chaosWorkers = 8
	chaosPause   = 2 * time.Second // between two kills, on average
	chaosSettle  = 2 * time.Minute
)

// TestChaos is promise 4: redirects are counted by the visitors while processes are
// killed at random, and afterwards the summary shows as many. LINKSTREAM_E2E_CHAOS is
// how long (1m), LINKSTREAM_E2E_SEED repeats a choice, and LINKSTREAM_E2E_VICTIMS narrows
// down who is killed.
func TestChaos(t *testing.T) {
	length, seed := chaosLength, rand.Uint64()
	if text := os.Getenv("LINKSTREAM_E2E_CHAOS"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("LINKSTREAM_E2E_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	victims := []string{"broker", "clicks", "clickhouse", "redis-fra", "redis-ash", "redirect-fra-0", "redirect-fra-1", "redirect-ash-0", "redirect-ash-1"}
	if names := strings.Fields(os.Getenv("LINKSTREAM_E2E_VICTIMS")); len(names) > 0 {
		victims = names
	}
	upstream := slices.ContainsFunc(victims, func(name string) bool { return name == "broker" || strings.HasPrefix(name, "redirect-") })
	s := newStack(t)
	if _, body, err := get(t.Context(), fmt.Sprintf("http://127.0.0.1:%d/metrics", 9080+s.base)); err != nil || upstream && !strings.Contains(body, "\nclicks_journal_bytes") {
		t.Skip("these edges have no journal: what they hold dies with them")
	}
	made := s.create(t, "chaos", "https://e.test/chaos")
	s.eventually(t, freshness, "all edges redirect", func(ctx context.Context) error {
		for _, edge := range s.edges() { // by HEAD, which does not count
			if status, _, _, err := visit(ctx, http.MethodHead, edge, "chaos"); err != nil || status != http.StatusFound {
				return fmt.Errorf("%s: %d %w", edge, status, err)
			}
		}
		return nil
	})

	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var load visitors
	var wg sync.WaitGroup
	for worker := range chaosWorkers {
		wg.Go(func() { load.run(ctx, s, worker) })
	}
	kills := s.killAtRandom(ctx, t, victims, rand.New(rand.NewPCG(seed, 0)))
	wg.Wait()
	t.Logf("seed %d: %d answered, %d refused, %d cut off, %d other answers; killed %v",
		seed, load.answered.Load(), load.refused.Load(), load.cutOff.Load(), load.other.Load(), kills)
	if load.answered.Load() == 0 || len(kills) == 0 {
		t.Fatal("nothing was tried")
	}

	for _, port := range s.adminPorts() {
		s.eventually(t, time.Minute, "everything is ready again", func(ctx context.Context) error {
			if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil || status != http.StatusOK {
				return fmt.Errorf("port %d: %d %s %w", port, status, body, err)
			}
			return nil
		})
	}
	// A request that was cut off may have been recorded and its answer lost with the
	// edge: nobody but the edge knows. All others are known exactly.
	low := int(load.answered.Load())
	high := low + int(load.cutOff.Load())
	var counted int
	// The ledger first: when it does not add up, its error has everybody's account.
	s.eventually(t, chaosSettle, "the ledger adds up", func(ctx context.Context) error { return s.runLedger(ctx) })
	s.eventually(t, chaosSettle, "every answered redirect is counted", func(context.Context) error {
		if counted = s.clicks(t, made.ID); counted < low {
			return fmt.Errorf("%d counted, %d answered", counted, low)
		}
		return nil
	})
	if counted = s.clicks(t, made.ID); counted < low || counted > high {
		t.Errorf("%d clicks counted; %d were answered and %d cut off", counted, low, high-low)
	}
	t.Logf("%d counted of %d answered", counted, low)
}

// visitors follow the link and count what they are told.
type visitors struct {
	answered atomic.Int64 // 302, read to the end
	refused  atomic.Int64 // no connection: the edge was not there
	cutOff   atomic.Int64 // the request may have been seen
	other    atomic.Int64 // answers that are no redirect
}

func (v *visitors) run(ctx context.Context, s *stack, worker int) {
	// A connection for each request: on one that is used again net/http repeats a
	// request that was cut off, and says nothing.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: noFollow.CheckRedirect, Timeout: noFollow.Timeout}
	tick := time.NewTicker(time.Second * chaosWorkers / chaosRate)
	defer tick.Stop()
	edges := s.edges()
	for n := worker; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// Not the context that ends: an answer that is on its way counts.
		status, location, err := ask(context.WithoutCancel(ctx), client, edges[n%len(edges)]+"/chaos")
		switch {
		case err == nil && status == http.StatusFound && location == "https://e.test/chaos":
			v.answered.Add(1)
		case err == nil:
			v.other.Add(1)
		case errors.Is(err, syscall.ECONNREFUSED):
			v.refused.Add(1)
		default:
			v.cutOff.Add(1)
		}
	}
}

// ask sends one GET and reads the answer to its end.
func ask(ctx context.Context, client *http.Client, url string) (status int, location string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Header.Get("Location"), err
}

// killAtRandom ends one process after the other with SIGKILL until ctx is done, and
// returns their names. The stack starts each again within a second.
func (s *stack) killAtRandom(ctx context.Context, t *testing.T, victims []string, random *rand.Rand) map[string]int {
	t.Helper()
	kills := map[string]int{}
	for {
		select {
		case <-ctx.Done():
			return kills
		case <-time.After(time.Duration(random.Int64N(2 * int64(chaosPause)))):
		}
		name := victims[random.IntN(len(victims))]
		pid, err := s.pid(name)
		if err != nil {
			continue // it is being started again
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			kills[name]++
		}
	}
}

// runLedger is `clicks ledger` over the stack.
func (s *stack) runLedger(ctx context.Context) error {
	var edges []string
	for r, region := range []string{"fra", "ash"} {
		for n := range 2 {
			edges = append(edges, fmt.Sprintf("redirect-%s-%d=127.0.0.1:%d", region, n, 9080+100*r+n+s.base))
		}
	}
	// Not ctx: what the last comparison says is worth more than being in time.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(s.bin, "clicks"), "ledger")
	cmd.Env = []string{
		"LINKSTREAM_KAFKA_BROKERS=" + s.env["LINKSTREAM_KAFKA_BROKERS"], "LINKSTREAM_CLICKHOUSE_URL=" + s.env["LINKSTREAM_CLICKHOUSE_URL"],
		"LINKSTREAM_LEDGER_EDGES=" + strings.Join(edges, ","), "LINKSTREAM_LEDGER_WAIT=5s",
	}
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}
