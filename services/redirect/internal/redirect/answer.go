package redirect

import (
	"context"
	"net/http"
	"strings"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/target"
)

// link answers for an entry. What leads to a target is a click, if it is followed. It
// says false, and has done nothing, when others have to be asked and waits is false. The
// order is that of adr/0013.
func (w *worker) link(ctx context.Context, req *http1.Request, res *http1.Response, e *lookup.Entry, source lookup.Source, ask *asked, waits bool) bool {
	millis := req.Time.UnixMilli()
	switch timing := w.timing[source]; {
	case ask.post && (!e.Found || e.Flags&linkcache.FlagPassword == 0):
		w.wrongMethod(res)
	case !e.Found:
		w.unknown(res, timing, ask.fallback)
	case e.Flags&^linkcache.KnownFlags != 0:
		w.unavailable(res, noIndex+timing)
	case e.Flags&linkcache.FlagDisabled != 0:
		w.over(req, res, e, ask, timing)
	case e.StartsAt != 0 && millis < e.StartsAt:
		w.notStarted(res, timing)
	case e.ExpiresAt != 0 && millis >= e.ExpiresAt:
		w.over(req, res, e, ask, timing)
	case e.Flags&decided != 0:
		return w.optional(ctx, req, res, e, ask, timing, waits)
	default:
		ask.target = e.Destination
		w.follow(req, res, e, ask, timing, false)
	}
	return true
}

// redirectTo is a whole redirect for now: no browser keeps it.
func redirectTo(res *http1.Response, location, timing string) {
	redirect(res, http.StatusFound, timing, true)
	res.Header("Location", location)
	res.Empty()
}

// redirect begins one.
func redirect(res *http1.Response, status int, timing string, ending bool) {
	lines := temporary + noIndex
	switch status {
	case http.StatusMovedPermanently, http.StatusPermanentRedirect:
		if !ending {
			lines = permanent + noIndex
		}
	case http.StatusFound, http.StatusTemporaryRedirect:
	default:
		status = http.StatusFound
	}
	res.Status(status)
	res.Lines(lines)
	res.Lines(timing)
}

func forwarding(flags linkcache.Flags) target.Mode {
	switch {
	case flags&linkcache.FlagForwardAdd != 0:
		return target.Add
	case flags&linkcache.FlagForwardVisitorWins != 0:
		return target.VisitorWins
	case flags&linkcache.FlagForwardOwnerWins != 0:
		return target.OwnerWins
	default:
		return target.Off
	}
}

// click records the answer that was just written.
func (w *worker) click(req *http1.Request, res *http1.Response, e *lookup.Entry, ask *asked) {
	if !req.Is(http.MethodGet) {
		return
	}
	c := events.Click{
		TimeUnixMicro:  req.Time.UnixMicro(),
		WorkspaceID:    e.WorkspaceID,
		LinkID:         e.LinkID,
		LinkVersion:    e.Version,
		Host:           e.Host,
		SlugKey:        e.Slug,
		Status:         res.Code(),
		EdgeRegion:     w.region,
		Edge:           w.edge,
		UserAgent:      cut(req.UserAgent, events.MaxUserAgent),
		Referrer:       cut(req.Referer, events.MaxReferrer),
		AcceptLanguage: cut(req.AcceptLanguage, events.MaxAcceptLanguage),
		Query:          cut(ask.query, events.MaxQuery),
		Purpose:        cut(purpose(req), events.MaxPurpose),
		TargetQuery:    campaignOf(ask.target),
		Rule:           ask.rule,
		Variant:        ask.variant,
	}
	if ask.scanned {
		c.Source = sourceQR
	}
	var room [16]byte
	switch visitor := w.visitor(req); {
	case visitor.Is4():
		four := visitor.As4()
		c.Address = append(room[:0], four[:]...)
	case visitor.Is6():
		room = visitor.As16()
		c.Address = room[:]
	}
	w.batch.Add(&c)
}

func purpose(req *http1.Request) []byte {
	if len(req.SecPurpose) > 0 {
		return req.SecPurpose
	}
	return req.Purpose
}

// campaignOf is the query of a target that names a campaign, which the click keeps:
// the link may have another target when the click is read.
func campaignOf(destination string) string {
	query := strings.IndexByte(destination, '?')
	if query < 0 || !strings.Contains(destination[query:], "utm_") {
		return ""
	}
	destination, _, _ = strings.Cut(destination[query+1:], "#")
	return destination[:min(len(destination), events.MaxTargetQuery)]
}

// sourceQR is the source of a click by a QR code.
const sourceQR = "qr"

func cut(b []byte, limit int) []byte { return b[:min(len(b), limit)] }
