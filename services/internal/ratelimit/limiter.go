// Package ratelimit bounds what a subject (an API key, an address) may use of a thing:
// a token bucket for each, in one Redis for the whole fleet.
//
// It promises that all processes together never allow more than capacity + refill x
// time, to the unit: each decision is one call of one script in Redis, whole numbers
// only, and the time is that of Redis. No clock of the calling machine counts. A bucket
// is forgotten when it is full again, so memory follows the subjects that are active. A
// quota comes with each call and may change at any time.
//
// When Redis does not answer, a policy is Open (a bucket of the same size in this
// process decides, and each process has one) or Closed (everything is refused).
//
// It refuses quotas that cannot be counted exactly (ErrBadQuota), and calls that cost
// more than the bucket holds (CostError): waiting would not help them.
package ratelimit

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

const (
	// Timeout is what a service gives Redis for a decision: a caller waits for it.
	Timeout = 150 * time.Millisecond

	// After so many failures one after another Redis is not asked, for that long.
	breakerFailures = 3
	breakerOpen     = 500 * time.Millisecond

	// quiet is how long nothing must have failed for a single failure to be news again.
	quiet = time.Minute

	// closedRetry is when to try again while nobody can decide.
	closedRetry = time.Second
)

// Name is a policy's, in keys and metrics.
type Name string

// The closed list of names.
const (
	// PerKey counts the calls of an API key, or of a user's session.
	PerKey Name = "key"
	// PerAddress counts the calls of an address that brought no valid token.
	PerAddress Name = "address"
	// Logins counts the password guesses of an address, Accounts those at an account.
	Logins   Name = "login"
	Accounts Name = "account"
	// UnlockAddresses counts the guesses of an address at passwords of links, UnlockLinks
	// those at one link.
	UnlockAddresses Name = "unlock_address"
	UnlockLinks     Name = "unlock_link"
)

// WhenAway is what a policy does while Redis does not answer.
type WhenAway int

// The two ways.
const (
	Open   WhenAway = iota // a bucket of the same size in this process decides
	Closed                 // every call is refused
)

// CostError says that a call costs more than its bucket ever holds. It will never be
// allowed under this quota.
type CostError struct{ Cost, Capacity int64 }

// Error implements error.
func (e *CostError) Error() string {
	return fmt.Sprintf("the call costs %d tokens and the bucket holds %d: it can never be allowed", e.Cost, e.Capacity)
}

// errCost is a mistake of the program.
var errCost = errors.New("a call costs nothing at least, and gives back no more than the bucket holds")

// Decision is the answer to a call.
type Decision struct {
	Allowed bool
	// Limit is the capacity of the bucket, Remaining what is left in it, in whole tokens.
	Limit, Remaining int64
	// Reset is how long until the bucket is full when nobody takes anything.
	Reset time.Duration
	// RetryAfter is how long until a refused call would be allowed when nobody else
	// takes anything. It is 0 for one that is allowed.
	RetryAfter time.Duration
	// Fallback says that Redis did not answer. Uncounted says so of a closed policy, which
	// has refused without knowing.
	Fallback, Uncounted bool
}

// script is the whole decision. redis.Script sends its hash, and its text only to a
// Redis that does not know it.
//
//go:embed bucket.lua
var scriptText string

// Limiter asks one Redis. It is safe for concurrent use.
type Limiter struct {
	client  redis.UniversalClient // nil: each process counts for itself
	script  *redis.Script
	timeout time.Duration
	breaker *gobreaker.CircuitBreaker[int64]
	local   *table
	metrics metrics
	failed  atomic.Int64 // when Redis failed last, in microseconds since local.base; 0 for never
	log     *slog.Logger
}

// New returns a limiter that gives Redis the timeout to answer. Without a client each
// process counts for itself and policies are neither open nor closed.
func New(client redis.UniversalClient, timeout time.Duration, registry prometheus.Registerer, log *slog.Logger) *Limiter {
	l := &Limiter{
		client:  client,
		script:  redis.NewScript(scriptText),
		timeout: timeout,
		local:   newTable(),
		metrics: newMetrics(registry),
		log:     log,
	}
	l.breaker = gobreaker.NewCircuitBreaker[int64](gobreaker.Settings{
		Name:        "ratelimit",
		MaxRequests: 1,
		Timeout:     breakerOpen,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateClosed {
				l.failed.Store(0)
				l.log.Info("rate limits are decided by redis again")
			}
		},
	})
	return l
}

// Policy is one kind of limit. Its buckets are its own.
type Policy struct {
	name     Name
	whenAway WhenAway
	limiter  *Limiter

	allowed, rejected, fallback prometheus.Counter
	remaining                   prometheus.Observer
}

// Policy returns a policy.
func (l *Limiter) Policy(name Name, whenAway WhenAway) *Policy {
	p := string(name)
	return &Policy{
		name: name, whenAway: whenAway, limiter: l,
		allowed: l.metrics.allowed.WithLabelValues(p), rejected: l.metrics.rejected.WithLabelValues(p),
		fallback: l.metrics.fallback.WithLabelValues(p), remaining: l.metrics.remaining.WithLabelValues(p),
	}
}

// Name is the policy's name.
func (p *Policy) Name() Name { return p.name }

// Take takes cost tokens from the subject's bucket, all or none. A cost of 0 takes
// nothing and tells what is left. The error is a *CostError, ErrBadQuota, or a negative
// cost: a Redis that is away is no error.
//
// When the quota differs from that of the call before, the time until now has counted
// at the old refill, and what is left stays, at most the new capacity. A bucket that was
// full has been forgotten and is full again.
func (p *Policy) Take(ctx context.Context, subject string, q Quota, cost int64) (Decision, error) {
	if err := q.Check(); err != nil {
		return Decision{}, err
	}
	switch {
	case cost < 0:
		return Decision{}, errCost
	case cost > q.Capacity:
		return Decision{}, &CostError{Cost: cost, Capacity: q.Capacity}
	}
	d := p.decide(ctx, Key(p.name, subject), q, cost)
	if d.Fallback {
		p.fallback.Inc()
	}
	if d.Allowed {
		p.allowed.Inc()
	} else {
		p.rejected.Inc()
	}
	p.remaining.Observe(float64(d.Remaining))
	return d, nil
}

// Return gives back what a call took that turned out not to count, to whoever counts
// now. It counts in no metric, and a bucket is never more than full.
func (p *Policy) Return(ctx context.Context, subject string, q Quota, cost int64) error {
	if err := q.Check(); err != nil {
		return err
	}
	if cost < 0 || cost > q.Capacity {
		return errCost
	}
	p.decide(ctx, Key(p.name, subject), q, -cost)
	return nil
}

func (p *Policy) decide(ctx context.Context, key string, q Quota, cost int64) Decision {
	l := p.limiter
	if l.client == nil {
		return l.local.take(key, q, cost, time.Now())
	}
	said, err := l.breaker.Execute(func() (int64, error) { return l.ask(ctx, key, q, cost) })
	if err == nil {
		return answer(q, cost, said)
	}
	l.away(ctx, err)
	if p.whenAway == Closed {
		return Decision{Limit: q.Capacity, RetryAfter: closedRetry, Reset: closedRetry, Fallback: true, Uncounted: true}
	}
	d := l.local.take(key, q, cost, time.Now())
	d.Fallback = true
	return d
}

// ask makes the one round trip. A caller who has gone away does not make Redis look
// unreachable, so the call goes on without him.
func (l *Limiter) ask(ctx context.Context, key string, q Quota, cost int64) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	return l.script.Run(ctx, l.client, []string{key}, q.Capacity, q.Tokens, q.micros(), cost).Int64()
}

// away says once for each time that Redis goes away that it is.
func (l *Limiter) away(ctx context.Context, err error) {
	now := int64(time.Since(l.local.base)/time.Microsecond) + 1
	before := l.failed.Swap(now)
	if before == 0 || now-before > int64(quiet/time.Microsecond) {
		l.log.WarnContext(ctx, "rate limits are decided without redis: open policies by this process alone, closed ones refuse", "err", err)
	}
}

// maxSubject is how long a subject may be and stand in a key as it is.
const maxSubject = 64

// Key is the Redis key of a bucket. A subject may be anything: one that is long, or has
// characters that mean something in a key, is hashed. So no key has a hash tag, and no
// two subjects share one.
func Key(name Name, subject string) string {
	if !plain(subject) {
		sum := sha256.Sum256([]byte(subject))
		subject = "#" + hex.EncodeToString(sum[:])
	}
	return "ratelimit:" + string(name) + ":" + subject
}

func plain(s string) bool {
	if s == "" || len(s) > maxSubject {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' && c != ':' && c != '/' {
			return false
		}
	}
	return true
}
