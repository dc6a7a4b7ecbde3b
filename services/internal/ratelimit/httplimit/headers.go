package httplimit

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
)

// setHeaders says what a decision left. RateLimit and RateLimit-Policy are structured
// fields of draft-ietf-httpapi-ratelimit-headers; the window of a bucket is the time in
// which an empty one fills.
func setHeaders(set func(name, value string), name ratelimit.Name, q ratelimit.Quota, d ratelimit.Decision) {
	reset := wholeSeconds(d.Reset)
	set("X-RateLimit-Limit", strconv.FormatInt(d.Limit, 10))
	set("X-RateLimit-Remaining", strconv.FormatInt(d.Remaining, 10))
	set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
	set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", string(name), d.Remaining, reset))
	set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", string(name), d.Limit, max(wholeSeconds(q.FillTime()), 1)))
	if !d.Allowed {
		set("Retry-After", strconv.FormatInt(max(wholeSeconds(d.RetryAfter), 1), 10))
	}
}

// Answer sets the headers of a decision about a request outside huma, and returns the
// problem that refuses it, or nil.
func Answer(w http.ResponseWriter, name ratelimit.Name, q ratelimit.Quota, d ratelimit.Decision) *httpapi.Problem {
	setHeaders(w.Header().Set, name, q, d)
	if d.Allowed {
		return nil
	}
	return tooMany(d)
}

// wholeSeconds rounds up: whoever waits that long has waited long enough.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func seconds(d time.Duration) string {
	if n := max(wholeSeconds(d), 1); n != 1 {
		return strconv.FormatInt(n, 10) + " seconds"
	}
	return "a second"
}
