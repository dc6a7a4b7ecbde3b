package ratelimit

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/redistest"
)

// timeLine is where the script asks for the time.
const timeLine = "local time = redis.call('TIME')"

// timed is the script that is used, with the time as its last argument, in microseconds.
func timed(t *testing.T) *redis.Script {
	t.Helper()
	if strings.Count(scriptText, timeLine) != 1 || strings.Count(scriptText, "TIME") != 1 {
		t.Fatalf("the script does not ask once for the time, with %q", timeLine)
	}
	return redis.NewScript(strings.Replace(scriptText, timeLine, "local time = {0, tonumber(ARGV[5])}", 1))
}

// far is a time that is not over soon: a bucket's key lives by Redis's own clock.
func far() int64 { return time.Now().Add(24 * time.Hour).UnixMicro() }

// simulated asks the script what a call gets at a time.
func simulated(t *testing.T, client redis.UniversalClient, script *redis.Script, key string, q Quota, cost, now int64) Decision {
	t.Helper()
	got, err := script.Run(t.Context(), client, []string{key}, q.Capacity, q.Tokens, q.micros(), cost, now).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return answer(q, cost, got)
}

// One token in seven seconds: an hour has 514 of them and two sevenths, not one more
// and not one less, however often somebody asks and however odd the moments are.
//
// Guards I42.
func TestFractionsAreExactOverAnHour(t *testing.T) {
	client, script := connect(t, redistest.Start(t)), timed(t)
	q := Quota{Capacity: 3, Tokens: 1, Period: 7 * time.Second}
	start, hour := far(), time.Hour.Microseconds()
	random := rand.New(rand.NewPCG(1, 7)) // the same moments each time
	allowed := 0
	for now := start; now <= start+hour; now += 1 + random.Int64N(900_000) {
		d := simulated(t, client, script, "hour", q, 1, now)
		if d.Allowed {
			allowed++
		}
		// What is there is what came back since the start, less what was taken.
		have := 3 + float64(now-start)/7e6 - float64(allowed)
		if want := int64(have); d.Remaining != want {
			t.Fatalf("%v after the start there are %d tokens, want %d", time.Duration(now-start)*time.Microsecond, d.Remaining, want)
		}
	}
	if d := simulated(t, client, script, "hour", q, 1, start+hour); d.Allowed {
		allowed++
	}
	if allowed != 3+514 {
		t.Errorf("%d calls in an hour, want 3 at once and 514 that came back", allowed)
	}

	// To the microsecond: asked one too early nothing is there, asked then it is.
	for k := range int64(514) {
		due := start + (k+1)*7_000_000
		if k == 0 {
			simulated(t, client, script, "exact", q, 3, start)
		}
		if d := simulated(t, client, script, "exact", q, 1, due-1); d.Allowed || d.RetryAfter != time.Microsecond {
			t.Fatalf("token %d is there a microsecond early: %+v", k, d)
		}
		if d := simulated(t, client, script, "exact", q, 1, due); !d.Allowed || d.Remaining != 0 {
			t.Fatalf("token %d is not there in time: %+v", k, d)
		}
	}
}

// What a bucket holds grows evenly: at every moment, and at every cost, what is allowed
// is what has come back by then. There is no edge of a window to wait for.
//
// Guards I42.
func TestThereIsNoCliff(t *testing.T) {
	client, script := connect(t, redistest.Start(t)), timed(t)
	start := far()
	for i, q := range []Quota{
		{Capacity: 10, Tokens: 10, Period: time.Second},
		{Capacity: 100, Tokens: 7, Period: 3 * time.Second},
		{Capacity: 5, Tokens: 1, Period: time.Minute},
	} {
		full := ceil(q.Capacity*q.micros(), q.Tokens) // microseconds
		for n := range int64(200) {
			// Around the edges of seconds and of windows as well as between them.
			for j, at := range []int64{n * full / 200, n*1_000_000%full - 1, n * 1_000_000 % full, n*q.micros()%full + 1} {
				at = max(at, 0)
				key := fmt.Sprint("cliff", i, n, j)
				simulated(t, client, script, key, q, q.Capacity, start)
				there := at * q.Tokens / q.micros()
				peek := simulated(t, client, script, key, q, 0, start+at)
				if peek.Remaining != there || peek.Reset != time.Duration(full-at)*time.Microsecond && q.Tokens == 1 {
					t.Fatalf("%+v after %d microseconds: %+v, want %d tokens", q, at, peek, there)
				}
				if d := simulated(t, client, script, key, q, there+1, start+at); d.Allowed {
					t.Fatalf("%+v after %d microseconds: %d tokens, want %d", q, at, there+1, there)
				}
				if d := simulated(t, client, script, key, q, there, start+at); !d.Allowed || d.Remaining != 0 {
					t.Fatalf("%+v after %d microseconds: not even %d tokens: %+v", q, at, there, d)
				}
			}
		}
	}
}

// The bucket of this process decides as the one in Redis does, with quotas as large as
// they may be, and while quotas change.
func TestTheScriptAndTheProcessCountAlike(t *testing.T) {
	client, script := connect(t, redistest.Start(t)), timed(t)
	random := rand.New(rand.NewPCG(2, 3))
	for round := range 60 {
		key := fmt.Sprint("alike", round)
		q := randomQuota(random)
		now := far()
		var kept *bucket
		for range 40 {
			if random.IntN(5) == 0 {
				q = randomQuota(random)
			}
			// From nothing to longer than the whole bucket takes; now and then backwards.
			now += random.Int64N(1 + min(2*ceil(q.Capacity*q.micros(), q.Tokens), 1<<40)>>random.IntN(30))
			if random.IntN(10) == 0 {
				now -= random.Int64N(1 << 30)
			}
			cost := random.Int64N(min(q.Capacity, 1<<random.IntN(53)) + 1)
			if random.IntN(10) == 0 {
				cost = -cost // given back
			}
			was := kept
			next, want := step(kept, q, cost, now)
			got := simulated(t, client, script, key, q, cost, now)
			if got != want {
				t.Fatalf("round %d: %+v, cost %d at %d over %+v: the script says %+v, the process %+v", round, q, cost, now, was, got, want)
			}
			// A bucket that Redis has forgotten is full.
			kept = stored(t, client, key)
			if kept == nil && next.left != q.Capacity*q.micros() && want.Allowed && cost > 0 {
				t.Fatalf("round %d: the bucket is gone", round)
			}
		}
	}
}

func randomQuota(r *rand.Rand) Quota {
	period := 1 + r.Int64N(1<<r.IntN(45))
	capacity := 1 + r.Int64N(MaxParts/period)>>r.IntN(20)
	return Quota{Capacity: capacity, Tokens: 1 + r.Int64N(1<<r.IntN(53)), Period: time.Duration(period) * time.Microsecond}
}

// stored reads a bucket, nil when there is none.
func stored(t *testing.T, client redis.Cmdable, key string) *bucket {
	t.Helper()
	text, err := client.Get(context.WithoutCancel(t.Context()), key).Result()
	if err == redis.Nil { //nolint:errorlint // a value, not a wrapped error
		return nil
	}
	if err != nil || len(text) != 32 {
		t.Fatalf("%q: %v", text, err)
	}
	number := func(i int) int64 { return int64(math.Float64frombits(binary.BigEndian.Uint64([]byte(text[8*i:])))) }
	b := bucket{left: number(0), at: number(1), tokens: number(2), period: number(3)}
	return &b
}

// Numbers of any size say the same: nothing overflows within the bounds.
//
// Guards I42.
func TestTheArithmeticIsThatOfLargeNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	for range 20_000 {
		q := randomQuota(random)
		period, full := q.micros(), q.Capacity*q.micros()
		was := bucket{left: random.Int64N(full + 1), at: 1, tokens: q.Tokens, period: period}
		passed := random.Int64N(1 << random.IntN(60))
		cost := random.Int64N(q.Capacity + 1)
		got, d := step(&was, q, cost, 1+passed)

		left := new(big.Int).Mul(big.NewInt(passed), big.NewInt(q.Tokens))
		left.Add(left, big.NewInt(was.left))
		if left.Cmp(big.NewInt(full)) > 0 {
			left.SetInt64(full)
		}
		price := new(big.Int).Mul(big.NewInt(cost), big.NewInt(period))
		allowed := left.Cmp(price) >= 0
		if allowed {
			left.Sub(left, price)
		}
		if d.Allowed != allowed || got.left != left.Int64() {
			t.Fatalf("%+v + %d microseconds, cost %d of %+v: %+v, %+v; want %t and %v", was, passed, cost, q, got, d, allowed, left)
		}
		if !allowed { // and the wait is just long enough
			wait := d.RetryAfter.Microseconds()
			if _, early := step(&got, q, cost, got.at+wait-1); early.Allowed {
				t.Fatalf("%+v: allowed before %v", got, d.RetryAfter)
			}
			if _, then := step(&got, q, cost, got.at+wait); !then.Allowed {
				t.Fatalf("%+v: not allowed after %v", got, d.RetryAfter)
			}
		}
	}
}

// A new quota counts from the call that brings it.
func TestAQuotaMayChangeAtAnyTime(t *testing.T) {
	client, script := connect(t, redistest.Start(t)), timed(t)
	start := far()
	second := func(capacity, tokens, period int64) Quota {
		return Quota{Capacity: capacity, Tokens: tokens, Period: time.Duration(period) * time.Second}
	}
	type call struct {
		after time.Duration
		q     Quota
		cost  int64
		left  int64
		ok    bool
	}
	check := func(name string, calls ...call) {
		t.Helper()
		for i, c := range calls {
			d := simulated(t, client, script, name, c.q, c.cost, start+c.after.Microseconds())
			if d.Allowed != c.ok || d.Remaining != c.left {
				t.Errorf("%s, call %d: %+v, want %t with %d left", name, i, d, c.ok, c.left)
			}
		}
	}
	slow, fast, seventh := second(10, 1, 1), second(10, 100, 1), second(10, 1, 7)
	check("a higher capacity adds nothing by itself",
		call{0, slow, 8, 2, true}, call{0, second(100, 1, 1), 3, 2, false}, call{time.Second, second(100, 1, 1), 3, 0, true})
	check("a lower capacity takes what is above it",
		call{0, second(100, 1, 1), 10, 90, true}, call{0, slow, 1, 9, true}, call{0, second(100, 1, 1), 10, 9, false})
	check("a higher rate does not count for the time before",
		call{0, slow, 10, 0, true}, call{2 * time.Second, fast, 10, 2, false}, call{2*time.Second + 80*time.Millisecond, fast, 10, 0, true})
	check("nor does a lower one",
		call{0, fast, 10, 0, true}, call{50 * time.Millisecond, slow, 6, 5, false}, call{1050 * time.Millisecond, slow, 6, 0, true})
	check("a fraction stays a fraction",
		call{0, slow, 10, 0, true}, call{500 * time.Millisecond, seventh, 1, 0, false},
		call{4*time.Second - time.Microsecond, seventh, 1, 0, false}, call{4 * time.Second, seventh, 1, 0, true})
	check("two who do not agree lose next to nothing",
		call{0, slow, 10, 0, true}, call{100 * time.Millisecond, seventh, 1, 0, false}, call{200 * time.Millisecond, second(10, 1, 1), 1, 0, false},
		call{300 * time.Millisecond, second(10, 1, 1), 1, 0, false}, call{1100 * time.Millisecond, second(10, 1, 1), 1, 0, true})
}

// Redis's own clock may be set. Forward, a bucket gets what the time says. Back, it gets
// nothing for the time that it has had, and does not wait for the old time to come again.
func TestAClockThatIsSetBackStopsNobody(t *testing.T) {
	client, script := connect(t, redistest.Start(t)), timed(t)
	q := Quota{Capacity: 10, Tokens: 1, Period: time.Second}
	start, hour := far(), time.Hour.Microseconds()
	simulated(t, client, script, "set", q, 10, start+hour)
	if d := simulated(t, client, script, "set", q, 1, start); d.Allowed || d.RetryAfter != time.Second {
		t.Errorf("just after: %+v", d)
	}
	if d := simulated(t, client, script, "set", q, 1, start+1_000_000); !d.Allowed {
		t.Errorf("a second later: %+v", d)
	}
}
