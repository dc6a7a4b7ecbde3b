package redirect

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/page"
	"github.com/linkstream/linkstream/services/redirect/internal/unlock"
)

// maxPassword is longer than any password that can be set, in bytes: what is longer is
// wrong without being compared.
const maxPassword = 1024

// passwords compares what visitors type with what links have.
type passwords interface {
	// VerifyPassword returns the key that signs the link's cookies when the password is
	// right. lookup.ErrNotCompared says that nobody has looked at it.
	VerifyPassword(ctx context.Context, link [16]byte, password string) (key []byte, correct bool, err error)
}

// Unlocking is how links are opened with a password.
type Unlocking struct {
	// Limiter counts guesses, for all edges that share its Redis.
	Limiter *ratelimit.Limiter
	// For is how long a visitor who gave the password does not give it again.
	For time.Duration
	// Secure has browsers send the cookie over TLS only.
	Secure bool
}

// guesses bounds how many passwords are compared: wrong ones, because who is right gets
// back what was taken.
type guesses struct {
	addresses, links *ratelimit.Policy
}

// byAddress is what one address may guess, at all links together, and atLink what all
// addresses together may guess at one link: at that rate six characters of base 62 take
// 18,000 years. Whoever spends it for others locks them out, for as long as he goes on.
func byAddress() ratelimit.Quota {
	return ratelimit.Quota{Capacity: 10, Tokens: 1, Period: 30 * time.Second}
}

func atLink() ratelimit.Quota {
	return ratelimit.Quota{Capacity: 100, Tokens: 1, Period: 10 * time.Second}
}

func newGuesses(limiter *ratelimit.Limiter) guesses {
	return guesses{
		addresses: limiter.Policy(ratelimit.UnlockAddresses, ratelimit.Closed),
		links:     limiter.Policy(ratelimit.UnlockLinks, ratelimit.Closed),
	}
}

// take takes a guess, or says how long to wait for one.
func (g *guesses) take(ctx context.Context, addr netip.Addr, link string) (wait time.Duration, ok bool) {
	d, err := g.links.Take(ctx, link, atLink(), 1)
	if err != nil || !d.Allowed {
		return max(d.RetryAfter, time.Second), false
	}
	d, err = g.addresses.Take(ctx, subject(addr), byAddress(), 1)
	if err != nil || !d.Allowed {
		_ = g.links.Return(ctx, link, atLink(), 1)
		return max(d.RetryAfter, time.Second), false
	}
	return 0, true
}

// giveBack undoes take.
func (g *guesses) giveBack(ctx context.Context, addr netip.Addr, link string) {
	_ = g.links.Return(ctx, link, atLink(), 1)
	_ = g.addresses.Return(ctx, subject(addr), byAddress(), 1)
}

// subject is an address, and of an IPv6 address its /64: whoever has one has them all.
func subject(addr netip.Addr) string {
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.Addr().String()
		}
	}
	return addr.String()
}

// unlock answers a password. The guess is taken before anybody compares.
func (w *worker) unlock(ctx context.Context, req *http1.Request, res *http1.Response, e *lookup.Entry, timing string) {
	if req.BodyUnread {
		w.page(res, http.StatusLengthRequired, temporary+noIndex, w.pages.Bad)
		return
	}
	password, ok := formValue(req.Body, "password")
	if !ok || password == "" {
		w.form(res, http.StatusOK, timing, page.NotTried, 0)
		return
	}
	addr, link := w.visitor(req), hex.EncodeToString(e.LinkID[:])
	if wait, ok := w.guesses.take(ctx, addr, link); !ok {
		w.form(res, http.StatusTooManyRequests, timing, page.TooManyTries, wait)
		return
	}
	if len(password) > maxPassword || !utf8.ValidString(password) {
		w.form(res, http.StatusForbidden, timing, page.Wrong, 0)
		return
	}
	span := w.tracer.Follow(trace.From(ctx), "verify password", trace.Client)
	key, correct, err := w.passwords.VerifyPassword(trace.Into(ctx, span.Context()), e.LinkID, password)
	span.End(err != nil)
	switch {
	case err != nil:
		if errors.Is(err, lookup.ErrNotCompared) {
			w.guesses.giveBack(ctx, addr, link)
		}
		w.unavailable(res, noIndex+timing)
		return
	case !correct:
		w.form(res, http.StatusForbidden, timing, page.Wrong, 0)
		return
	}
	w.guesses.giveBack(ctx, addr, link)
	// Back to where the form was, which the cookie opens now.
	res.Status(http.StatusSeeOther)
	res.Lines(temporary + noIndex)
	res.Lines(timing)
	res.HeaderBytes("Set-Cookie", unlock.AppendCookie(nil, (*[16]byte)(&e.LinkID), key, req.Time, w.unlocking.For, w.unlocking.Secure))
	res.HeaderBytes("Location", here(req))
	res.Empty()
}

// form is the page that asks for a password. Nothing of the link is in it.
func (w *worker) form(res *http1.Response, status int, timing string, try page.Try, wait time.Duration) {
	res.Status(status)
	if try == page.TooManyTries {
		res.Header("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
	res.Lines(temporary + noIndex)
	res.Lines(timing)
	res.Lines(page.FormLines)
	res.Body(page.Type, page.AppendPassword(nil, try, wait))
}

// here is the path and the query that were asked for, as a reference on the same host.
func here(req *http1.Request) []byte {
	_, path, query := asTarget(req)
	out := append([]byte{'/'}, bytes.TrimLeft(path, "/\\")...)
	if query != nil {
		out = append(append(out, '?'), query...)
	}
	const digits = "0123456789ABCDEF"
	escaped := out[:0:0]
	for _, c := range out {
		if c >= utf8.RuneSelf || c == '\\' {
			escaped = append(escaped, '%', digits[c>>4], digits[c&15])
		} else {
			escaped = append(escaped, c)
		}
	}
	return escaped
}

// formValue is a field of a form as browsers send it.
func formValue(body []byte, name string) (string, bool) {
	for pair := range bytes.SplitSeq(body, []byte{'&'}) {
		field, value, _ := bytes.Cut(pair, []byte{'='})
		if string(field) != name {
			continue
		}
		text, err := url.QueryUnescape(string(value))
		return text, err == nil
	}
	return "", false
}
