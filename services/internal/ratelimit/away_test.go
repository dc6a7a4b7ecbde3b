package ratelimit

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// Guards I43.
func TestWithoutRedisOpenCountsAloneAndClosedRefuses(t *testing.T) {
	server := redistest.Start(t)
	registry, log := prometheus.NewRegistry(), &logged{}
	limiter := New(server.Client(t), Timeout, registry, slog.New(slog.NewTextHandler(log, nil)))
	open, closed := limiter.Policy(PerKey, Open), limiter.Policy(Logins, Closed)
	server.Kill()
	for episode := range 2 {
		subject := string(rune('a' + episode))
		for i := range int64(15) {
			if d := mustTake(t, open, subject, hourly(10), 1); d.Allowed != (i < 10) || !d.Fallback || d.Limit != 10 || d.Remaining != max(9-i, 0) {
				t.Fatalf("episode %d, call %d: %+v", episode, i, d)
			}
			if d := mustTake(t, closed, subject, hourly(10), 1); d.Allowed || !d.Fallback || d.RetryAfter != closedRetry {
				t.Fatalf("episode %d, closed: %+v", episode, d)
			}
		}
		check := func(name, policy string, want float64) {
			t.Helper()
			if got := facttest.Metric(t, registry, name, policy); got != want*float64(episode+1) {
				t.Errorf("%s{policy=%q} is %v after episode %d, want %v for each", name, policy, got, episode, want)
			}
		}
		if n := log.count("level=WARN"); n != episode+1 {
			t.Errorf("%d warnings after episode %d", n, episode)
		}
		if episode == 0 { // afterwards the recovery has counted some
			check("ratelimit_fallback_total", "key", 15)
			check("ratelimit_fallback_total", "login", 15)
			check("ratelimit_allowed_total", "key", 10)
			check("ratelimit_rejected_total", "login", 15)
			server.Restart(t)
			facttest.Eventually(t, "Redis decides again", func() bool { return !mustTake(t, open, "probe", hourly(10_000), 1).Fallback })
			facttest.Eventually(t, "and it is said", func() bool { return log.count("again") == 1 })
			server.Kill()
		}
	}
}

// A fleet of which each process counts alone allows, at the worst, a capacity for each
// process more; a process does not give its own out twice, however often Redis goes.
//
// Guards I43.
func TestRedisKilledInTheMiddleOfARun(t *testing.T) {
	server := redistest.Start(t)
	const capacity, restarts, fleet = 100, 2, 2
	var open, shut atomic.Int64
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	var registries []*prometheus.Registry
	for range fleet {
		limiter, registry := newLimiter(t, server.Client(t), Timeout)
		registries = append(registries, registry)
		for range 5 {
			all.Go(func() {
				one, other := limiter.Policy(PerKey, Open), limiter.Policy(Logins, Closed)
				for ctx.Err() == nil {
					if d, err := one.Take(ctx, "one", hourly(capacity), 1); err == nil && d.Allowed {
						open.Add(1)
					}
					if d, err := other.Take(ctx, "one", hourly(capacity), 1); err == nil && d.Allowed {
						shut.Add(1)
					}
				}
			})
		}
	}
	total := func(name string) (sum float64) {
		for _, r := range registries {
			sum += facttest.Metric(t, r, name, "key")
		}
		return sum
	}
	for range restarts {
		facttest.Eventually(t, "some are allowed", func() bool { return open.Load() > 0 })
		fallen := total("ratelimit_fallback_total")
		server.Kill()
		facttest.Eventually(t, "the processes count alone", func() bool { return total("ratelimit_fallback_total") > fallen+20 })
		server.Restart(t)
		decided := total("ratelimit_rejected_total") - total("ratelimit_fallback_total")
		facttest.Eventually(t, "Redis decides again", func() bool {
			return total("ratelimit_rejected_total")-total("ratelimit_fallback_total") > decided+5
		})
	}
	stop()
	all.Wait()
	// Each Redis that began empty had a full bucket, and each process had its own once.
	if most := int64(capacity * (1 + restarts + fleet)); open.Load() > most {
		t.Errorf("%d calls of an open policy, at most %d", open.Load(), most)
	}
	if most := int64(capacity * (1 + restarts)); shut.Load() > most {
		t.Errorf("%d calls of a closed policy, at most %d", shut.Load(), most)
	}
}

// A hung Redis is asked a few times, then left alone: callers do not all wait for it.
func TestAHungRedisHoldsUpFewCalls(t *testing.T) {
	server := redistest.Start(t)
	client := server.Client(t)
	limiter, _ := newLimiter(t, client, Timeout)
	p := limiter.Policy(PerKey, Open)
	mustTake(t, p, "one", hourly(1000), 1)
	if err := client.Do(t.Context(), "client", "pause", 60_000, "all").Err(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for range 200 {
		if d := mustTake(t, p, "one", hourly(1000), 1); !d.Allowed || !d.Fallback {
			t.Fatalf("got %+v", d)
		}
	}
	// Three of them wait for the timeout, one more for each half second.
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("200 calls took %v", took)
	}
}

func TestACallerWhoGoesAwayIsNoFailureOfRedis(t *testing.T) {
	limiter, registry := newLimiter(t, connect(t, redistest.Start(t)), patient)
	p := limiter.Policy(PerKey, Closed)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if d, err := p.Take(ctx, "one", hourly(10), 1); err != nil || !d.Allowed {
			t.Fatalf("got %+v, %v", d, err)
		}
	}
	if got := facttest.Metric(t, registry, "ratelimit_fallback_total", "key"); got != 0 {
		t.Errorf("%v fallbacks", got)
	}
}

func TestWithoutARedisAtAllTheProcessCountsAlone(t *testing.T) {
	limiter, registry := newLimiter(t, nil, 0)
	for _, p := range []*Policy{limiter.Policy(PerKey, Open), limiter.Policy(Logins, Closed)} {
		for i := range int64(12) {
			if d := mustTake(t, p, "one", hourly(10), 1); d.Allowed != (i < 10) || d.Fallback {
				t.Errorf("%s, call %d: %+v", p.Name(), i, d)
			}
		}
	}
	if got := facttest.Metric(t, registry, "ratelimit_fallback_total", ""); got != 0 {
		t.Errorf("%v fallbacks", got)
	}
}
