package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// readyTimeout bounds each check of one /readyz request.
const readyTimeout = 2 * time.Second

// Check is one thing that a process needs to do its job.
type Check struct {
	Name  string
	Ready func(ctx context.Context) error
	// Without says that the process does its job without it, though less of it: /readyz
	// says what is missing and stays ready.
	Without bool
}

// Reachable asks the http or https address of another service for a page that needs
// nothing else, and takes any answer: one that is itself unready still answers better
// than its caller could. One whose port is open and which says nothing is not reachable.
func Reachable(name, address string) Check {
	// A connection of its own each time: one that is kept may be the last that works.
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return Check{Name: name, Ready: func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
		if err != nil {
			return fmt.Errorf("reading its address: %w", err)
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}}
}

// Admin is the handler of the admin listener: /metrics, /healthz, /readyz and
// /debug/pprof/. It belongs on a private address.
type Admin struct {
	mux      *http.ServeMux
	checks   []Check
	stopping atomic.Bool
}

// NewAdmin returns a handler over the registry and the checks.
func NewAdmin(registry *prometheus.Registry, checks ...Check) *Admin {
	a := &Admin{mux: http.NewServeMux(), checks: checks}
	a.mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	a.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	a.mux.HandleFunc("GET /readyz", a.ready)
	a.mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	a.mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	a.mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	a.mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	a.mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return a
}

// ServeHTTP implements http.Handler.
func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// Stopping is a task for the bottom of a runner's list: it does nothing until
// the process is told to stop, then makes /readyz say so before anything else
// stops, so that a load balancer looks elsewhere.
func (a *Admin) Stopping(ctx context.Context) error {
	<-ctx.Done()
	a.stopping.Store(true)
	return nil
}

// missing asks all checks at once, each with the whole time, so that one that
// hangs is not blamed on the others. The order is that of the checks.
func (a *Admin) missing(ctx context.Context) (needed, wanted []string) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	answers := make([]string, len(a.checks))
	var wg sync.WaitGroup
	for i, c := range a.checks {
		wg.Go(func() {
			if err := c.Ready(ctx); err != nil {
				answers[i] = fmt.Sprintf("%s: %v", c.Name, err)
			}
		})
	}
	wg.Wait()
	for i, answer := range answers {
		switch {
		case answer == "":
		case a.checks[i].Without:
			wanted = append(wanted, answer)
		default:
			needed = append(needed, answer)
		}
	}
	return needed, wanted
}

func (a *Admin) ready(w http.ResponseWriter, r *http.Request) {
	missing, wanted := a.missing(r.Context())
	if a.stopping.Load() {
		missing = append([]string{"stopping"}, missing...)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(missing) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(strings.Join(append(missing, wanted...), "\n") + "\n"))
		return
	}
	_, _ = w.Write([]byte(strings.Join(append([]string{"ready"}, wanted...), "\n") + "\n"))
}
