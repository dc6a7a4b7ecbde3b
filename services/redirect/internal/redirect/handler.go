package redirect

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/place"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	"github.com/linkstream/linkstream/services/redirect/internal/limit"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
	"github.com/linkstream/linkstream/services/redirect/internal/page"
)

const (
	// maxHost and maxSlug are the longest that can be: a DNS name, and 128
	// characters of UTF-8. Anything longer is no address and is not looked up, so
	// nobody can fill caches with long keys.
	maxHost = 253
	maxSlug = 128 * 4

	// keyRoom holds any key that is looked up, and most that are not.
	keyRoom = 1024

	// Lines of answers that must be asked for again, and of permanent redirects, which
	// browsers would otherwise keep for ever.
	temporary    = "Cache-Control: private, no-store\r\n"
	permanent    = "Cache-Control: private, max-age=90\r\n"
	permanentFor = 90 * time.Second

	noIndex   = "X-Robots-Tag: noindex\r\n"
	retrySoon = "Retry-After: 1\r\n"

	// MinMonitorName is the shortest part of an agent that can stand for a monitor.
	MinMonitorName = 3
)

// links is asked about hosts that the table of domains lacks.
type links interface {
	// Current makes sure that the table is no older than the call, or says false.
	Current(ctx context.Context) bool
}

// Settings of a Handler.
type Settings struct {
	DefaultDomain  string // in normal form
	LocalNames     []string
	TrustedProxies []netip.Prefix
	MonitorAgents  []string // parts of the agents of uptime monitors, in any case
	Limit          Limit
	ServerTiming   bool
	ShortURLs      address.URLs // as QR codes have them
	Region, Edge   string

	// Eyes tell visitors apart, by agents and places: nil for those without places.
	Eyes *option.Eyes
	// Counter counts the redirects of links with a limit. Without it they have none.
	Counter *limit.Counter
	// Passwords compares passwords, and Unlocking says what follows.
	Passwords passwords
	Unlocking Unlocking

	// Tracer follows a share of the visits, and those of which a trusted proxy says that
	// they are followed. It may be nil.
	Tracer *trace.Tracer
	Traced float64
}

// Handler answers requests. The look-up and the clicks are concrete types, because
// behind an interface the key's buffer and the click would be allocated for every
// request.
type Handler struct {
	lookup   *lookup.Lookup
	clicks   *clicks.Log
	domains  *domains.Table
	links    links
	domain   []byte
	local    map[string]struct{}
	trusted  []netip.Prefix
	monitors *monitors
	limiter  limiter
	timing   [lookup.Sources]string // a line, empty when switched off
	region   string
	edge     string
	pages    page.Fixed
	urls     address.URLs
	drawing  chan struct{} // holds a token while a QR code is drawn
	metrics  metrics

	eyes      *option.Eyes
	counter   *limit.Counter
	passwords passwords
	guesses   guesses
	unlocking Unlocking

	tracer *trace.Tracer // may be nil
	share  float64
}

// New returns a handler.
func New(found *lookup.Lookup, log *clicks.Log, table *domains.Table, source links, settings Settings, registry prometheus.Registerer) *Handler {
	h := &Handler{
		lookup:   found,
		clicks:   log,
		domains:  table,
		links:    source,
		domain:   []byte(settings.DefaultDomain),
		local:    map[string]struct{}{},
		trusted:  settings.TrustedProxies,
		monitors: newMonitors(settings.MonitorAgents),
		limiter:  newLimiter(settings.Limit, registry),
		region:   settings.Region,
		edge:     settings.Edge,
		pages:    page.NewFixed(),
		urls:     settings.ShortURLs,
		drawing:  make(chan struct{}, 1),
		metrics:  newMetrics(registry),

		eyes:      settings.Eyes,
		counter:   settings.Counter,
		passwords: settings.Passwords,
		unlocking: settings.Unlocking,

		tracer: settings.Tracer,
		share:  settings.Traced,
	}
	if h.eyes == nil {
		h.eyes = option.NewEyes(&place.Files{}, found.Zones())
	}
	if h.counter == nil {
		h.counter = limit.New(nil, registry)
	}
	if h.unlocking.Limiter == nil {
		h.unlocking.Limiter = ratelimit.New(nil, ratelimit.Timeout, registry, slog.New(slog.DiscardHandler))
	}
	h.guesses = newGuesses(h.unlocking.Limiter)
	for _, name := range settings.LocalNames {
		h.local[address.Host(name)] = struct{}{}
	}
	if settings.ServerTiming {
		for source := range lookup.Sources {
			h.timing[source] = "Server-Timing: cache;desc=" + lookup.Source(source).String() + "\r\n"
		}
	}
	return h
}
