package redirect

import (
	"context"
	"net/http"

	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/limit"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/page"
	"github.com/linkstream/linkstream/services/redirect/internal/target"
	"github.com/linkstream/linkstream/services/redirect/internal/unlock"
)

const (
	// decided are the flags that take more than a look at the clock.
	decided = linkcache.FlagPassword | linkcache.FlagRules | linkcache.FlagVariants | linkcache.FlagMaxClicks |
		linkcache.FlagForwardPath | linkcache.FlagPreview
	// personal are those by which the next visit may lead elsewhere: no browser keeps the
	// redirect.
	personal = linkcache.FlagPassword | linkcache.FlagRules | linkcache.FlagVariants | linkcache.FlagMaxClicks
)

// optional answers for a live link with options: limit of clicks, password, preview,
// rules, variants, in this order (adr/0013). It says false, and has done nothing, when
// others have to be asked and waits is false.
func (w *worker) optional(ctx context.Context, req *http1.Request, res *http1.Response, e *lookup.Entry, ask *asked, timing string, waits bool) bool {
	w.meet(req, ask)
	v := &w.who
	locked := e.Flags&linkcache.FlagPassword != 0 && (ask.post || !unlock.Opens(req.Cookie, (*[16]byte)(&e.LinkID), e.Program.UnlockKey(), req.Time))
	if e.Flags&linkcache.FlagMaxClicks != 0 {
		spends := !locked && req.Is(http.MethodGet) && !ask.monitor && v.Spends()
		switch left, known := w.left(ctx, e, spends, waits); {
		case !known && !waits:
			return false
		case !known:
			w.unavailable(res, noIndex+timing)
			return true
		case !left:
			w.over(req, res, e, ask, timing)
			return true
		}
	}
	if locked {
		switch {
		case !ask.post:
			w.form(res, http.StatusOK, timing, page.NotTried, 0)
		case !waits:
			return false
		default:
			w.unlock(ctx, req, res, e, timing)
		}
		return true
	}
	if e.Flags&linkcache.FlagPreview != 0 && v.PreviewBot() {
		w.card(res, e, timing)
		return true
	}
	ask.target = e.Destination
	if n, to := e.Program.Rule(v); n > 0 {
		ask.rule, ask.target = n, to
	} else if n, to := e.Program.Variant(v, (*[16]byte)(&e.LinkID)); n > 0 {
		ask.variant, ask.target = n, to
	}
	w.follow(req, res, e, ask, timing, e.Flags&personal != 0)
	return true
}

// meet makes the visitor known to whoever decides.
func (w *worker) meet(req *http1.Request, ask *asked) {
	v := &w.who
	v.Meet(w.senses)
	v.Now, v.Address, v.UserAgent, v.AcceptLanguage, v.Query = req.Time, w.visitor(req), req.UserAgent, req.AcceptLanguage, ask.query
	v.Purpose = purpose(req)
}

// left says whether there is a redirect left, and uses one up if it spends. known is
// false when it has to be asked for and waits is false, or nobody could say.
func (w *worker) left(ctx context.Context, e *lookup.Entry, spends, waits bool) (left, known bool) {
	most, since := e.Program.MaxClicks()
	count := limit.Count{Link: e.LinkID, Since: since, Max: most}
	if w.counter.Spent(count) {
		return false, true
	}
	if !waits {
		return false, false
	}
	ask := w.counter.Left
	if spends {
		ask = w.counter.Take
	}
	span := w.tracer.Follow(trace.From(ctx), "count", trace.Client)
	left, err := ask(ctx, count)
	span.End(err != nil)
	return left, err == nil
}

// card is what preview bots are shown. It is no redirect, and no click.
func (w *worker) card(res *http1.Response, e *lookup.Entry, timing string) {
	title, text, image := e.Program.Preview()
	res.Status(http.StatusOK)
	res.Lines(temporary + noIndex)
	res.Lines(timing)
	show(res, page.AppendCard(nil, &page.Card{Host: e.Host, Title: title, Text: text, Image: image, Destination: e.Destination}))
}

// follow is the redirect to the chosen target, and the click of it.
func (w *worker) follow(req *http1.Request, res *http1.Response, e *lookup.Entry, ask *asked, timing string, ending bool) {
	// A browser that kept the redirect would follow it past the link's end.
	ending = ending || e.ExpiresAt != 0 && e.ExpiresAt-req.Time.UnixMilli() < permanentFor.Milliseconds()
	redirect(res, e.Status, timing, ending)
	to := ask.target
	if len(ask.suffix) > 0 {
		to = string(target.AppendBeneath(nil, to, ask.suffix))
	}
	if mode := forwarding(e.Flags); mode == target.Off {
		res.Header("Location", to)
	} else {
		w.location = target.Append(w.location[:0], to, ask.query, mode)
		res.HeaderBytes("Location", w.location)
	}
	res.Empty()
	w.click(req, res, e, ask)
}

// over answers for a link that redirects no more: it has expired, was switched off, or
// has given all that it had. Its fallback is a click, like its target.
func (w *worker) over(req *http1.Request, res *http1.Response, e *lookup.Entry, ask *asked, timing string) {
	ask.target = e.Destination
	switch {
	case e.Fallback != "":
		redirectTo(res, e.Fallback, timing)
		w.click(req, res, e, ask)
	case ask.fallback != "":
		redirectTo(res, ask.fallback, timing)
		w.click(req, res, e, ask)
	default:
		w.gone(res, timing)
	}
}
