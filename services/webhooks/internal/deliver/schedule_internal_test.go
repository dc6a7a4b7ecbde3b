package deliver

import (
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

func TestPausesGrowAndAreBounded(t *testing.T) {
	s := DefaultSchedule()
	check := func(attempts int, about time.Duration) {
		t.Helper()
		for range 50 {
			if got := s.pause(attempts); got < about*4/5 || got > about*6/5 {
				t.Errorf("after %d attempts the pause is %v, want about %v", attempts, got, about)
			}
		}
	}
	check(1, 5*time.Second)
	check(2, 15*time.Second)
	check(3, 45*time.Second)
	check(8, 5*2187*time.Second)
	check(9, 6*time.Hour)
	check(1000, 6*time.Hour)
}

func TestWhatBecomesOfADelivery(t *testing.T) {
	now := time.Now()
	check := func(name string, d postgres.Delivery, a sent, want postgres.Outcome, least, most time.Duration) {
		t.Helper()
		got := DefaultSchedule().judge(&d, a, now)
		if got.Outcome != want || got.After < least || got.After > most {
			t.Errorf("%s: %v after %v, want %v after %v to %v", name, got.Outcome, got.After, want, least, most)
		}
	}
	answered := func(status int, after time.Duration) sent {
		return sent{Attempt: postgres.Attempt{StartedAt: now, Status: status}, retryAfter: after}
	}
	fresh := postgres.Delivery{}
	since := func(d time.Duration) postgres.Delivery {
		return postgres.Delivery{RoundAttempts: 12, RoundStarted: now.Add(-d)}
	}
	check("200", fresh, answered(200, 0), postgres.Delivered, 0, 0)
	check("299", fresh, answered(299, 0), postgres.Delivered, 0, 0)
	check("302", fresh, answered(302, 0), postgres.Retry, 4*time.Second, 6*time.Second)
	check("404", fresh, answered(404, 0), postgres.Retry, 4*time.Second, 6*time.Second)
	check("410", fresh, answered(410, 0), postgres.EndpointGone, 0, 0)
	check("410 after days", since(80*time.Hour), answered(410, 0), postgres.EndpointGone, 0, 0)
	check("nobody", fresh, answered(0, 0), postgres.Retry, 4*time.Second, 6*time.Second)
	check("429 with a minute", fresh, answered(429, time.Minute), postgres.Retry, time.Minute, time.Minute)
	check("503 with a second", fresh, answered(503, time.Second), postgres.Retry, 5*time.Second, 5*time.Second)
	check("503 with a year", fresh, answered(503, 8760*time.Hour), postgres.Retry, 6*time.Hour, 6*time.Hour)
	check("500 with a minute", fresh, answered(500, time.Minute), postgres.Retry, 4*time.Second, 6*time.Second)
	check("after 60 hours", since(60*time.Hour), answered(500, 0), postgres.Retry, 4*time.Hour, 8*time.Hour)
	check("after 71 hours", since(71*time.Hour), answered(500, 0), postgres.GivenUp, 4*time.Hour, 8*time.Hour)
}

func TestRetryAfterIsRead(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	check := func(header string, want time.Duration) {
		t.Helper()
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After: %s is %v, want %v", header, got, want)
		}
	}
	check("", 0)
	check("7", 7*time.Second)
	check("-7", 0)
	check("1.5", 0)
	check("soon", 0)
	check("18446744073709551615", 7*24*time.Hour)
	check("18446744073709551616", 0)
	check("Mon, 30 Nov 2026 12:01:00 GMT", time.Minute)
	check("Mon, 30 Nov 2026 11:00:00 GMT", 0)
}
