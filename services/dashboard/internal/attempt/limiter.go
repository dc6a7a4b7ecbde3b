// Package attempt limits how often something may be tried in vain by one
// subject: an address, an account.
//
// It promises that its memory is bounded and that a subject gets its tries back
// over time. It refuses to be exact across processes: each one counts for itself,
// so with n of them a guesser has n times the tries.
package attempt

import (
	"math"
	"sync"
	"time"
)

// Limiter is a token bucket for each subject. It is safe for concurrent use.
type Limiter struct {
	burst    float64
	interval time.Duration
	capacity int

	mu      sync.Mutex
	buckets map[string]bucket
}

// bucket holds how many tries were left at a moment.
type bucket struct {
	left float64
	at   time.Time
}

// NewLimiter allows burst tries at once and one more each interval, for at most
// capacity subjects at a time.
func NewLimiter(burst int, interval time.Duration, capacity int) *Limiter {
	return &Limiter{burst: float64(burst), interval: interval, capacity: capacity, buckets: map[string]bucket{}}
}

// Take uses up one try of the subject. When there is none, it returns how long
// to wait for the next, and false.
func (l *Limiter) Take(subject string, now time.Time) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.left(subject, now)
	if left < 1 {
		return time.Duration(math.Ceil((1 - left) * float64(l.interval))), false
	}
	l.put(subject, bucket{left: left - 1, at: now}, now)
	return 0, true
}

// Return gives a try back that turned out not to be in vain.
func (l *Limiter) Return(subject string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := min(l.left(subject, now)+1, l.burst)
	if left == l.burst {
		delete(l.buckets, subject)
		return
	}
	l.put(subject, bucket{left: left, at: now}, now)
}

func (l *Limiter) left(subject string, now time.Time) float64 {
	b, ok := l.buckets[subject]
	if !ok {
		return l.burst
	}
	return l.refilled(b, now)
}

func (l *Limiter) refilled(b bucket, now time.Time) float64 {
	return min(b.left+float64(now.Sub(b.at))/float64(l.interval), l.burst)
}

// put makes room when the table is full: full buckets say nothing and go first,
// then the one that was not touched for the longest.
func (l *Limiter) put(subject string, b bucket, now time.Time) {
	if _, known := l.buckets[subject]; !known && len(l.buckets) >= l.capacity {
		var oldest string
		var oldestAt time.Time
		for name, other := range l.buckets {
			if l.refilled(other, now) >= l.burst {
				delete(l.buckets, name)
				continue
			}
			if oldest == "" || other.at.Before(oldestAt) {
				oldest, oldestAt = name, other.at
			}
		}
		if len(l.buckets) >= l.capacity {
			delete(l.buckets, oldest)
		}
	}
	l.buckets[subject] = b
}
