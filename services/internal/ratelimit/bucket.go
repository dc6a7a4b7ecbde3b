package ratelimit

import (
	"math/bits"
	"time"
)

// bucket is what is kept of a subject: the parts that were left at a time, and the
// refill that counts from then on. A token is period parts.
type bucket struct {
	left   int64 // parts
	at     int64 // microseconds
	tokens int64 // parts that come back in a microsecond
	period int64 // parts of a token
}

// step decides one call at the time now, in microseconds. It is the arithmetic of
// bucket.lua, for when Redis is away. was is nil for a bucket that is not there, which
// is full. q has been checked, and cost is not above its capacity, nor below it when it
// gives back.
func step(was *bucket, q Quota, cost, now int64) (bucket, Decision) {
	period := q.micros()
	b := bucket{left: q.Capacity * period, at: now, tokens: q.Tokens, period: period}
	full := b.left
	if was != nil {
		b.left = refilled(*was, q.Capacity, full, period, max(now-was.at, 0))
	}
	price := cost * period
	allowed := b.left >= price
	if allowed {
		b.left = min(b.left-price, full)
	}
	return b, decision(q, cost, b.left, allowed)
}

// decision says what a call is told whose bucket has so many parts left.
func decision(q Quota, cost, left int64, allowed bool) Decision {
	period := q.micros()
	d := Decision{
		Allowed: allowed, Limit: q.Capacity, Remaining: left / period,
		Reset: micros(ceil(q.Capacity*period-left, q.Tokens)),
	}
	if !allowed {
		d.RetryAfter = micros(ceil(cost*period-left, q.Tokens))
	}
	return d
}

// answer takes apart what the script says.
func answer(q Quota, cost, said int64) Decision {
	if said < 0 {
		return decision(q, cost, -1-said, false)
	}
	return decision(q, cost, said, true)
}

// refilled is what is left of a bucket after some microseconds, in parts of the given
// period.
func refilled(was bucket, capacity, full, period, passed int64) int64 {
	if was.period == period {
		return add(was.left, passed, was.tokens, full)
	}
	left := add(was.left, passed, was.tokens, MaxParts)
	whole := left / was.period
	if whole >= capacity {
		return full
	}
	high, low := bits.Mul64(uint64(was.period), uint64(period))
	unit := int64(high<<(64-53)|low>>53) + 1
	rest := (left - whole*was.period) / unit
	return whole*period + rest*period/ceil(was.period, unit)
}

// add is left + passed x tokens, at most full.
func add(left, passed, tokens, full int64) int64 {
	if left >= full {
		return full
	}
	if passed >= ceil(full-left, tokens) {
		return full
	}
	return left + passed*tokens
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// micros is a duration of n microseconds, the longest one if it is longer than that.
func micros(n int64) time.Duration {
	const longest = int64(1<<63-1) / int64(time.Microsecond)
	return time.Duration(min(n, longest)) * time.Microsecond
}
