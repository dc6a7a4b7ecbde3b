package httplimit

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/redisconn"
)

// Settings are what the services that have the public API read from the environment;
// embed them in a service's own. Services that share a Redis should have the same: a
// key's bucket is one for all of them.
//
// The default capacity is room for a bulk call of 1,000 links and a second like it.
type Settings struct {
	RateLimitRedisURL   string         `env:"RATELIMIT_REDIS_URL" help:"the one Redis (or cluster) that counts for the whole fleet, as REDIS_URL elsewhere; without it each process counts for itself"`
	RateCapacity        int64          `env:"RATE_CAPACITY" envDefault:"2000" help:"calls (rows, in bulk) that an API key may make at once, unless it has a limit of its own"`
	RateRefill          float64        `env:"RATE_REFILL" envDefault:"200" help:"how many of them come back each second; 0.1 is one in ten seconds"`
	RateAddressCapacity int64          `env:"RATE_ADDRESS_CAPACITY" envDefault:"100" help:"calls without a valid API key that an address may make at once"`
	RateAddressRefill   float64        `env:"RATE_ADDRESS_REFILL" envDefault:"5" help:"how many of them come back each second"`
	TrustedProxies      []netip.Prefix `env:"TRUSTED_PROXIES" help:"CIDR list of proxies whose X-Forwarded-For says whose call it is"`
}

// CheckRateLimits is for use in Validate.
func (s Settings) CheckRateLimits() error {
	errs := []error{CheckRedisURL(s.RateLimitRedisURL)}
	check := func(name string, capacity int64, refill float64) {
		if _, err := ratelimit.PerSecond(capacity, refill); err != nil {
			errs = append(errs, fmt.Errorf("%s%s_CAPACITY and %s%s_REFILL must be more than 0, and small enough to be counted exactly", config.Prefix, name, config.Prefix, name))
		}
	}
	check("RATE", s.RateCapacity, s.RateRefill)
	check("RATE_ADDRESS", s.RateAddressCapacity, s.RateAddressRefill)
	return errors.Join(errs...)
}

// CheckRedisURL says whether LINKSTREAM_RATELIMIT_REDIS_URL is one that OpenLimiter
// takes, for use in Validate.
func CheckRedisURL(url string) error {
	if url == "" {
		return nil
	}
	if err := redisconn.CheckURL(url); err != nil {
		return fmt.Errorf("%sRATELIMIT_REDIS_URL: %w", config.Prefix, err)
	}
	return nil
}

// OpenLimiter returns a limiter and what closes it. It does not connect: a Redis that is away at the start may come back.
func OpenLimiter(redisURL string, registry prometheus.Registerer, log *slog.Logger) (*ratelimit.Limiter, func(), error) {
	if redisURL == "" {
		return ratelimit.New(nil, ratelimit.Timeout, registry, log), func() {}, nil
	}
	client, err := redisconn.Open(redisURL)
	if err != nil {
		return nil, nil, err
	}
	return ratelimit.New(client, ratelimit.Timeout, registry, log), func() { closeClient(client) }, nil
}

func closeClient(client redis.UniversalClient) { _ = client.Close() } // the process ends

// Open returns the limits of these settings, which have been checked, and what closes
// them.
func (s Settings) Open(registry prometheus.Registerer, log *slog.Logger) (*Limits, func(), error) {
	key, err1 := ratelimit.PerSecond(s.RateCapacity, s.RateRefill)
	address, err2 := ratelimit.PerSecond(s.RateAddressCapacity, s.RateAddressRefill)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	limiter, closed, err := OpenLimiter(s.RateLimitRedisURL, registry, log)
	if err != nil {
		return nil, nil, err
	}
	return New(limiter, key, address, s.TrustedProxies, log), closed, nil
}
