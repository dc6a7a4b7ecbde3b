package redirect

import (
	"net/http"
	"strconv"

	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// visit begins the span of a visit, of the few that are followed. Who is not a proxy of
// ours is not asked whether to.
func (w *worker) visit(req *http1.Request) *trace.Span {
	var parent trace.Context
	if len(req.Traceparent) > 0 && w.trusts(req.Peer) {
		parent, _ = trace.Parse(string(req.Traceparent)) // none, or none that can be read
	}
	return w.visits.Pick(parent, "visit", trace.Server, req.Time)
}

// traced ends it. It says nothing of who asked, nor which link was asked for.
func (w *worker) traced(span *trace.Span, req *http1.Request, res *http1.Response, source lookup.Source) {
	if span == nil {
		return
	}
	method, cache := "_OTHER", "none"
	for _, known := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if req.Is(known) {
			method = known
		}
	}
	if source != notLookedUp {
		cache = source.String()
	}
	span.Set("http.request.method", method)
	span.Set("http.response.status_code", strconv.Itoa(res.Code()))
	span.Set("linkstream.cache", cache)
	span.Set("linkstream.region", w.region)
	span.Set("linkstream.edge", w.edge)
	span.End(res.Code() >= http.StatusInternalServerError)
}
