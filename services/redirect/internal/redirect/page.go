package redirect

import (
	"net/http"

	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/page"
)

// robots keeps crawlers away: nothing here is for an index.
const robots = "User-agent: *\nDisallow: /\n"

// show ends an answer with a page.
func show(res *http1.Response, body []byte) {
	res.Lines(page.Lines)
	res.Body(page.Type, body)
}

// page is a whole answer.
func (w *worker) page(res *http1.Response, status int, lines string, body []byte) {
	res.Status(status)
	res.Lines(lines)
	show(res, body)
}

// unknown says that there is no link, or leads to the domain's fallback. A browser that
// kept the answer would not notice that one was made since.
func (w *worker) unknown(res *http1.Response, lines, fallback string) {
	if fallback != "" {
		redirectTo(res, fallback, lines)
		return
	}
	res.Status(http.StatusNotFound)
	res.Lines(temporary + noIndex)
	res.Lines(lines)
	show(res, w.pages.Unknown)
}

// notStarted is unknown for a link that is there, which is nobody's mistake.
func (w *worker) notStarted(res *http1.Response, lines string) {
	res.Status(http.StatusNotFound)
	res.Lines(temporary + noIndex)
	res.Lines(lines)
	show(res, w.pages.NotStarted)
}

func (w *worker) gone(res *http1.Response, lines string) {
	res.Status(http.StatusGone)
	res.Lines(temporary + noIndex)
	res.Lines(lines)
	show(res, w.pages.Gone)
}

func (w *worker) unavailable(res *http1.Response, lines string) {
	res.Status(http.StatusServiceUnavailable)
	res.Lines(retrySoon + temporary)
	res.Lines(lines)
	show(res, w.pages.Unavailable)
}
