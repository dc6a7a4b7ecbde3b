package redirect

import (
	"bytes"
	"context"
	"net/http"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
)

// worker answers requests, one at a time. What it needs for one it keeps for the next.
type worker struct {
	*Handler
	names [maxHost + maxSlug + 16]byte
	room  [keyRoom]byte
	tally tally
	entry lookup.Entry
	batch clicks.Batch

	location []byte // of a link that forwards its visitors' query

	senses *option.Senses
	who    option.Visitor // of a link with options

	visits *trace.Sampler // nil where none is followed
}

// Worker implements http1.Handler.
func (h *Handler) Worker() http1.Worker {
	return &worker{Handler: h, senses: h.eyes.Senses(), visits: h.tracer.Sampler(h.share)}
}

// Answer implements http1.Worker: it answers whatever this process knows by itself.
func (w *worker) Answer(ctx context.Context, req *http1.Request, res *http1.Response) bool {
	source := lookup.Source(notLookedUp)
	if w.admits(req, res) {
		ask, pending := w.route(req, res)
		if pending {
			if ask.monitor || ask.strange || ask.view == address.QRCode || ask.post {
				return false
			}
			if !w.hit(ctx, req, &ask) || !w.found(ctx, req, res, &w.entry, lookup.L1, &ask, false) {
				return false
			}
			source = lookup.L1
		}
	}
	w.tally.add(source, req.Time)
	w.metrics.answered(res.Code())
	if w.visits != nil { // what is answered here is picked when it is over
		w.traced(w.visit(req), req, res, source)
	}
	return true
}

// Wait implements http1.Worker: it asks others.
func (w *worker) Wait(ctx context.Context, req *http1.Request, res *http1.Response) {
	span := w.visit(req)
	source := w.wait(trace.Into(ctx, span.Context()), req, res)
	w.tally.add(source, req.Time)
	w.metrics.answered(res.Code())
	w.traced(span, req, res, source)
}

// wait says who has answered.
func (w *worker) wait(ctx context.Context, req *http1.Request, res *http1.Response) lookup.Source {
	ask, pending := w.route(req, res)
	if ask.strange && w.links.Current(ctx) {
		// The table is the newest, so that a host that is not there has no links.
		if ask, pending = w.route(req, res); ask.strange {
			w.unknown(res, "", "")
			pending = false
		}
	}
	if !pending {
		return notLookedUp
	}
	find := w.lookup.Find
	if ask.monitor {
		// It comes for every link, and would push out those that people visit.
		find = w.lookup.Probe
	}
	e, source, err := w.search(ctx, req, &ask, find)
	if err != nil {
		w.unavailable(res, noIndex)
	} else {
		w.found(ctx, req, res, &e, source, &ask, true)
	}
	return source
}

// found answers for an entry. It says false, and has done nothing, when others have to be
// asked and waits is false.
func (w *worker) found(ctx context.Context, req *http1.Request, res *http1.Response, e *lookup.Entry, source lookup.Source, ask *asked, waits bool) bool {
	if ask.view != address.Redirect {
		w.look(ctx, res, e, source, ask, req.Time)
		return true
	}
	return w.link(ctx, req, res, e, source, ask, waits)
}

// Refuse implements http1.Worker: it answers what is no HTTP request.
func (w *worker) Refuse(status int, res *http1.Response) {
	w.page(res, status, "", w.pages.Bad)
	w.metrics.answered(status)
}

// Flush implements http1.Worker: the clicks are safe before the answers leave.
func (w *worker) Flush() {
	w.clicks.Append(&w.batch)
	w.tally.flush(&w.metrics)
}

// asked is what a request asks for.
type asked struct {
	key, query []byte
	fallback   string // the domain's
	monitor    bool
	strange    bool // the table of domains lacks the host
	scanned    bool // it came by a QR code
	post       bool // a form was sent: for links with a password
	view       address.View

	suffix        []byte // what is asked for beneath the link, from the slash on
	rule, variant int    // which of the link's chose the target
	target        string
}

// route answers what is no look-up, or says what is to be looked up.
func (w *worker) route(req *http1.Request, res *http1.Response) (a asked, pending bool) {
	host, path, query := asTarget(req)
	if !req.Is(http.MethodGet) && !req.Is(http.MethodHead) {
		if a.post = req.Is(http.MethodPost); !a.post || nowhere(path) {
			w.wrongMethod(res)
			return a, false
		}
	}
	name, domain := w.place(host, &a)
	switch string(path) {
	case "/", "":
		if domain != nil && domain.Home != "" {
			redirectTo(res, domain.Home, "")
			return a, false
		}
		w.page(res, http.StatusOK, "", w.pages.Home)
		return a, false
	case "/robots.txt":
		res.Status(http.StatusOK)
		res.Body("text/plain; charset=utf-8", []byte(robots))
		return a, false
	case "/favicon.ico":
		res.Status(http.StatusNoContent)
		res.NoContent()
		return a, false
	}
	key, view, ok := w.key(name, path, domain != nil && domain.FoldCase)
	if view != address.Redirect {
		a.view, a.fallback = view, "" // whoever only looks is led nowhere
		ok = ok && (view != address.Preview || domain == nil || !domain.NoPreview)
	}
	switch {
	case a.post && view != address.Redirect:
		w.wrongMethod(res)
		return a, false
	case ok:
	case len(name) > 0 && deep(path): // perhaps a link above forwards it
		key = nil
	case a.post:
		w.wrongMethod(res)
		return a, false
	default:
		w.unknown(res, "", a.fallback)
		return a, false
	}
	a.query, a.scanned = address.CutScan(query)
	a.key, a.monitor = key, w.monitors.match(req.UserAgent)
	return a, true
}

// nowhere says whether a path is no link's.
func nowhere(path []byte) bool {
	switch string(path) {
	case "", "/", "/robots.txt", "/favicon.ico":
		return true
	}
	return false
}

func (w *worker) wrongMethod(res *http1.Response) {
	w.page(res, http.StatusMethodNotAllowed, "Allow: GET, HEAD\r\n", w.pages.Method)
}

// place returns a host's normal form, nil for what is no host, and its domain if the
// table has one.
func (w *worker) place(host []byte, a *asked) ([]byte, *domains.Domain) {
	if len(host) == 0 || len(host) > maxHost+len(".:65535") {
		return nil, nil
	}
	name := address.AppendHost(w.names[:0:maxHost+8], host)
	if _, local := w.local[string(name)]; local {
		name = w.domain
	}
	if len(name) == 0 || len(name) > maxHost {
		return nil, nil
	}
	domain, known := w.domains.Find(name)
	if domain != nil {
		a.fallback = domain.Fallback
	} else {
		a.strange = known
	}
	return name, domain
}

// asTarget takes host, path and query out of the request as they came. A request line
// with an absolute URL names the host itself.
func asTarget(req *http1.Request) (host, path, query []byte) {
	host, path = req.Host, req.Target
	if path[0] != '/' {
		if _, rest, ok := bytes.Cut(path, []byte("://")); ok {
			host, path = rest, nil
			if slash := bytes.IndexAny(rest, "/?"); slash >= 0 {
				host, path = rest[:slash], rest[slash:]
			}
			if at := bytes.LastIndexByte(host, '@'); at >= 0 {
				host = host[at+1:]
			}
		}
	}
	if q := bytes.IndexByte(path, '?'); q >= 0 {
		path, query = path[:q], path[q+1:]
	}
	return host, path, query
}

// key returns the address's key and what is asked of its link, or says false for what is
// no address.
func (w *worker) key(name, path []byte, fold bool) ([]byte, address.View, bool) {
	if len(name) == 0 || len(path) > 3*maxSlug+2 {
		return nil, address.Redirect, false
	}
	slug, ok := address.AppendSlugKey(w.names[maxHost+8:maxHost+8], path)
	if fold {
		slug = address.Fold(slug)
	}
	slug, view := address.CutView(slug)
	if !ok || len(slug) == 0 || len(slug) > maxSlug {
		return nil, view, false
	}
	return linkcache.AppendKey(w.room[:0], name, slug), view, true
}
