// Package redisconn opens the connection to a regional Redis: one server, or a
// Redis Cluster.
//
// It promises small time limits, because a slow cache is worse than none, that a
// context's deadline counts, and that a cluster's failover is seen within about a
// second. It refuses a URL with a setting it does not know, and no error of it holds
// a password.
package redisconn

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
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

	// clusterReload is how long the map of a cluster is believed. The library's 60 s
	// would keep a subscription, which no answer corrects, on a primary that is gone.
	clusterReload = time.Second
	// clusterRedirects lets a command follow a slot that moves (MOVED, then ASK).
	clusterRedirects = 2
)

// ErrBadURL says that a URL is none of Redis. It does not repeat the URL, which may
// hold a password.
var ErrBadURL = errors.New("not a valid Redis URL: want redis://[user:password@]host:port[/db], " +
	"or for a Redis Cluster redis://[user:password@]host:port?cluster=true[&addr=host:port...][&route_by_latency=true]")

// CheckURL says whether url is one that Open takes.
func CheckURL(url string) error {
	_, _, err := parse(url)
	return err
}

// Open returns a client for one Redis, redis://[user:password@]host:port[/db], or for
// a Redis Cluster, redis://[user:password@]host:port?cluster=true. More nodes that may
// be asked for the cluster's map are named by `addr=host:port`, as often as there are.
// With `read_only=true` (a replica), `route_by_latency=true` (whoever answers first,
// primary or replica) or `route_randomly=true` single reads of a cluster may be
// answered by a replica, which may lag; writes and transactions always go to the
// primary. rediss:// is the same over TLS. The replicas of a single Redis are not
// read.
//
// It does not connect: a Redis that is away at the start may come back.
func Open(url string) (redis.UniversalClient, error) {
	single, cluster, err := parse(url)
	switch {
	case err != nil:
		return nil, err
	case cluster != nil:
		return newCluster(cluster, commandTimeout), nil
	}
	return newSingle(single, commandTimeout), nil
}

// OpenPatient is Open for a writer that sends many commands in one round trip and has
// nobody waiting: it gives a round trip the given time, and never asks a replica.
func OpenPatient(url string, roundTrip time.Duration) (redis.UniversalClient, error) {
	single, cluster, err := parse(url)
	switch {
	case err != nil:
		return nil, err
	case cluster != nil:
		cluster.ReadOnly, cluster.RouteByLatency, cluster.RouteRandomly = false, false, false
		return newCluster(cluster, roundTrip), nil
	}
	return newSingle(single, roundTrip), nil
}

// parse returns the options of one server or those of a cluster.
func parse(raw string) (*redis.Options, *redis.ClusterOptions, error) {
	u, err := url.Parse(raw)
	if err != nil || strings.Contains(u.Host, ",") { // `addr` names the others
		return nil, nil, ErrBadURL
	}
	query := u.Query()
	clustered := false
	if query.Has("cluster") {
		if clustered, err = strconv.ParseBool(query.Get("cluster")); err != nil {
			return nil, nil, ErrBadURL
		}
		query.Del("cluster")
		u.RawQuery = query.Encode()
	}
	if !clustered {
		options, err := redis.ParseURL(u.String())
		if err != nil {
			return nil, nil, ErrBadURL
		}
		return options, nil, nil
	}
	options, err := redis.ParseClusterURL(u.String())
	if err != nil || (u.Path != "" && u.Path != "/") { // a cluster has one database
		return nil, nil, ErrBadURL
	}
	return nil, options, nil
}

func newSingle(options *redis.Options, roundTrip time.Duration) *redis.Client {
	// The library writes text to stderr about what it also returns as errors.
	logging.Disable()
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
	return redis.NewClient(options)
}

// newCluster sets the same limits as newSingle. The retries are those of the cluster:
// a node's own would only ask a dead node again.
func newCluster(options *redis.ClusterOptions, roundTrip time.Duration) *redis.ClusterClient {
	logging.Disable()
	options.DialTimeout = dialTimeout
	options.ReadTimeout = roundTrip
	options.WriteTimeout = roundTrip
	options.PoolTimeout = poolTimeout
	options.ContextTimeoutEnabled = true
	options.MaxRedirects = clusterRedirects
	options.MinRetryBackoff, options.MaxRetryBackoff = time.Millisecond, retryBackoff
	options.DialerRetries = 1
	options.ClusterStateReloadInterval = clusterReload
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClusterClient(options)
}
