package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/place"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/redirect/internal/limit"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

// visitors is what links with options are decided by, beyond their records.
type visitors struct {
	places    *place.Files
	eyes      *option.Eyes
	counter   *limit.Counter
	unlocking redirect.Unlocking

	counting redis.UniversalClient // nil for none
	guesses  redis.UniversalClient // nil for none
	files    int
}

func openVisitors(ctx context.Context, s settings, links *lookup.Lookup, registry prometheus.Registerer, log *slog.Logger) (*visitors, error) {
	v := &visitors{files: len(s.placeFiles())}
	var err1, err2 error
	v.counting, err1 = openOptional(s.CounterRedisURL)
	v.guesses, err2 = openOptional(s.LimitRedisURL)
	if err := errors.Join(err1, err2); err != nil {
		v.close()
		return nil, err
	}
	if v.counting == nil {
		log.WarnContext(ctx, "links with a limit of clicks answer 503: LINKSTREAM_COUNTER_REDIS_URL is not set")
	}
	v.places = place.Open(ctx, s.placeFiles(), log)
	v.eyes = option.NewEyes(v.places, links.Zones())
	v.counter = limit.New(v.counting, registry)
	v.unlocking = redirect.Unlocking{
		Limiter: ratelimit.New(v.guesses, ratelimit.Timeout, registry, log), For: s.UnlockFor, Secure: s.CookieSecure,
	}
	return v, nil
}

// openOptional returns nil for no URL, as those who take a client understand it.
func openOptional(url string) (redis.UniversalClient, error) {
	if url == "" {
		return nil, nil //nolint:nilnil // none is a client, too: see the callers
	}
	return redisconn.Open(url)
}

func (v *visitors) close() {
	for _, client := range []redis.UniversalClient{v.counting, v.guesses} {
		if client != nil {
			_ = client.Close()
		}
	}
}

// placesKnown says whether conditions on places can hold for anybody.
func (v *visitors) placesKnown(context.Context) error {
	switch {
	case v.places.Known():
		return nil
	case v.files == 0:
		return errors.New("no file of places is set: conditions on country, region and continent hold for nobody")
	default:
		return errors.New("no file of places could be read: conditions on country, region and continent hold for nobody")
	}
}

// limitsCounted says whether links with a limit can redirect.
func (v *visitors) limitsCounted(ctx context.Context) error {
	if v.counting == nil {
		return errors.New("LINKSTREAM_COUNTER_REDIS_URL is not set: links with a limit of clicks answer 503")
	}
	return v.counting.Ping(ctx).Err()
}
