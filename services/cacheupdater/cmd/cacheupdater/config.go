package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/trace"
)

type settings struct {
	Region       string        `env:"REGION,required" help:"the region whose Redis this process keeps up to date"`
	RedisURL     string        `env:"REDIS_URL,required" help:"the region's Redis, redis://[user:password@]host:port[/db], or a Redis Cluster, redis://[user:password@]host:port?cluster=true[&addr=host:port...]; its replicas are never read here"`
	KafkaBrokers []string      `env:"KAFKA_BROKERS,required" help:"Kafka brokers, host:port, comma-separated; waited for, not ready, while they are away"`
	TopicPrefix  string        `env:"TOPIC_PREFIX" help:"prefix of all topics, on a shared broker"`
	InstanceName string        `env:"INSTANCE_NAME" help:"unique among the region's updaters, the same after a restart (default from host name and admin address)"`
	AdminAddr    string        `env:"ADMIN_ADDR" envDefault:"127.0.0.1:9030" help:"where /metrics, /healthz and /readyz are served"`
	LogLevel     string        `env:"LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT" envDefault:"10s" help:"how long a stop may take"`
	trace.Collector
}

// Validate implements config.Validator.
func (s settings) Validate() error {
	errs := []error{
		config.CheckAddrs("KAFKA_BROKERS", s.KafkaBrokers),
		config.CheckAddr("ADMIN_ADDR", s.AdminAddr),
		config.CheckLogLevel(s.LogLevel),
		config.CheckPositive("DRAIN_TIMEOUT", s.DrainTimeout),
		s.CheckTraces(),
	}
	if s.RedisURL != "" {
		if err := redisconn.CheckURL(s.RedisURL); err != nil {
			errs = append(errs, fmt.Errorf("%sREDIS_URL: %w", config.Prefix, err))
		}
	}
	return errors.Join(errs...)
}
