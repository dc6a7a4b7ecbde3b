package redirect

import (
	"bytes"
	"context"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

const (
	// maxHost and maxSlug are the longest that can be: a DNS name, and 128
	// characters of UTF-8. Anything longer is no address and is not looked up, so
	// nobody can fill caches with long keys.
	maxHost = 253
	maxSlug = 128 * 4

	// keyRoom holds any key that is looked up, and most that are not.
	keyRoom = 1024

	// Cache-Control of answers that must be asked for again, and of permanent
	// redirects, which browsers would otherwise keep for ever.
	temporary    = "private, no-store"
	permanent    = "private, max-age=90"
	permanentFor = 90 * time.Second

	retryAfter = "1"

	// MinMonitorName is the shortest part of an agent that can stand for a monitor.
	MinMonitorName = 3

	robots = "User-agent: *\nDisallow: /\n"
)

// Settings of a Handler.
type Settings struct {
	DefaultDomain  string // in normal form
	LocalNames     []string
	TrustedProxies []netip.Prefix
	MonitorAgents  []string // parts of the agents of uptime monitors, in any case
	Limit          Limit
	ServerTiming   bool
	Region, Edge   string
}

// Handler answers requests. The look-up and the clicks are concrete types, because
// behind an interface the key's buffer and the click would be allocated for every
// request.
type Handler struct {
	lookup   *lookup.Lookup
	clicks   *clicks.Log
	domain   []byte
	local    map[string]struct{}
	trusted  []netip.Prefix
	monitors *monitors
	limiter  limiter
	timing   [lookup.Sources][]byte // nil when switched off
	region   string
	edge     string
	pages    pages
	metrics  metrics
}

// New returns a handler.
func New(links *lookup.Lookup, log *clicks.Log, settings Settings, registry prometheus.Registerer) *Handler {
	h := &Handler{
		lookup:   links,
		clicks:   log,
		domain:   []byte(settings.DefaultDomain),
		local:    map[string]struct{}{},
		trusted:  settings.TrustedProxies,
		monitors: newMonitors(settings.MonitorAgents),
		limiter:  newLimiter(settings.Limit, registry),
		region:   settings.Region,
		edge:     settings.Edge,
		pages:    newPages(),
		metrics:  newMetrics(registry),
	}
	for _, name := range settings.LocalNames {
		h.local[address.Host(name)] = struct{}{}
	}
	if settings.ServerTiming {
		for source := range lookup.Sources {
			h.timing[source] = []byte("cache;desc=" + lookup.Source(source).String())
		}
	}
	return h
}

// Serve answers one request. ctx lives as long as the server.
func (h *Handler) Serve(ctx context.Context, rc *fasthttp.RequestCtx) {
	now := rc.Time()
	source := h.answer(ctx, rc, now)
	h.metrics.answered(rc.Response.StatusCode())
	h.metrics.duration[source].Observe(time.Since(now).Seconds())
}

// answer writes the answer and says what it rests on: a lookup.Source or
// notLookedUp.
func (h *Handler) answer(ctx context.Context, rc *fasthttp.RequestCtx, now time.Time) int {
	if !h.admits(rc, now) {
		return notLookedUp
	}
	if !rc.IsGet() && !rc.IsHead() {
		rc.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD")
		h.page(rc, fasthttp.StatusMethodNotAllowed, h.pages.method)
		return notLookedUp
	}
	host, path, query := target(rc)
	switch string(path) {
	case "/", "":
		h.page(rc, fasthttp.StatusOK, h.pages.home)
		return notLookedUp
	case "/robots.txt":
		rc.SetContentType("text/plain; charset=utf-8")
		rc.SetBodyString(robots)
		return notLookedUp
	case "/favicon.ico":
		rc.SetStatusCode(fasthttp.StatusNoContent)
		return notLookedUp
	}
	var room [keyRoom]byte
	key, ok := h.key(room[:0], host, path)
	if !ok {
		h.unknown(rc)
		return notLookedUp
	}
	e, source, err := h.find(ctx, rc, key, now)
	rc.Response.Header.Set("X-Robots-Tag", "noindex")
	if err != nil {
		h.unavailable(rc)
		return int(source)
	}
	if timing := h.timing[source]; timing != nil {
		rc.Response.Header.SetBytesV("Server-Timing", timing)
	}
	if h.link(rc, e, now) && rc.IsGet() {
		h.click(rc, e, query, now)
	}
	return int(source)
}

// find looks a key up, past this process's memory when a monitor asks: it comes for
// every link, and would push out those that people visit.
func (h *Handler) find(ctx context.Context, rc *fasthttp.RequestCtx, key []byte, now time.Time) (*lookup.Entry, lookup.Source, error) {
	if h.monitors.match(rc.Request.Header.UserAgent()) {
		return h.lookup.Probe(ctx, key, now)
	}
	return h.lookup.Find(ctx, key, now)
}

// target takes host, path and query out of the request as they came. A request
// line with an absolute URL names the host itself.
func target(rc *fasthttp.RequestCtx) (host, path, query []byte) {
	host, path = rc.Request.Header.Host(), rc.Request.Header.RequestURI()
	if len(path) > 0 && path[0] != '/' {
		uri := rc.URI()
		host, path, query = uri.Host(), uri.PathOriginal(), uri.QueryString()
		return host, path, query
	}
	if q := bytes.IndexByte(path, '?'); q >= 0 {
		path, query = path[:q], path[q+1:]
	}
	return host, path, query
}

// key appends the address's key to dst, or says false for what is no address.
func (h *Handler) key(dst, host, path []byte) ([]byte, bool) {
	if len(host) == 0 || len(host) > maxHost+len(".:65535") || len(path) > 3*maxSlug+2 {
		return nil, false
	}
	// Normal forms are made behind the place of the key, then put together: both
	// may grow or shrink.
	var room [maxHost + maxSlug + 16]byte
	name := address.AppendHost(room[:0:maxHost+8], host)
	if _, local := h.local[string(name)]; local {
		name = h.domain
	}
	slug, ok := address.AppendSlugKey(room[maxHost+8:maxHost+8], path)
	if !ok || len(slug) > maxSlug || len(name) == 0 || len(name) > maxHost {
		return nil, false
	}
	return linkcache.AppendKey(dst, name, slug), true
}

// link answers for an entry. It says whether the answer leads to a target, which
// is what counts as a click.
func (h *Handler) link(rc *fasthttp.RequestCtx, e *lookup.Entry, now time.Time) bool {
	millis := now.UnixMilli()
	switch {
	case !e.Found:
		h.unknown(rc)
	case e.Flags&^linkcache.KnownFlags != 0:
		h.unavailable(rc)
	case e.StartsAt != 0 && millis < e.StartsAt:
		h.unknown(rc)
	case e.ExpiresAt == 0 || millis < e.ExpiresAt:
		h.redirect(rc, e.Status, e.Destination)
		if e.ExpiresAt != 0 && e.ExpiresAt-millis < permanentFor.Milliseconds() {
			// A browser that kept the redirect would follow it past the link's end.
			rc.Response.Header.Set(fasthttp.HeaderCacheControl, temporary)
		}
		return true
	case e.Fallback != "":
		h.redirect(rc, fasthttp.StatusFound, e.Fallback)
		return true
	default:
		rc.Response.Header.Set(fasthttp.HeaderCacheControl, temporary)
		h.page(rc, fasthttp.StatusGone, h.pages.gone)
	}
	return false
}

// redirect writes Location itself: the server's own Redirect would clean the URL.
func (h *Handler) redirect(rc *fasthttp.RequestCtx, status int, to string) {
	cacheControl := temporary
	switch status {
	case fasthttp.StatusMovedPermanently, fasthttp.StatusPermanentRedirect:
		cacheControl = permanent
	case fasthttp.StatusFound, fasthttp.StatusTemporaryRedirect:
	default:
		status = fasthttp.StatusFound
	}
	rc.SetStatusCode(status)
	rc.Response.Header.Set(fasthttp.HeaderLocation, to)
	rc.Response.Header.Set(fasthttp.HeaderCacheControl, cacheControl)
}

func (h *Handler) unknown(rc *fasthttp.RequestCtx) {
	// A browser that kept this page would not notice that the link was made since.
	rc.Response.Header.Set(fasthttp.HeaderCacheControl, temporary)
	rc.Response.Header.Set("X-Robots-Tag", "noindex")
	h.page(rc, fasthttp.StatusNotFound, h.pages.unknown)
}

func (h *Handler) unavailable(rc *fasthttp.RequestCtx) {
	rc.Response.Header.Set(fasthttp.HeaderRetryAfter, retryAfter)
	rc.Response.Header.Set(fasthttp.HeaderCacheControl, temporary)
	h.page(rc, fasthttp.StatusServiceUnavailable, h.pages.unavailable)
}

func (h *Handler) page(rc *fasthttp.RequestCtx, status int, body []byte) {
	rc.SetStatusCode(status)
	rc.SetContentType("text/html; charset=utf-8")
	rc.Response.SetBodyRaw(body)
}

// click records the answer that was just written.
func (h *Handler) click(rc *fasthttp.RequestCtx, e *lookup.Entry, query []byte, now time.Time) {
	header := &rc.Request.Header
	purpose := header.Peek("Sec-Purpose")
	if len(purpose) == 0 {
		purpose = header.Peek("Purpose")
	}
	c := events.Click{
		TimeUnixMicro:  now.UnixMicro(),
		WorkspaceID:    e.WorkspaceID,
		LinkID:         e.LinkID,
		LinkVersion:    e.Version,
		Host:           e.Host,
		SlugKey:        e.Slug,
		Status:         rc.Response.StatusCode(),
		EdgeRegion:     h.region,
		Edge:           h.edge,
		UserAgent:      cut(header.UserAgent(), events.MaxUserAgent),
		Referrer:       cut(header.Referer(), events.MaxReferrer),
		AcceptLanguage: cut(header.Peek(fasthttp.HeaderAcceptLanguage), events.MaxAcceptLanguage),
		Query:          cut(query, events.MaxQuery),
		Purpose:        cut(purpose, events.MaxPurpose),
	}
	var room [16]byte
	switch visitor := h.visitor(rc); {
	case visitor.Is4():
		four := visitor.As4()
		c.Address = append(room[:0], four[:]...)
	case visitor.Is6():
		room = visitor.As16()
		c.Address = room[:]
	}
	h.clicks.Record(&c)
}

func cut(b []byte, limit int) []byte { return b[:min(len(b), limit)] }
