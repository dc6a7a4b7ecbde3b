package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
	"github.com/linkstream/linkstream/services/webhooks/internal/sealed"
)

type settings struct {
	LogLevel         string         `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	HTTPAddr         string         `env:"HTTP_ADDR" envDefault:"127.0.0.1:8050" help:"listener of the API"`
	AdminAddr        string         `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9050" help:"listener of metrics, health and profiles; keep it private"`
	DrainTimeout     time.Duration  `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"time for what is under way when the process is stopped"`
	PostgresURL      string         `env:"POSTGRES_URL,required" help:"postgres://user:password@host:port/database"`
	PostgresMaxConns int32          `env:"POSTGRES_MAX_CONNS" envDefault:"20" help:"connections to Postgres at most"`
	KafkaBrokers     []string       `env:"KAFKA_BROKERS,required" help:"host:port, comma separated"`
	TopicPrefix      string         `env:"TOPIC_PREFIX" help:"before the names of all topics"`
	InstanceName     string         `env:"INSTANCE_NAME" help:"by which the groups know this process across restarts; from host and admin listener when left out"`
	AccessURL        string         `env:"ACCESS_URL,required" help:"the links service's RPC listener, for instance http://127.0.0.1:8011"`
	SecretKey        string         `env:"WEBHOOKS_KEY,required" help:"seals the endpoints' secrets in the database: 32 characters at least, from openssl rand -hex 32"`
	SecretKeysOld    []string       `env:"WEBHOOKS_KEY_PREVIOUS" help:"keys under which older secrets are sealed, comma separated"`
	AllowCIDRs       []netip.Prefix `env:"WEBHOOKS_ALLOW_CIDRS" help:"networks that endpoints may be in although they are not public, and then with http too; for local stacks and tests"`
	RetryFirst       time.Duration  `env:"WEBHOOKS_RETRY_FIRST" envDefault:"5s" help:"pause after the first attempt that fails; each further one is three times as long, up to 6h"`
	Retention        time.Duration  `env:"WEBHOOKS_RETENTION" envDefault:"720h" help:"how long deliveries that are done stay in the log"`
	MaxQueue         int            `env:"WEBHOOKS_MAX_QUEUE" envDefault:"100000" help:"an endpoint for which more deliveries wait is disabled"`
	MinSummary       time.Duration  `env:"WEBHOOKS_MIN_SUMMARY_INTERVAL" envDefault:"1m" help:"shortest interval of summaries that an endpoint may ask for"`
	ShortURLScheme   string         `env:"SHORT_URL_SCHEME" envDefault:"https" help:"http or https, as links has it"`
	ShortURLPort     int            `env:"SHORT_URL_PORT" envDefault:"0" help:"port in short URLs, as links has it; 0 for none"`
	httplimit.Settings
}

// Validate implements config.Validator.
func (s settings) Validate() error {
	errs := []error{
		config.CheckLogLevel(s.LogLevel),
		config.CheckAddr("HTTP_ADDR", s.HTTPAddr),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
		config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers),
		config.CheckURL("ACCESS_URL", s.AccessURL),
		config.CheckPositive("WEBHOOKS_RETRY_FIRST", s.RetryFirst),
		config.CheckPositive("WEBHOOKS_RETENTION", s.Retention),
		config.CheckOneOf("SHORT_URL_SCHEME", s.ShortURLScheme, "http", "https"),
		s.CheckRateLimits(),
	}
	if s.PostgresURL != "" {
		if err := postgres.CheckURL(s.PostgresURL); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_POSTGRES_URL: %w", err))
		}
	}
	if s.PostgresMaxConns < 2 {
		errs = append(errs, errors.New("LINKSTREAM_POSTGRES_MAX_CONNS must be 2 at least"))
	}
	if s.SecretKey != "" {
		if _, err := sealed.New(s.SecretKey, s.SecretKeysOld...); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_WEBHOOKS_KEY: %w", err))
		}
	}
	if s.MaxQueue < 1 {
		errs = append(errs, errors.New("LINKSTREAM_WEBHOOKS_MAX_QUEUE must be more than 0"))
	}
	if s.MinSummary < time.Second || s.MinSummary > time.Hour {
		errs = append(errs, errors.New("LINKSTREAM_WEBHOOKS_MIN_SUMMARY_INTERVAL must be 1s to 1h"))
	}
	if s.ShortURLPort < 0 || s.ShortURLPort > 65535 {
		errs = append(errs, errors.New("LINKSTREAM_SHORT_URL_PORT must be 0 to 65535"))
	}
	return errors.Join(errs...)
}
