package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

type requestIDKey struct{}

// RequestID is the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// maxRequestID bounds what a caller's own X-Request-Id may hold, in bytes.
const maxRequestID = 128

// Middleware wraps a service's whole public handler: it gives every request an
// id (the caller's own, if it sent a sensible one), turns a panic into a 500 with
// one log line (or breaks off an answer that has begun), answers unknown routes with
// a Problem, and measures durations.
func Middleware(next *http.ServeMux, registry *prometheus.Registry, log *slog.Logger) http.Handler {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "http_request_duration_seconds",
		Help:    "How long requests of the public API took, by route and status.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route", "status"})
	registry.MustRegister(durations)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := r.Header.Get("X-Request-Id")
		if !sensible(id) {
			id = uuid.Must(uuid.NewV7()).String()
		}
		ctx := context.WithValue(r.Context(), requestIDKey{}, id)
		w.Header().Set("X-Request-Id", id)
		rec := &recorder{ResponseWriter: w}
		_, route := next.Handler(r)
		defer func() {
			p := recover()
			aborted := p == http.ErrAbortHandler //nolint:errorlint // net/http compares it so
			if p != nil && !aborted {
				log.ErrorContext(ctx, "request panicked", "request_id", id, "route", route, "panic", p, "stack", string(debug.Stack()))
				if rec.status == 0 {
					Write(ctx, rec, NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id."))
				} else {
					aborted = true
				}
			}
			durations.WithLabelValues(route, strconv.Itoa(rec.status)).Observe(time.Since(start).Seconds())
			if aborted {
				// Returning would end the answer as if it were whole. This breaks the
				// connection instead, and the server says nothing more about it.
				panic(http.ErrAbortHandler)
			}
		}()
		if route == "" {
			unknownRoute(ctx, rec, next, r)
			return
		}
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// unknownRoute tells a wrong method (405 with Allow) from a wrong path (404): the
// mux knows, but answers in plain text.
func unknownRoute(ctx context.Context, w http.ResponseWriter, mux *http.ServeMux, r *http.Request) {
	probe := &discarded{header: http.Header{}}
	mux.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", probe.header.Get("Allow"))
		Write(ctx, w, NewProblem(http.StatusMethodNotAllowed, "method_not_allowed", "This address takes "+probe.header.Get("Allow")+"."))
		return
	}
	Write(ctx, w, NewProblem(http.StatusNotFound, "not_found", "There is nothing at this address."))
}

func sensible(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// recorder remembers the status for the metrics.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach Flush and deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// discarded takes the mux's own answer to an unknown route.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d *discarded) WriteHeader(status int)      { d.status = status }
