package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

const about = `links serves the links API, publishes every change, and answers edges and services.

Commands: links (without a command it serves), links bootstrap (make the first workspace), links import and links export (files, over the API), links openapi (print the API's document).`

type settings struct {
	LogLevel         string        `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	HTTPAddr         string        `env:"HTTP_ADDR" envDefault:"127.0.0.1:8010" help:"where the public API listens"`
	RPCAddr          string        `env:"RPC_ADDR" envDefault:"127.0.0.1:8011" help:"where edges and services ask; keep it private"`
	AdminAddr        string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9010" help:"where metrics and health are served; keep it private"`
	DrainTimeout     time.Duration `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"how long each part may finish what it has begun"`
	PostgresURL      string        `env:"POSTGRES_URL,required" help:"postgres://user:password@host:port/database"`
	PostgresMaxConns int32         `env:"POSTGRES_MAX_CONNS" envDefault:"16" help:"connections at most, beside the relay's one"`
	KafkaBrokers     []string      `env:"KAFKA_BROKERS,required" help:"host:port, comma separated"`
	TopicPrefix      string        `env:"TOPIC_PREFIX" help:"put before every topic's name"`
	DefaultDomain    string        `env:"DEFAULT_DOMAIN,required" help:"host of links that name no domain"`
	ShortURLScheme   string        `env:"SHORT_URL_SCHEME" envDefault:"https" help:"http or https, in short_url"`
	ShortURLPort     int           `env:"SHORT_URL_PORT" envDefault:"0" help:"port shown in short_url; 0 shows none"`
	TombstoneGrace   time.Duration `env:"TOMBSTONE_GRACE" envDefault:"168h" help:"how long a deleted link stays in the changelog"`
	TokenPepper      string        `env:"TOKEN_PEPPER,required" help:"secret of 32 characters at least, under which API keys and sessions are hashed"`
	TokenPeppersOld  []string      `env:"TOKEN_PEPPER_PREVIOUS" help:"secrets that were TOKEN_PEPPER before, comma separated; keys move to the new one when they are used"`
	Schemes          []string      `env:"DESTINATION_SCHEMES" help:"schemes of destinations beyond http and https, comma separated"`
	LocalNames       []string      `env:"LOCAL_NAMES" help:"hosts that mean the default domain at edges, as their own setting of this name, comma separated"`
	LocalPorts       []int         `env:"LOCAL_PORTS" help:"ports of edges that are asked by those names, comma separated; targets that lead there are refused"`
	httplimit.Settings
	trace.Collector
}

// Validate implements config.Validator.
func (s settings) Validate() error {
	var errs []error
	wrong := func(name, text string) { errs = append(errs, fmt.Errorf("%s%s %s", config.Prefix, name, text)) }
	errs = append(errs,
		config.CheckLogLevel(s.LogLevel),
		config.CheckAddr("HTTP_ADDR", s.HTTPAddr),
		config.CheckAddr("RPC_ADDR", s.RPCAddr),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckOneOf("SHORT_URL_SCHEME", s.ShortURLScheme, "http", "https"),
		config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
		s.CheckRateLimits(),
		s.CheckTraces(),
	)
	if s.TombstoneGrace < 0 {
		wrong("TOMBSTONE_GRACE", "must not be negative")
	}
	if s.PostgresURL != "" && postgres.CheckURL(s.PostgresURL) != nil {
		wrong("POSTGRES_URL", "must be a URL, for instance postgres://user:password@127.0.0.1:5432/linkstream")
	}
	if s.TokenPepper != "" {
		if _, err := keyring.New(s.TokenPepper, s.TokenPeppersOld...); err != nil {
			wrong("TOKEN_PEPPER", "or "+config.Prefix+"TOKEN_PEPPER_PREVIOUS is too short: "+err.Error())
		}
	}
	if s.PostgresMaxConns < 2 {
		wrong("POSTGRES_MAX_CONNS", "must be at least 2")
	}
	if s.DefaultDomain != "" {
		if _, ok := link.ParseHost(s.DefaultDomain); !ok {
			wrong("DEFAULT_DOMAIN", "must be a host name, for instance go.example.com")
		}
	}
	if s.ShortURLPort < 0 || s.ShortURLPort > 65535 {
		wrong("SHORT_URL_PORT", "must be a port, or 0 for none")
	}
	for _, scheme := range s.Schemes {
		if !link.CheckExtraScheme(scheme) {
			wrong("DESTINATION_SCHEMES", "must hold lower-case schemes, none of which runs code in a browser or reads files")
			break
		}
	}
	return errors.Join(errs...)
}
