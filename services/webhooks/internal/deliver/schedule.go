package deliver

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

// Schedule says when a delivery that failed is tried again, and for how long.
type Schedule struct {
	// First is the pause after the first attempt; each further one is three times as long,
	// up to Longest, give or take a fifth.
	First, Longest time.Duration
	// GiveUp is how long after the first attempt the last one may begin.
	GiveUp time.Duration
	// Failing is how long an endpoint may fail without any success before it is disabled.
	Failing time.Duration
}

// DefaultSchedule tries after 5 seconds, 15, 45, 2 minutes, 7, 20, an hour, 3 hours, and
// every 6 hours from then on, for three days: twenty times or so.
func DefaultSchedule() Schedule {
	return Schedule{First: 5 * time.Second, Longest: 6 * time.Hour, GiveUp: 72 * time.Hour, Failing: 72 * time.Hour}
}

// pause is how long to wait after so many attempts, 1 at least.
func (s Schedule) pause(attempts int) time.Duration {
	wait := s.First
	for ; attempts > 1 && wait < s.Longest; attempts-- {
		wait *= 3
	}
	wait = min(wait, s.Longest)
	return wait*4/5 + rand.N(wait*2/5+1)
}

// judge says what becomes of a delivery after an attempt.
func (s Schedule) judge(d *postgres.Delivery, a sent, now time.Time) postgres.Result {
	r := postgres.Result{Attempt: a.Attempt, FailingLimit: s.Failing}
	switch {
	case a.Status >= 200 && a.Status < 300:
		r.Outcome = postgres.Delivered
		return r
	case a.Status == http.StatusGone:
		r.Outcome = postgres.EndpointGone
		return r
	}
	r.After = s.pause(d.RoundAttempts + 1)
	if a.retryAfter > 0 && (a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable) {
		// Its own word, within bounds: neither a way to be called all the time nor to never be.
		r.After = min(max(a.retryAfter, s.First), s.Longest)
	}
	began := d.RoundStarted
	if d.RoundAttempts == 0 {
		began = a.StartedAt
	}
	r.Outcome = postgres.Retry
	if now.Add(r.After).After(began.Add(s.GiveUp)) {
		r.Outcome = postgres.GivenUp
	}
	return r
}
