package attempt

import (
	"strconv"
	"testing"
	"time"
)

func TestTriesRunOutAndComeBack(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := NewLimiter(3, 10*time.Second, 100)
	check := func(after time.Duration, subject string, wantWait time.Duration, want bool) {
		t.Helper()
		wait, ok := l.Take(subject, start.Add(after))
		if ok != want || wait != wantWait {
			t.Errorf("after %v %s: %v, %v; want %v, %v", after, subject, wait, ok, wantWait, want)
		}
	}
	check(0, "a", 0, true)
	check(0, "a", 0, true)
	check(0, "a", 0, true)
	check(0, "a", 10*time.Second, false)
	check(0, "b", 0, true)
	check(4*time.Second, "a", 6*time.Second, false)
	check(10*time.Second, "a", 0, true)
	check(10*time.Second, "a", 10*time.Second, false)
	check(time.Hour, "a", 0, true)
	check(time.Hour, "a", 0, true)
	check(time.Hour, "a", 0, true)
	check(time.Hour, "a", 10*time.Second, false)

	l.Return("a", start.Add(time.Hour))
	check(time.Hour, "a", 0, true)
	l.Return("never seen", start)
	if _, ok := l.buckets["never seen"]; ok {
		t.Error("a full bucket is kept")
	}
}

func TestTheTableIsBounded(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := NewLimiter(2, time.Minute, 10)
	for i := range 1000 {
		l.Take(strconv.Itoa(i), start.Add(time.Duration(i)*time.Millisecond))
		if len(l.buckets) > 10 {
			t.Fatalf("%d buckets after %d subjects", len(l.buckets), i+1)
		}
	}
	if _, ok := l.buckets["999"]; !ok {
		t.Error("the newest subject was forgotten")
	}
	if _, ok := l.buckets["0"]; ok {
		t.Error("the oldest subject is still there")
	}
}
