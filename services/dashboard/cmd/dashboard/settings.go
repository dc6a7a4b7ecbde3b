package main

import (
	"errors"
	"net/netip"
	"time"

	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
)

// settings are what the environment says.
type settings struct {
	LogLevel       string         `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	AdminAddr      string         `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9000" help:"address of /metrics, /healthz, /readyz; keep it private"`
	DrainTimeout   time.Duration  `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"time to finish open requests when told to stop"`
	HTTPAddr       string         `env:"HTTP_ADDR" envDefault:"127.0.0.1:8000" help:"address of the web app and the public API"`
	LinksURL       string         `env:"LINKS_URL,required,notEmpty" help:"HTTP address of the links service, for instance http://127.0.0.1:8010"`
	AnalyticsURL   string         `env:"ANALYTICS_URL,required,notEmpty" help:"HTTP address of the analytics service, for instance http://127.0.0.1:8020"`
	WebhooksURL    string         `env:"WEBHOOKS_URL,required,notEmpty" help:"HTTP address of the webhooks service, for instance http://127.0.0.1:8050"`
	AccessURL      string         `env:"ACCESS_URL,required,notEmpty" help:"RPC address of the links service, for instance http://127.0.0.1:8011"`
	CookieSecure   bool           `env:"COOKIE_SECURE" envDefault:"true" help:"false only where the dashboard is served over plain HTTP"`
	LimitRedisURL  string         `env:"RATELIMIT_REDIS_URL" help:"the one Redis (or cluster) that counts failed logins for the whole fleet; without it each process counts for itself"`
	TrustedProxies []netip.Prefix `env:"TRUSTED_PROXIES" help:"CIDR list of proxies whose X-Forwarded-For says whose login it is"`
}

// Validate checks what types cannot.
func (s settings) Validate() error {
	return errors.Join(
		httplimit.CheckRedisURL(s.LimitRedisURL),
		config.CheckLogLevel(s.LogLevel),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckAddr("HTTP_ADDR", s.HTTPAddr),
		config.CheckURL("LINKS_URL", s.LinksURL),
		config.CheckURL("ANALYTICS_URL", s.AnalyticsURL),
		config.CheckURL("WEBHOOKS_URL", s.WebhooksURL),
		config.CheckURL("ACCESS_URL", s.AccessURL),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
	)
}
