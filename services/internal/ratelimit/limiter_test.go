package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

// hourly gives nothing back while a test runs.
func hourly(capacity int64) Quota { return Quota{Capacity: capacity, Tokens: 1, Period: time.Hour} }

func TestABurstUpToTheCapacityPassesAtOnce(t *testing.T) {
	limiter, registry := newLimiter(t, connect(t, redistest.Start(t)), patient)
	p := limiter.Policy(PerKey, Closed)
	for i := range int64(50) {
		if d := mustTake(t, p, "one", hourly(50), 1); !d.Allowed || d.Remaining != 49-i || d.Limit != 50 || d.RetryAfter != 0 {
			t.Fatalf("call %d: %+v", i, d)
		}
	}
	d := mustTake(t, p, "one", hourly(50), 1)
	if d.Allowed || d.Remaining != 0 || d.RetryAfter <= 59*time.Minute || d.RetryAfter > time.Hour || d.Reset <= 49*time.Hour || d.Reset > 50*time.Hour {
		t.Errorf("the call after the burst: %+v", d)
	}
	if d := mustTake(t, p, "another", hourly(50), 50); !d.Allowed || d.Remaining != 0 {
		t.Errorf("all at once: %+v", d)
	}
	if d := mustTake(t, limiter.Policy(PerAddress, Closed), "one", hourly(50), 1); !d.Allowed {
		t.Errorf("another policy has buckets of its own: %+v", d)
	}
	check := func(name, policy string, want float64) {
		t.Helper()
		if got := facttest.Metric(t, registry, name, policy); got != want {
			t.Errorf("%s{policy=%q} is %v, want %v", name, policy, got, want)
		}
	}
	check("ratelimit_allowed_total", "key", 51)
	check("ratelimit_rejected_total", "key", 1)
	check("ratelimit_tokens_remaining", "key", 52)
	check("ratelimit_fallback_total", "key", 0)
	check("ratelimit_allowed_total", "address", 1)
}

func TestACallThatCostsMoreThanTheBucketIsNeverAllowed(t *testing.T) {
	limiter, _ := newLimiter(t, connect(t, redistest.Start(t)), patient)
	p := limiter.Policy(PerKey, Open)
	_, err := p.Take(t.Context(), "one", hourly(50), 51)
	var cost *CostError
	if !errors.As(err, &cost) || cost.Cost != 51 || cost.Capacity != 50 || !strings.Contains(err.Error(), "51") || !strings.Contains(err.Error(), "50") {
		t.Errorf("got %v", err)
	}
	if _, err := p.Take(t.Context(), "one", hourly(50), -1); err == nil {
		t.Error("a negative cost is taken")
	}
	if _, err := p.Take(t.Context(), "one", Quota{}, 1); !errors.Is(err, ErrBadQuota) {
		t.Errorf("no quota: %v", err)
	}
	if d := mustTake(t, p, "one", hourly(50), 0); !d.Allowed || d.Remaining != 50 {
		t.Errorf("something was taken: %+v", d)
	}
}

func TestWhatDidNotCountIsGivenBack(t *testing.T) {
	client := connect(t, redistest.Start(t))
	counting, registry := newLimiter(t, client, patient)
	alone, _ := newLimiter(t, nil, 0)
	for _, limiter := range []*Limiter{counting, alone} {
		p := limiter.Policy(Logins, Closed)
		check := func(cost, left int64) {
			t.Helper()
			if d := mustTake(t, p, "one", hourly(10), cost); !d.Allowed || d.Remaining != left {
				t.Errorf("%+v, want %d left", d, left)
			}
		}
		check(5, 5)
		if err := p.Return(t.Context(), "one", hourly(10), 2); err != nil {
			t.Error(err)
		}
		check(1, 6)
		if err := p.Return(t.Context(), "one", hourly(10), 10); err != nil {
			t.Error(err)
		}
		check(10, 0) // never more than full
		if err := errors.Join(p.Return(t.Context(), "two", hourly(10), 10), p.Return(t.Context(), "three", hourly(10), 0)); err != nil {
			t.Error(err)
		}
		if p.Return(t.Context(), "one", hourly(10), -1) == nil || p.Return(t.Context(), "one", hourly(10), 11) == nil || p.Return(t.Context(), "one", Quota{}, 1) == nil {
			t.Error("nonsense is given back")
		}
	}
	facttest.Eventually(t, "full buckets are forgotten", func() bool { return client.DBSize(t.Context()).Val() == 1 })
	if got := facttest.Metric(t, registry, "ratelimit_allowed_total", "login"); got != 3 {
		t.Errorf("%v calls are counted, want 3", got)
	}
}

func TestKeysAreNotMadeByCallers(t *testing.T) {
	check := func(subject, want string) {
		t.Helper()
		if got := Key(PerKey, subject); got != want {
			t.Errorf("Key(%q) = %q, want %q", subject, got, want)
		}
	}
	check("0193c0de-0000-7000-8000-000000000001", "ratelimit:key:0193c0de-0000-7000-8000-000000000001")
	check("192.0.2.1", "ratelimit:key:192.0.2.1")
	check("2001:db8::/64", "ratelimit:key:2001:db8::/64")
	for _, hostile := range []string{"", "{a}", "a b", "a\nb", "é", "#", strings.Repeat("a", 65), strings.Repeat("{", 1<<20)} {
		got := Key(PerKey, hostile)
		if len(got) != len("ratelimit:key:#")+64 || strings.ContainsAny(got, "{} \n") {
			t.Errorf("Key(%.10q) = %q", hostile, got)
		}
	}
	if Key(PerKey, "{a}") == Key(PerKey, "{b}") {
		t.Error("two subjects share a key")
	}
}

// spy notes what is sent.
type spy struct {
	mu   sync.Mutex
	sent []string
}

func (s *spy) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (s *spy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *spy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hello" { // of a new connection
			return next(ctx, cmd)
		}
		s.mu.Lock()
		s.sent = append(s.sent, fmt.Sprint(cmd.Args()...))
		s.mu.Unlock()
		return next(ctx, cmd)
	}
}

// The calling machine's clock counts for nothing, because it is not sent: at any time
// the same call is, byte for byte, the same command. And it is one command.
//
// Guards I41.
func TestADecisionIsOneCommandWithoutATime(t *testing.T) {
	client := connect(t, redistest.Start(t))
	watch := &spy{}
	client.AddHook(watch)
	limiter, _ := newLimiter(t, client, patient)
	p := limiter.Policy(PerKey, Closed)
	mustTake(t, p, "one", hourly(50), 2) // Redis does not know the script yet: EVALSHA, then EVAL
	if len(watch.sent) != 2 {
		t.Errorf("the first call sends %q", watch.sent)
	}
	if err := client.Do(t.Context(), "config", "resetstat").Err(); err != nil {
		t.Fatal(err)
	}
	watch.sent = nil
	const calls = 20
	for range calls {
		mustTake(t, p, "one", hourly(50), 2)
	}
	want := fmt.Sprint("evalsha", redis.NewScript(scriptText).Hash(), 1, "ratelimit:key:one", int64(50), int64(1), time.Hour.Microseconds(), int64(2))
	if len(watch.sent) != calls || len(slices.Compact(watch.sent)) != 1 || watch.sent[0] != want {
		t.Errorf("%d calls send %d commands, the first %q, want %q", calls, len(watch.sent), watch.sent[0], want)
	}
	stats := client.Info(t.Context(), "commandstats").Val()
	if !strings.Contains(stats, fmt.Sprintf("cmdstat_evalsha:calls=%d,", calls)) || strings.Contains(stats, "cmdstat_eval:") {
		t.Errorf("Redis counts\n%s\nwant %d EVALSHA", stats, calls)
	}
}

func TestARedisThatForgotTheScriptIsTaughtAgain(t *testing.T) {
	client := connect(t, redistest.Start(t))
	limiter, _ := newLimiter(t, client, patient)
	p := limiter.Policy(PerKey, Closed)
	mustTake(t, p, "one", hourly(2), 1)
	if err := client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if d := mustTake(t, p, "one", hourly(2), 1); !d.Allowed || d.Remaining != 0 || d.Fallback {
		t.Errorf("got %+v", d)
	}
}

// A bucket lives until it is full, by the time that the script saw, and not a moment
// less: forgotten too early it would be full too early. A refusal does not prolong it.
//
// Guards I41.
func TestABucketIsForgottenWhenItIsFull(t *testing.T) {
	client := connect(t, redistest.Start(t))
	limiter, _ := newLimiter(t, client, patient)
	p := limiter.Policy(PerKey, Closed)
	key := Key(PerKey, "one")
	for _, q := range []Quota{{Capacity: 10, Tokens: 1, Period: time.Minute}, {Capacity: 1_000, Tokens: 7, Period: 11 * time.Second}} {
		for _, cost := range []int64{1, 4, 3, 1, 1, 1} { // the last is refused under the first quota
			mustTake(t, p, "one", q, cost)
			b := stored(t, client, key)
			full := b.at + ceil(q.Capacity*q.micros()-b.left, q.Tokens) // microseconds
			lives := client.PExpireTime(t.Context(), key).Val().Microseconds()
			if lives < full || lives > full+2_000 {
				t.Errorf("%+v, after %d: full at %d, forgotten at %d", q, cost, full, lives)
			}
		}
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAClusterDecidesToo(t *testing.T) {
	cluster := redistest.StartCluster(t)
	limiter, _ := newLimiter(t, cluster.Client(t), patient)
	p := limiter.Policy(PerKey, Closed)
	const subjects = 60 // on every shard
	for i := range subjects {
		subject := fmt.Sprint("subject-", i)
		for left := int64(2); left >= 0; left-- {
			if d := mustTake(t, p, subject, hourly(3), 1); !d.Allowed || d.Remaining != left || d.Fallback {
				t.Fatalf("%s: %+v, want %d left", subject, d, left)
			}
		}
		if d := mustTake(t, p, subject, hourly(3), 1); d.Allowed || d.Fallback {
			t.Fatalf("%s: %+v after all", subject, d)
		}
	}
	var shards, keys int64
	var mu sync.Mutex
	err := cluster.Client(t).ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		n, err := node.DBSize(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		keys += n
		if n > 0 {
			shards++
		}
		return err
	})
	if err != nil || shards != 3 || keys != subjects {
		t.Errorf("%d keys on %d shards, %v", keys, shards, err)
	}
}
