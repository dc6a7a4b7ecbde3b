// Package httplimit puts the rate limits of package ratelimit on the public API: the
// calls of an API key, with the key's own quota, and those of an address that brings no
// valid key.
//
// It promises that every limited answer says what is left (X-RateLimit-* and the IETF
// RateLimit fields), that a refusal is a 429 problem which says when to come back, and
// that nobody with a valid key is refused for what others at the same address do. It
// refuses a call that costs more than the key's bucket holds with 422: coming back would
// not help.
//
// A call costs 1. An operation that costs more takes the rest with Take.
package httplimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
)

// Limits are those of one service's API. It implements httpapi.Limits.
type Limits struct {
	keys, addresses *ratelimit.Policy
	strict          *ratelimit.Policy // the same buckets as keys
	key, address    ratelimit.Quota
	trusted         []netip.Prefix
	log             *slog.Logger
}

var _ httpapi.Limits = (*Limits)(nil)

// New returns limits with the quotas of keys that have none of their own, and of
// addresses. Behind trusted proxies X-Forwarded-For says whose address counts.
func New(limiter *ratelimit.Limiter, key, address ratelimit.Quota, trusted []netip.Prefix, log *slog.Logger) *Limits {
	return &Limits{
		// Open: without Redis the API goes on, a little more generous than it should be.
		keys:      limiter.Policy(ratelimit.PerKey, ratelimit.Open),
		addresses: limiter.Policy(ratelimit.PerAddress, ratelimit.Open),
		strict:    limiter.Policy(ratelimit.PerKey, ratelimit.Closed),
		key:       key, address: address, trusted: trusted, log: log,
	}
}

// strictKey marks an operation's metadata.
const strictKey = "ratelimit-closed"

// Strict is the metadata of an operation that is refused while nobody can count: one that
// gives out rights, such as making a key.
func Strict() map[string]any { return map[string]any{strictKey: true} }

// account is what one request has to do with its key's bucket.
type account struct {
	policy  *ratelimit.Policy
	subject string
	quota   ratelimit.Quota
	taken   int64
	set     func(name, value string)
}

type accountKey struct{}

// Caller implements httpapi.Limits.
func (l *Limits) Caller(ctx huma.Context, id *access.Identity) (huma.Context, *httpapi.Problem) {
	policy := l.keys
	if ctx.Operation().Metadata[strictKey] == true {
		policy = l.strict
	}
	a := &account{policy: policy, subject: id.Subject.String(), quota: l.quotaOf(ctx.Context(), id), set: ctx.SetHeader}
	if problem := a.take(ctx.Context(), 1); problem != nil {
		return ctx, problem
	}
	return huma.WithContext(ctx, context.WithValue(ctx.Context(), accountKey{}, a)), nil
}

// Stranger implements httpapi.Limits.
func (l *Limits) Stranger(ctx huma.Context) *httpapi.Problem {
	var forwarded []string
	ctx.EachHeader(func(name, value string) {
		if http.CanonicalHeaderKey(name) == forwardedFor {
			forwarded = append(forwarded, value)
		}
	})
	a := &account{policy: l.addresses, subject: Address(ctx.RemoteAddr(), forwarded, l.trusted), quota: l.address, set: ctx.SetHeader}
	return a.take(ctx.Context(), 1)
}

// quotaOf is the key's own quota, or the service's.
func (l *Limits) quotaOf(ctx context.Context, id *access.Identity) ratelimit.Quota {
	if id.RateCapacity == 0 {
		return l.key
	}
	q, err := ratelimit.PerSecond(int64(id.RateCapacity), id.RateRefillPerSecond)
	if err != nil { // whoever stores one refuses it
		l.log.DebugContext(ctx, "a key's own rate limit cannot be counted, it has the default", "subject", id.Subject, "err", err)
		return l.key
	}
	return q
}

// Take takes what a call costs beyond the 1 that was taken before its operation began:
// of a call with n rows, n-1. An error is a problem for the caller, and nothing of more
// was taken then. A request without limits costs nothing.
func Take(ctx context.Context, more int64) error {
	a, ok := ctx.Value(accountKey{}).(*account)
	if !ok || more <= 0 {
		return nil
	}
	problem := a.take(ctx, more)
	if problem == nil {
		return nil
	}
	return problem
}

// take takes tokens and sets the headers.
func (a *account) take(ctx context.Context, cost int64) *httpapi.Problem {
	if a.taken+cost > a.quota.Capacity {
		return tooLarge(&ratelimit.CostError{Cost: a.taken + cost, Capacity: a.quota.Capacity})
	}
	d, err := a.policy.Take(ctx, a.subject, a.quota, cost)
	var large *ratelimit.CostError
	switch {
	case errors.As(err, &large):
		return tooLarge(large)
	case err != nil: // the quotas were checked: a mistake of the program
		return httpapi.NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id.")
	}
	setHeaders(a.set, a.policy.Name(), a.quota, d)
	if !d.Allowed {
		return tooMany(d)
	}
	a.taken += cost
	return nil
}

func tooLarge(err *ratelimit.CostError) *httpapi.Problem {
	return httpapi.NewProblem(http.StatusUnprocessableEntity, "over_capacity",
		fmt.Sprintf("This call costs %d and the limit allows %d at once, so it can never be allowed. Send less in one call.", err.Cost, err.Capacity))
}

func tooMany(d ratelimit.Decision) *httpapi.Problem {
	detail := fmt.Sprintf("Too many calls. This one would be allowed in %s.", seconds(d.RetryAfter))
	if d.Uncounted {
		detail = "How many calls were made cannot be counted right now. Try again in a moment."
	}
	return httpapi.NewProblem(http.StatusTooManyRequests, "rate_limited", detail)
}
