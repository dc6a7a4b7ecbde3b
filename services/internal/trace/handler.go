package trace

import (
	"net/http"
	"strconv"
)

// Handler begins a trace for its share of the requests that change something, and goes on
// with the caller's trace if the caller names one. Of the caller it keeps the id alone; route
// says what a request is for, without what only that one has.
func (t *Tracer) Handler(next http.Handler, route func(*http.Request) string) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		default:
			next.ServeHTTP(w, r)
			return
		}
		parent, _ := Parse(r.Header.Get(Header)) // none, or none that can be read
		span := t.Begin(parent, route(r), Server)
		if span == nil {
			next.ServeHTTP(w, r)
			return
		}
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r.WithContext(Into(r.Context(), span.Context())))
		span.Set("http.response.status_code", strconv.Itoa(seen.status))
		span.End(seen.status >= http.StatusInternalServerError)
	})
}

// statusWriter notes the status. Unwrap keeps what the writer beneath can do beyond writing.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
