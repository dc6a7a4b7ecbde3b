package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/dashboard/internal/apidoc"
	"github.com/linkstream/linkstream/services/dashboard/internal/gateway"
	"github.com/linkstream/linkstream/services/dashboard/internal/session"
	"github.com/linkstream/linkstream/services/dashboard/internal/webapp"
	"github.com/linkstream/linkstream/services/dashboard/web"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/httpserver"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
	"github.com/linkstream/linkstream/services/internal/runner"
	"github.com/linkstream/linkstream/services/internal/telemetry"
)

const about = `dashboard serves the web app and forwards the public API.

  dashboard                        serve
  dashboard openapi-merge FILE...  print the API description made of the services' own`

func serve(ctx context.Context, environ, args []string, stdout io.Writer) error {
	s, err := config.Parse[settings](about, environ, args, stdout)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stdout, s.LogLevel, "dashboard")
	if err != nil {
		return err
	}
	registry := telemetry.NewRegistry()
	limiter, closeLimiter, err := httplimit.OpenLimiter(s.LimitRedisURL, registry, log)
	if err != nil {
		return err
	}
	defer closeLimiter()
	handler, err := newHandler(ctx, s, limiter, registry, log)
	if err != nil {
		return err
	}

	public, err := httpserver.Listen(ctx, s.HTTPAddr)
	if err != nil {
		return err
	}
	private, err := httpserver.Listen(ctx, s.AdminAddr)
	if err != nil {
		return err
	}
	admin := httpserver.NewAdmin(registry,
		httpserver.Reachable("links", s.LinksURL),
		httpserver.Reachable("analytics", s.AnalyticsURL),
		httpserver.Reachable("webhooks", s.WebhooksURL),
		httpserver.Check{Name: "access", Ready: access.NewClient(s.AccessURL).Ready},
	)
	log.InfoContext(ctx, "serving", "addr", public.Addr().String(), "admin_addr", private.Addr().String())
	return runner.Run(ctx,
		runner.Task{Name: "admin", Run: httpserver.New(private, admin, s.DrainTimeout, log).Run},
		runner.Task{Name: "http", Run: httpserver.New(public, handler, s.DrainTimeout, log).Run},
		runner.Task{Name: "readiness", Run: admin.Stopping},
	)
}

// newHandler is everything behind the public address.
func newHandler(ctx context.Context, s settings, limiter *ratelimit.Limiter, registry *prometheus.Registry, log *slog.Logger) (http.Handler, error) {
	links, err := url.Parse(s.LinksURL)
	if err != nil {
		return nil, fmt.Errorf("reading the address of links: %w", err)
	}
	analytics, err := url.Parse(s.AnalyticsURL)
	if err != nil {
		return nil, fmt.Errorf("reading the address of analytics: %w", err)
	}
	webhooks, err := url.Parse(s.WebhooksURL)
	if err != nil {
		return nil, fmt.Errorf("reading the address of webhooks: %w", err)
	}
	dist, err := web.Dist()
	if err != nil {
		return nil, fmt.Errorf("opening the web app: %w", err)
	}
	app, err := webapp.New(dist)
	if err != nil {
		return nil, err
	}
	if !app.Built() {
		log.WarnContext(ctx, "the web app is not built: run make web, then build this program again")
	}
	docs := apidoc.NewSource(log, links.JoinPath("openapi.json").String(), analytics.JoinPath("openapi.json").String(), webhooks.JoinPath("openapi.json").String())
	_, reference := fs.Stat(dist, "docs/redoc.js")
	page, err := apidoc.NewPage(docs, reference == nil)
	if err != nil {
		return nil, err
	}
	sessions := session.New(access.NewClient(s.AccessURL), limiter, session.Settings{Secure: s.CookieSecure, TrustedProxies: s.TrustedProxies}, log)
	toLinks := sessions.Bearer(gateway.New("links", links, log))
	toAnalytics := sessions.Bearer(gateway.New("analytics", analytics, log))
	toWebhooks := sessions.Bearer(gateway.New("webhooks", webhooks, log))

	mux := http.NewServeMux()
	mux.Handle("/v1/imports", sessions.Bearer(gateway.New("links", links, log).Uploads()))
	mux.Handle("/v1/imports/", toLinks)
	for _, thing := range []string{"links", "domains", "keys", "users", "tags", "utm-templates"} {
		mux.Handle("/v1/"+thing, toLinks)
		mux.Handle("/v1/"+thing+"/", toLinks)
	}
	mux.Handle("/v1/webhooks", toWebhooks)
	mux.Handle("/v1/webhooks/", toWebhooks)
	mux.Handle("/v1/events", toWebhooks)
	mux.Handle("/v1/analytics/", toAnalytics)
	mux.HandleFunc("/v1/analytics", unknown) // or the mux would redirect to the line above
	mux.HandleFunc("/v1/", unknown)
	mux.Handle("/session", sessions)
	mux.HandleFunc("/session/workspace", sessions.Switch)
	mux.HandleFunc("/session/join", sessions.Join)
	mux.HandleFunc("/session/password", sessions.Password)
	mux.HandleFunc("GET /openapi.json", docs.ServeJSON)
	mux.Handle("GET /docs", page)
	mux.HandleFunc("GET /docs/page.css", page.ServeStyle)
	mux.HandleFunc("GET /docs/page.js", page.ServeScript)
	mux.Handle("/", app)
	return webapp.Secure(httpapi.Middleware(mux, registry, log)), nil
}

func unknown(w http.ResponseWriter, r *http.Request) {
	httpapi.Write(r.Context(), w, httpapi.NewProblem(http.StatusNotFound, "not_found", "The API has nothing at this address."))
}
