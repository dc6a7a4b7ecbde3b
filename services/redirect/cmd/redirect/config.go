package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/redisconn"
)

type settings struct {
	Region              string         `env:"REGION,required" help:"the region this edge is in"`
	EdgeName            string         `env:"EDGE_NAME,required" help:"this edge's name, in clicks and logs"`
	HTTPAddr            string         `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080" help:"where visitors are answered"`
	RedisURL            string         `env:"REDIS_URL,required" help:"the region's Redis, redis://[user:password@]host:port[/db]"`
	OriginURL           string         `env:"ORIGIN_URL,required" help:"the RPC listener of links, for instance http://127.0.0.1:8011"`
	DefaultDomain       string         `env:"DEFAULT_DOMAIN,required" help:"the domain that local names stand for"`
	LocalNames          []string       `env:"LOCAL_NAMES" envDefault:"localhost,127.0.0.1,::1" help:"hosts that mean the default domain, comma-separated"`
	TrustedProxies      []netip.Prefix `env:"TRUSTED_PROXIES" help:"whose X-Forwarded-For is believed, CIDR, comma-separated"`
	ServerTiming        bool           `env:"SERVER_TIMING" envDefault:"false" help:"say in Server-Timing which cache answered"`
	L1MaxBytes          int64          `env:"L1_MAX_BYTES" envDefault:"268435456" help:"how much the in-process cache may hold"`
	L1TTL               time.Duration  `env:"L1_TTL" envDefault:"60s" help:"how long the in-process cache trusts an entry"`
	ClickBufferMaxBytes int            `env:"CLICK_BUFFER_MAX_BYTES" envDefault:"67108864" help:"how much the clicks that wait for the broker may take"`
	KafkaBrokers        []string       `env:"KAFKA_BROKERS,required" help:"Kafka brokers, host:port, comma-separated"`
	TopicPrefix         string         `env:"TOPIC_PREFIX" help:"prefix of all topics, on a shared broker"`
	AdminAddr           string         `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9080" help:"where /metrics, /healthz and /readyz are served"`
	LogLevel            string         `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	DrainTimeout        time.Duration  `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"how long each phase of a stop may take"`
}

const (
	// minL1 is below what makes a cache; it is more likely a wrong unit.
	minL1 = 1 << 20
	// minClickBuffer is one full batch.
	minClickBuffer = 1 << 20
)

// Validate implements config.Validator.
func (s settings) Validate() error {
	var errs []error
	if s.RedisURL != "" {
		if err := redisconn.CheckURL(s.RedisURL); err != nil {
			errs = append(errs, fmt.Errorf("LINKSTREAM_REDIS_URL: %w", err))
		}
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
	if s.ClickBufferMaxBytes < minClickBuffer {
		errs = append(errs, fmt.Errorf("LINKSTREAM_CLICK_BUFFER_MAX_BYTES must be at least %d", minClickBuffer))
	}
	return errors.Join(append(errs,
		config.CheckURL("ORIGIN_URL", s.OriginURL),
		config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers),
		config.CheckAddr("HTTP_ADDR", s.HTTPAddr),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckLogLevel(s.LogLevel),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
	)...)
}
