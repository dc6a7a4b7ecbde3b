package trace

import (
	"net/http"
	"strconv"
)

// Carrying is a transport that tells who is called where in a trace the caller is. What
// is in none it leaves alone.
func Carrying(next http.RoundTripper) http.RoundTripper { return carrying{next} }

type carrying struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c carrying) RoundTrip(r *http.Request) (*http.Response, error) {
	if at := From(r.Context()); at.Sampled {
		r = r.Clone(r.Context()) // which is not ours to change
		r.Header.Set(Header, at.String())
	}
	return c.next.RoundTrip(r)
}

// CloseIdleConnections is for http.Client.
func (c carrying) CloseIdleConnections() {
	if closer, ok := c.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// Followed goes on with the traces of callers who are trusted, and begins none.
func (t *Tracer) Followed(next http.Handler, route func(*http.Request) string) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent, _ := Parse(r.Header.Get(Header)) // none, or none that can be read
		if !parent.Sampled {
			next.ServeHTTP(w, r)
			return
		}
		span := t.Follow(parent, route(r), Server)
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r.WithContext(Into(r.Context(), span.Context())))
		span.Set("http.response.status_code", strconv.Itoa(seen.status))
		span.End(seen.status >= http.StatusInternalServerError)
	})
}
