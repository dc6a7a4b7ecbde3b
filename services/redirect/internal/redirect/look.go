package redirect

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/qrcode"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/page"
)

const (
	// imageKept is how long anybody may keep a QR code, which changes only with its link's
	// address.
	imageKept = "Cache-Control: public, max-age=3600\r\n"

	textType = "text/plain; charset=utf-8"

	// drawWait is how long a QR code waits for those before it. One is drawn at a time:
	// the dearest takes a tenth of a second of a core that redirects need.
	drawWait = 2 * time.Second
)

// look answers for a link that is looked at, not followed: its preview page or its QR
// code. Neither is a click, nor leads anywhere.
func (w *worker) look(ctx context.Context, res *http1.Response, e *lookup.Entry, source lookup.Source, ask *asked, now time.Time) {
	millis := now.UnixMilli()
	switch timing := w.timing[source]; {
	case !e.Found:
		w.unknown(res, timing, "")
	case e.Flags&^linkcache.KnownFlags != 0:
		w.unavailable(res, noIndex+timing)
	case e.Flags&linkcache.FlagDisabled != 0:
		w.gone(res, timing)
	case e.StartsAt != 0 && millis < e.StartsAt:
		w.notStarted(res, timing)
	case e.ExpiresAt != 0 && millis >= e.ExpiresAt:
		w.gone(res, timing)
	case ask.view == address.QRCode:
		w.qrCode(ctx, res, e, timing, string(ask.query))
	default:
		w.preview(res, e, timing)
	}
}

// preview shows where a link leads.
func (w *worker) preview(res *http1.Response, e *lookup.Entry, timing string) {
	p := page.Preview{Host: e.Host, Slug: e.Slug, Title: e.Title, Destination: e.Destination, Created: e.CreatedAt()}
	if e.Flags&linkcache.FlagPassword != 0 {
		p.Title, p.Destination = "", ""
	}
	p.Varies = e.Flags&(linkcache.FlagRules|linkcache.FlagVariants) != 0
	res.Status(http.StatusOK)
	res.Lines(temporary + noIndex)
	res.Lines(timing)
	show(res, page.AppendPreview(nil, &p))
}

// qrCode draws a link's QR code as the query says.
func (w *worker) qrCode(ctx context.Context, res *http1.Response, e *lookup.Entry, timing, query string) {
	free := time.NewTimer(drawWait)
	defer free.Stop()
	select {
	case w.drawing <- struct{}{}:
		defer func() { <-w.drawing }()
	case <-free.C:
		w.unavailable(res, noIndex+timing)
		return
	case <-ctx.Done():
		w.unavailable(res, noIndex+timing)
		return
	}
	options, err := qrcode.Parse(qrcode.Values(query), qrcode.SVG)
	var image []byte
	if err == nil {
		image, err = options.Draw(w.urls.Scan(e.Host, e.Slug))
	}
	var wrong qrcode.FieldErrors
	switch {
	case errors.As(err, &wrong):
		res.Status(http.StatusBadRequest)
		res.Lines(temporary + noIndex)
		res.Lines(timing)
		res.Lines(page.ImageLines)
		var text []byte
		for _, field := range wrong {
			text = append(text, field.Field+": "+field.Detail+"\n"...)
		}
		res.Body(textType, text)
	case err != nil:
		w.unavailable(res, noIndex+timing)
	default:
		res.Status(http.StatusOK)
		res.Lines(imageKept + noIndex)
		res.Lines(timing)
		res.Lines(page.ImageLines)
		res.Body(options.Format.ContentType(), image)
	}
}
