package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// MaxParts bounds Capacity x Period of a quota, in tokens and microseconds: 2^53, up
// to which the script's numbers (doubles) are exact. A quota with a period of a second
// may have 9,007,199,254 tokens, one with a period of an hour 2,501,999.
const MaxParts = 1 << 53

// ErrBadQuota says that a quota is out of bounds.
var ErrBadQuota = errors.New("not a quota: capacity and refill must be at least 1, the period at least a microsecond, and capacity x period in microseconds at most 2^53")

// Quota is how much a subject may use: Capacity tokens at once, and Tokens more come
// back in each Period, evenly. It is passed with each call and may change at any time,
// see Policy.Take. The zero value is no quota.
type Quota struct {
	Capacity int64
	Tokens   int64
	Period   time.Duration // whole microseconds
}

// micros is the period in microseconds.
func (q Quota) micros() int64 { return int64(q.Period / time.Microsecond) }

// Check returns ErrBadQuota for a quota that cannot be counted exactly.
func (q Quota) Check() error {
	period := q.micros()
	if q.Capacity < 1 || q.Tokens < 1 || period < 1 || q.Period%time.Microsecond != 0 || q.Tokens > MaxParts ||
		q.Capacity > MaxParts/period {
		return fmt.Errorf("%w (capacity %d, %d in %v)", ErrBadQuota, q.Capacity, q.Tokens, q.Period)
	}
	return nil
}

// PerSecond is a quota with a refill that may be a fraction. The fraction is taken for
// the simplest one that is this float64, 1/7 for 0.14285714285714285, and is exact then;
// only where the bounds leave no room for it, it is the nearest below that fits. It
// returns ErrBadQuota when there is none.
func PerSecond(capacity int64, refill float64) (Quota, error) {
	bad := fmt.Errorf("%w (capacity %d, %v a second)", ErrBadQuota, capacity, refill)
	if capacity < 1 || !(refill > 0) || refill > MaxParts {
		return Quota{}, bad
	}
	const second = int64(time.Second / time.Microsecond)
	most := min(MaxParts/second/capacity, math.MaxInt64/int64(time.Second)) // seconds that a period may have
	if most < 1 {
		return Quota{}, bad
	}
	tokens, seconds := fraction(refill, most)
	if tokens < 1 {
		return Quota{}, bad
	}
	return Quota{Capacity: capacity, Tokens: tokens, Period: time.Duration(seconds) * time.Second}, nil
}

// fraction returns the simplest p/q that is x as a float64, with q at most most, or else
// the largest found below x. It follows x's continued fraction, whose steps are the best
// there are for their size.
func fraction(x float64, most int64) (p, q int64) {
	p0, q0, p1, q1 := int64(0), int64(1), int64(1), int64(0)
	below := [2]int64{0, 1}
	for rest := x; ; {
		whole := math.Floor(rest)
		if whole > MaxParts || (q1 > 0 && whole > float64((most-q0)/q1)) || (p1 > 0 && whole > float64((MaxParts-p0)/p1)) {
			break
		}
		a := int64(whole)
		p0, q0, p1, q1 = p1, q1, a*p1+p0, a*q1+q0
		got := float64(p1) / float64(q1)
		if got == x {
			return p1, q1
		}
		if got < x {
			below = [2]int64{p1, q1}
		}
		rest = 1 / (rest - whole)
	}
	// The steps come from both sides in turns, so the last one below may be far off: the
	// largest numerator over the largest period is nearer.
	if whole := math.Floor(x * float64(most)); whole/float64(most) > float64(below[0])/float64(below[1]) && whole <= MaxParts {
		return int64(whole), most
	}
	return below[0], below[1]
}

// FillTime is how long an empty bucket takes to be full.
func (q Quota) FillTime() time.Duration { return micros(ceil(q.Capacity*q.micros(), q.Tokens)) }
