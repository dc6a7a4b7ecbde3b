package redirect

import (
	"net/http"
	"strings"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/target"
)

// link answers for an entry. What leads to a target is a click, if it is followed.
func (w *worker) link(req *http1.Request, res *http1.Response, e *lookup.Entry, source lookup.Source, ask *asked) {
	millis, query := req.Time.UnixMilli(), ask.query
	switch timing := w.timing[source]; {
	case !e.Found:
		w.unknown(res, timing, ask.fallback)
	case e.Flags&^linkcache.KnownFlags != 0:
		w.unavailable(res, noIndex+timing)
	case e.StartsAt != 0 && millis < e.StartsAt:
		w.notStarted(res, timing)
	case e.ExpiresAt == 0 || millis < e.ExpiresAt:
		// A browser that kept the redirect would follow it past the link's end.
		ending := e.ExpiresAt != 0 && e.ExpiresAt-millis < permanentFor.Milliseconds()
		redirect(res, e.Status, timing, ending)
		if mode := forwarding(e.Flags); mode == target.Off {
			res.Header("Location", e.Destination)
		} else {
			w.location = target.Append(w.location[:0], e.Destination, query, mode)
			res.HeaderBytes("Location", w.location)
		}
		res.Empty()
		w.click(req, res, e, ask)
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
	purpose := req.SecPurpose
	if len(purpose) == 0 {
		purpose = req.Purpose
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
		Purpose:        cut(purpose, events.MaxPurpose),
		TargetQuery:    campaignOf(e.Destination),
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
