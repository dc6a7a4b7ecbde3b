package ratelimit

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestARefillIsTheFractionThatWasMeant(t *testing.T) {
	check := func(capacity int64, refill float64, tokens int64, period time.Duration) {
		t.Helper()
		q, err := PerSecond(capacity, refill)
		if err != nil || q != (Quota{Capacity: capacity, Tokens: tokens, Period: period}) {
			t.Errorf("PerSecond(%d, %v) = %+v, %v; want %d in %v", capacity, refill, q, err, tokens, period)
		}
	}
	check(10, 1, 1, time.Second)
	check(10, 50, 50, time.Second)
	check(10, 2000000, 2000000, time.Second)
	check(10, 1.0/7, 1, 7*time.Second)
	check(10, 0.14285714285714285, 1, 7*time.Second)
	check(10, 0.1, 1, 10*time.Second)
	check(10, 2.5, 5, 2*time.Second)
	check(10, 33.3, 333, 10*time.Second)
	check(10, 0.333, 333, 1000*time.Second)
	check(10, 1.0/3600, 1, time.Hour)
	check(10, 1.0/86400, 1, 24*time.Hour)
	check(1_000_000, 0.001, 1, 1000*time.Second)
	check(9_007_199_254, 1e9, 1e9, time.Second)
}

func TestARefillThatDoesNotFitIsTheNearestBelow(t *testing.T) {
	for _, c := range []int64{1, 100, 1_000_000, 2_000_000_000} {
		for _, x := range []float64{math.Pi, math.E / 1000, 1e6 / math.Pi, 123.456789012345, 0.9999999999999} {
			q, err := PerSecond(c, x)
			if err != nil {
				if c*int64(1/x) < MaxParts/2_000_000 {
					t.Errorf("PerSecond(%d, %v): %v", c, x, err)
				}
				continue
			}
			got := float64(q.Tokens) / q.Period.Seconds()
			if q.Check() != nil || got > x || (x-got)*float64(q.Period/time.Second) > 1 {
				t.Errorf("PerSecond(%d, %v) = %+v (%v): %v", c, x, q, got, q.Check())
			}
		}
	}
}

func TestQuotasOutOfBoundsAreRefused(t *testing.T) {
	check := func(q Quota, ok bool) {
		t.Helper()
		if err := q.Check(); (err == nil) != ok || (err != nil && !errors.Is(err, ErrBadQuota)) {
			t.Errorf("%+v: %v, want ok = %t", q, err, ok)
		}
	}
	check(Quota{Capacity: 1, Tokens: 1, Period: time.Microsecond}, true)
	check(Quota{Capacity: MaxParts, Tokens: 1, Period: time.Microsecond}, true)
	check(Quota{Capacity: MaxParts + 1, Tokens: 1, Period: time.Microsecond}, false)
	check(Quota{Capacity: 9_007_199_254, Tokens: 1, Period: time.Second}, true)
	check(Quota{Capacity: 9_007_199_255, Tokens: 1, Period: time.Second}, false)
	check(Quota{Capacity: 2_501_999, Tokens: 1, Period: time.Hour}, true)
	check(Quota{Capacity: 2_502_000, Tokens: 1, Period: time.Hour}, false)
	check(Quota{Capacity: 1, Tokens: MaxParts, Period: time.Second}, true)
	check(Quota{Capacity: 1, Tokens: MaxParts + 1, Period: time.Second}, false)
	check(Quota{Capacity: 1, Tokens: 1, Period: time.Nanosecond}, false)
	check(Quota{Capacity: 1, Tokens: 1, Period: 1500 * time.Nanosecond}, false)
	check(Quota{Capacity: 0, Tokens: 1, Period: time.Second}, false)
	check(Quota{Capacity: 1, Tokens: 0, Period: time.Second}, false)
	check(Quota{Capacity: -1, Tokens: 1, Period: time.Second}, false)
	check(Quota{}, false)
	for _, refill := range []float64{0, -1, math.NaN(), math.Inf(1), 1e300, 1e-300} {
		if q, err := PerSecond(10, refill); !errors.Is(err, ErrBadQuota) {
			t.Errorf("PerSecond(10, %v) = %+v, %v", refill, q, err)
		}
	}
}
