package redirect

import (
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/throttle"
)

// Limit is how many requests a second one address may make; a Rate of 0 is no limit.
type Limit struct {
	Rate, Burst int
	Exempt      []netip.Prefix // networks that are not counted
}

// limiter holds addresses back. Without a limit it lets everybody in and looks at nobody.
type limiter struct {
	table             *throttle.Table // nil for no limit
	exempt            []netip.Prefix
	allowed, rejected prometheus.Counter
}

func newLimiter(limit Limit, registry prometheus.Registerer) limiter {
	allowed, rejected := ratelimit.Decisions(registry)
	l := limiter{exempt: limit.Exempt, allowed: allowed.WithLabelValues("edge"), rejected: rejected.WithLabelValues("edge")}
	if limit.Rate > 0 {
		l.table = throttle.New(limit.Rate, limit.Burst, time.Now())
	}
	return l
}

// admits says whether a request may be answered, or has written the refusal.
func (w *worker) admits(req *http1.Request, res *http1.Response) bool {
	l := &w.limiter
	if l.table == nil {
		return true
	}
	addr := w.visitor(req)
	if !addr.IsValid() || within(l.exempt, addr) { // without an address it came by no network
		return true
	}
	wait, ok := l.table.Take(addr, req.Time)
	if ok {
		l.allowed.Inc()
		return true
	}
	l.rejected.Inc()
	seconds := int64((wait + time.Second - 1) / time.Second)
	res.Status(http.StatusTooManyRequests)
	res.Header("Retry-After", strconv.FormatInt(seconds, 10))
	res.Lines(temporary)
	show(res, w.pages.TooMany)
	return false
}
