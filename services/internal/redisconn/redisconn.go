// Package redisconn opens the connection to a regional Redis.
//
// It promises small time limits, because a slow cache is worse than none, and
// that a context's deadline counts.
package redisconn

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Limits of one command. A Redis in the same region answers in well under a
// millisecond; what takes longer than this is away.
const (
	dialTimeout    = 500 * time.Millisecond
	commandTimeout = 250 * time.Millisecond
	poolTimeout    = 100 * time.Millisecond
	retryBackoff   = 5 * time.Millisecond
)

// ErrBadURL says that a URL is none of Redis. It does not repeat the URL, which may
// hold a password.
var ErrBadURL = errors.New("not a valid Redis URL: want redis://[user:password@]host:port[/db]")

// CheckURL says whether url is one that Open takes.
func CheckURL(url string) error {
	if _, err := redis.ParseURL(url); err != nil {
		return ErrBadURL
	}
	return nil
}

// Open returns a client for redis://[user:password@]host:port[/db]. It does not
// connect: a Redis that is away at the start may come back.
func Open(url string) (*redis.Client, error) { return OpenPatient(url, commandTimeout) }

// OpenPatient is Open for whoever sends many commands in one round trip and has
// nobody waiting: it gives a round trip the given time.
func OpenPatient(url string, roundTrip time.Duration) (*redis.Client, error) {
	// The library writes text to stderr about what it also returns as errors.
	logging.Disable()
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, ErrBadURL
	}
	options.DialTimeout = dialTimeout
	options.ReadTimeout = roundTrip
	options.WriteTimeout = roundTrip
	options.PoolTimeout = poolTimeout
	options.ContextTimeoutEnabled = true
	// One retry covers a connection that Redis closed while it lay in the pool. A
	// Redis that is away is noticed at once: callers have somebody else to ask, or
	// wait in their own way.
	options.MaxRetries = 1
	options.MinRetryBackoff, options.MaxRetryBackoff = time.Millisecond, retryBackoff
	options.DialerRetries = 1
	// Redis 7.0 knows neither CLIENT SETINFO nor maintenance notifications, and
	// answers both with an error.
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(options), nil
}
