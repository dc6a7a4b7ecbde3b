package versus_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

const (
	callers   = 16   // at the same time
	decisions = 4000 // in one half of a pair
	subjects  = 1000
	patient   = 20 * time.Second
)

// side is one of the two: it makes one decision about a subject.
type side struct {
	name   string
	decide func(ctx context.Context, subject string) (allowed bool, err error)
}

func sides(client redis.UniversalClient, capacity int64) (ours, theirs side) {
	policy := ratelimit.New(client, patient, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)).Policy(ratelimit.PerKey, ratelimit.Closed)
	quota := ratelimit.Quota{Capacity: capacity, Tokens: 1, Period: time.Minute}
	other := redis_rate.NewLimiter(client)
	limit := redis_rate.Limit{Rate: 1, Burst: int(capacity), Period: time.Minute}
	ours = side{"ours", func(ctx context.Context, subject string) (bool, error) {
		d, err := policy.Take(ctx, subject, quota, 1)
		if err == nil && d.Fallback {
			err = context.DeadlineExceeded
		}
		return d.Allowed, err
	}}
	theirs = side{"theirs", func(ctx context.Context, subject string) (bool, error) {
		r, err := other.Allow(ctx, subject, limit)
		return err == nil && r.Allowed > 0, err
	}}
	return ours, theirs
}

// run makes the decisions of one half of a pair, of which so many are allowed, and
// returns how long that took.
func run(tb testing.TB, s side, want int64) time.Duration {
	tb.Helper()
	var all sync.WaitGroup
	var got atomic.Int64
	start := time.Now()
	for c := range callers {
		all.Go(func() {
			for i := c; i < decisions; i += callers {
				allowed, err := s.decide(tb.Context(), "subject-"+strconv.Itoa(i%subjects))
				if err != nil {
					tb.Errorf("%s: %v", s.name, err)
					return
				}
				if allowed {
					got.Add(1)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	if got.Load() != want {
		tb.Errorf("%s allows %d, want %d", s.name, got.Load(), want)
	}
	return took
}

func connect(tb testing.TB) redis.UniversalClient {
	tb.Helper()
	client, err := redisconn.OpenPatient(redistest.Start(tb).URL, patient)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// BenchmarkDecisions: each iteration is a pair, 4,000 decisions of one and then of the
// other, and the next one the other way round. The figures are medians.
func BenchmarkDecisions(b *testing.B) {
	for _, c := range []struct {
		name                     string
		capacity, first, allowed int64 // allowed while the buckets are new, and then
	}{{"allowed", 1_000_000, decisions, decisions}, {"refused", 1, subjects, 0}} {
		b.Run(c.name, func(b *testing.B) {
			ours, theirs := sides(connect(b), c.capacity)
			run(b, ours, c.first) // opens the connections, too
			run(b, theirs, c.first)
			var a, z, ratios []float64
			for turn := 0; b.Loop(); turn++ {
				var t1, t2 time.Duration
				if turn%2 == 0 {
					t1 = run(b, ours, c.allowed)
					t2 = run(b, theirs, c.allowed)
				} else {
					t2 = run(b, theirs, c.allowed)
					t1 = run(b, ours, c.allowed)
				}
				a, z = append(a, decisions/t1.Seconds()), append(z, decisions/t2.Seconds())
				ratios = append(ratios, t2.Seconds()/t1.Seconds())
			}
			b.ReportMetric(median(a), "ours/s")
			b.ReportMetric(median(z), "theirs/s")
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// Both make one round trip for a decision, by Redis's own count. What a decision takes in
// Redis is logged, the least of a few rounds, and not judged.
func TestADecisionIsOneRoundTripForBoth(t *testing.T) {
	client := connect(t)
	ours, theirs := sides(client, 1_000_000)
	least := map[string]float64{}
	took := regexp.MustCompile(`cmdstat_evalsha:\S*usec_per_call=([\d.]+)`)
	for range 8 {
		for _, s := range []side{ours, theirs} {
			run(t, s, decisions) // teaches Redis the script
			if err := client.Do(t.Context(), "config", "resetstat").Err(); err != nil {
				t.Fatal(err)
			}
			run(t, s, decisions)
			stats := client.Info(t.Context(), "commandstats").Val()
			if !strings.Contains(stats, fmt.Sprintf("cmdstat_evalsha:calls=%d,", decisions)) {
				t.Errorf("%s: Redis counts\n%s\nwant %d EVALSHA", s.name, stats, decisions)
			}
			if line := took.FindStringSubmatch(stats); line != nil {
				if us, err := strconv.ParseFloat(line[1], 64); err == nil && (least[s.name] == 0 || us < least[s.name]) {
					least[s.name] = us
				}
			}
		}
	}
	t.Logf("microseconds of Redis for a decision: %v", least)
}
