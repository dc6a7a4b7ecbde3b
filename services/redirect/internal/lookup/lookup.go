package lookup

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
)

// ErrUnavailable says that nobody who was asked knew: neither Redis nor the origin
// answered, or too many questions were under way.
var ErrUnavailable = errors.New("neither redis nor the origin answered")

// errSlow says that a visitor who can be served otherwise has waited long enough.
var errSlow = errors.New("nobody has answered yet")

const (
	// Lease is how long silence on the channel is taken for "nothing has changed".
	// Heartbeats come every half second. With it, a change that this process never
	// hears of is served at most Lease, one read of the channel and one fill later:
	// within two seconds, on a busy machine too.
	Lease = 1500 * time.Millisecond
	// confirmedFor is how long an answer of the origin is trusted without a lease.
	confirmedFor = time.Second
	// confirmAhead is how long before an entry's trust ends a hit has it confirmed by
	// the origin, behind its back: so a link that people visit is not waited for when
	// Redis falls silent. confirmAgain is after what time that is tried again.
	confirmAhead = 400 * time.Millisecond
	confirmAgain = 150 * time.Millisecond
	// StaleFor bounds how long an entry is served that nobody could confirm.
	StaleFor = 24 * time.Hour

	// unknownFor is how long an address is remembered to have no link. A create
	// invalidates it like any other change.
	unknownFor = 3 * time.Second

	l2Timeout   = 150 * time.Millisecond
	putTimeout  = 250 * time.Millisecond
	fillTimeout = 2 * time.Second
	// patience is how long a visitor waits for confirmation of an entry that could
	// be served unconfirmed.
	patience = 100 * time.Millisecond
	// attempts bounds how often one look-up starts again because something changed
	// under its hands.
	attempts = 3

	// originInFlight bounds the questions to the origin under way, and with them
	// what a flood of made-up slugs does to Postgres. originQueue is how long one
	// more may wait for its turn.
	originInFlight = 64
	originQueue    = 50 * time.Millisecond

	breakerFailures = 3
	breakerOpen     = 500 * time.Millisecond
	// insistFor is how long a link is asked for that must exist: longer than a breaker
	// stays open. insistEvery is the pause between the questions.
	insistFor   = breakerOpen + breakerOpen/2
	insistEvery = 20 * time.Millisecond
)

// records is L2. The tests put a gate before the real one.
type records interface {
	Get(ctx context.Context, key string) (linkcache.Record, bool, error)
	GetNewest(ctx context.Context, key string) (linkcache.Record, bool, error)
	Put(ctx context.Context, entries []linkcache.Entry) ([]linkcache.Outcome, error)
	Replace(ctx context.Context, entries []linkcache.Entry) ([]linkcache.Outcome, error)
	Overrule(ctx context.Context, key string, truth func(ctx context.Context) (linkcache.Record, error)) (linkcache.Outcome, error)
}

// Settings of a Lookup.
type Settings struct {
	MaxBytes int64         // what L1 may take, see Resident
	Counters int64         // how many count visits, 0 for as many as MaxBytes asks for
	TTL      time.Duration // how long an entry is trusted, jittered by a tenth
	// ReplicaLag is how far behind a replica may be that answers reads. For so long after
	// something may have been missed the primary is read.
	ReplicaLag time.Duration
	// Tracer tells of what is asked for visits that are followed. It may be nil.
	Tracer *trace.Tracer
}

// Lookup finds records. It is safe for concurrent use.
type Lookup struct {
	l1         *l1
	records    records
	origin     *OriginClient
	ttl        time.Duration
	replicaLag time.Duration
	base       time.Time
	zones      *option.Zones
	tracer     *trace.Tracer // may be nil
	log        *slog.Logger
	metrics    metrics

	floors  floors
	purges  purges
	epoch   atomic.Uint64
	lease   atomic.Int64 // until when the channel is trusted, see since
	filling atomic.Bool  // Redis may lack records or hold old ones

	primaryUntil atomic.Int64 // until when the nearest replica is not asked, see since

	l2Silence     silence
	originSilence silence
	flights       flights
	probes        flights       // those of monitors, which store nothing
	seconds       flights       // those that ask only Redis, see secondBest
	refreshing    chan struct{} // one token for each refresh under way
	refreshed     recent
	asking        chan struct{} // one token for each question under way
	l2Breaker     *gobreaker.CircuitBreaker[l2Answer]
	originBreaker *gobreaker.CircuitBreaker[*eventspb.LinkChanged]
}

// New returns a Lookup that trusts nothing until a Feed tells it what changes.
func New(store records, origin *OriginClient, settings Settings, registry prometheus.Registerer, log *slog.Logger) (*Lookup, error) {
	cache, err := newL1(settings.MaxBytes, settings.Counters)
	if err != nil {
		return nil, err
	}
	breaker := func(name string) gobreaker.Settings {
		return gobreaker.Settings{
			Name:        name,
			MaxRequests: 1,
			Timeout:     breakerOpen,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
			OnStateChange: func(name string, from, to gobreaker.State) {
				if from == gobreaker.StateClosed || to == gobreaker.StateClosed {
					log.Warn("circuit breaker", "of", name, "from", from.String(), "to", to.String())
				}
			},
		}
	}
	l := &Lookup{
		l1:            cache,
		records:       store,
		origin:        origin,
		ttl:           settings.TTL,
		replicaLag:    settings.ReplicaLag,
		base:          time.Now(),
		zones:         option.NewZones(),
		tracer:        settings.Tracer,
		log:           log,
		metrics:       newMetrics(registry, cache.bytes, cache.cache.MaxCost()),
		flights:       flights{byKey: map[string]*flight{}},
		probes:        flights{byKey: map[string]*flight{}},
		seconds:       flights{byKey: map[string]*flight{}},
		refreshing:    make(chan struct{}, refreshInFlight),
		asking:        make(chan struct{}, originInFlight),
		l2Breaker:     gobreaker.NewCircuitBreaker[l2Answer](breaker("redis")),
		originBreaker: gobreaker.NewCircuitBreaker[*eventspb.LinkChanged](breaker("origin")),
	}
	registerSilence(registry, &l.l2Silence, &l.originSilence)
	registerLease(registry, l)
	return l, nil
}

// Run forgets old purges until ctx is done, and then waits until the fills under way
// have ended. Nothing may be looked up after that.
func (l *Lookup) Run(ctx context.Context) error {
	var behind sync.WaitGroup
	behind.Go(func() { l.probeSilent(ctx) })
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for ctx.Err() == nil {
		select {
		case now := <-sweep.C:
			l.purges.sweep(l.since(now))
		case <-ctx.Done():
		}
	}
	behind.Wait()
	l.flights.running.Wait()
	l.probes.running.Wait()
	l.seconds.running.Wait()
	l.l1.cache.Close()
	l.origin.Close()
	return nil
}

// since is a time on this process's own clock, which no one sets back.
func (l *Lookup) since(t time.Time) int64 { return int64(t.Sub(l.base)) }

// Hit writes what this process holds of a key and trusts into e, or says false: then
// Find asks others. It never waits. The context must outlive the request, because a
// refresh may: never pass a request's own.
func (l *Lookup) Hit(ctx context.Context, key []byte, now time.Time, e *Entry) bool {
	h, t := l.l1.hash(key), l.since(now)
	if !l.held(h, key, e) {
		return false
	}
	end := l.trustEnds(h, e)
	if t >= end {
		return false
	}
	l.hit(ctx, key, h, e, t, end)
	return true
}

// Find returns what is known of a key (package linkcache), as Hit does or by asking
// others. The context must outlive the request, because a fill may.
func (l *Lookup) Find(ctx context.Context, key []byte, now time.Time) (Entry, Source, error) {
	var e Entry
	if l.Hit(ctx, key, now, &e) {
		return e, L1, nil
	}
	answer, source, err := l.noHit(ctx, key, now)
	if err != nil {
		return Entry{}, source, err
	}
	return *answer, source, nil
}

// noHit is Find for what is no hit.
func (l *Lookup) noHit(ctx context.Context, key []byte, now time.Time) (*Entry, Source, error) {
	h, t, own := l.l1.hash(key), l.since(now), string(key)
	l.metrics.l1Miss.Inc()
	e := l.l1.getString(h, own)
	if e != nil && t >= e.fresh {
		l.metrics.invalidation[byAge].Inc()
	}
	if e != nil && (l.outdated(h, e) || !l.servable(e, t)) {
		e = nil
	}
	return l.miss(ctx, own, h, e)
}

// held writes the entry of a key into e, unless there is none or it is outdated.
func (l *Lookup) held(h uint64, key []byte, e *Entry) bool {
	return l.l1.get(h, key, e) && !l.outdated(h, e)
}

// outdated says whether an entry is below what has been heard of its key, or was read
// before the key was purged: it is not to be served, however it got here.
func (l *Lookup) outdated(h uint64, e *Entry) bool {
	return e.Revision < l.floors.at(h) || l.purges.void(h, e.filled)
}

func (l *Lookup) hit(ctx context.Context, key []byte, h uint64, e *Entry, t, end int64) {
	l.metrics.l1Hit.Inc()
	if t >= e.refresh || e.Found && ending(t, end) {
		l.refresh(ctx, key, h, t, end)
	}
}

// epochOf is the epoch of a key: how often all was flushed, and the floors of its shard.
// Both only grow, so that the sum is another one after either.
func (l *Lookup) epochOf(h uint64) uint64 { return l.epoch.Load() + l.floors.drops(h) }

// trustEnds is until when an entry is trusted, as things stand.
func (l *Lookup) trustEnds(h uint64, e *Entry) int64 {
	if e.epoch != l.epochOf(h) {
		return 0
	}
	return min(e.fresh, max(l.lease.Load(), e.confirmed))
}

// ending says that trust that ends at end is about to: heartbeats are late, or only
// the origin vouches for the entry.
func ending(t, end int64) bool { return end-t < int64(confirmAhead) }

// miss asks others. e is what may be served when they do not answer, or nil.
func (l *Lookup) miss(ctx context.Context, key string, h uint64, e *Entry) (*Entry, Source, error) {
	var limit impatience
	if e != nil {
		// A fill that has begun to ask an origin that hangs goes on for a second, though
		// Redis may be trusted by now.
		if l.hopeless(l.since(time.Now())) || l.originSilence.silent() && l.flights.stuck(key) {
			return l.secondBest(ctx, key, h, e)
		}
		limit = newImpatience()
		defer limit.stop()
	}
	got, err := l.settle(h, limit, func() *flight {
		fl, _ := l.flights.join(ctx, key, func(ctx context.Context) (found, error) { return l.fill(ctx, key, h) })
		return fl
	})
	switch {
	case err == nil:
		return got.entry, got.source, nil
	case e != nil:
		return l.secondBest(ctx, key, h, e)
	case l.floors.at(h) > 0:
		return l.insist(ctx, key, h)
	default:
		return nil, Origin, err
	}
}

// insist asks again and again for a key that has been heard of: its link exists, what
// L1 held of it must not be served, and whoever said so is back. Those who are asked may
// still count as away, because a breaker lets one question through at a time, and at
// first none. For as long as that lasts a visitor had better wait than be turned away.
func (l *Lookup) insist(ctx context.Context, key string, h uint64) (*Entry, Source, error) {
	end := time.NewTimer(insistFor)
	defer end.Stop()
	again := time.NewTicker(insistEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, Origin, ErrUnavailable
		case <-end.C:
			return nil, Origin, ErrUnavailable
		case <-again.C:
		}
		got, err := l.settle(h, impatience{}, func() *flight {
			fl, _ := l.flights.join(ctx, key, func(ctx context.Context) (found, error) { return l.fill(ctx, key, h) })
			return fl
		})
		if err == nil {
			return got.entry, got.source, nil
		}
	}
}

// servable says whether an entry is better than no answer.
func (*Lookup) servable(e *Entry, t int64) bool { return e.Found && t-e.filled < int64(StaleFor) }

// settle waits for flights until the answer of one is not overtaken by what was heard
// of since it began. A flight may have begun before the look-up that joins it.
func (l *Lookup) settle(h uint64, limit impatience, join func() *flight) (found, error) {
	var last found
	for range attempts {
		fl := join()
		if !l.wait(fl, limit) {
			return found{}, errSlow
		}
		if fl.err != nil {
			return found{}, fl.err
		}
		last = fl.found
		if l.outdated(h, last.entry) {
			last.entry = nil
			continue
		}
		if last.entry.epoch == l.epochOf(h) {
			break
		}
	}
	if last.entry == nil {
		return found{}, ErrUnavailable
	}
	if last.source == Stale {
		l.metrics.stale.Inc()
	}
	return last, nil
}

// unconfirmed serves what L1 holds because nobody answered in time, unless this
// process itself has heard of something newer.
func (l *Lookup) unconfirmed(h uint64, e *Entry) (*Entry, Source, error) {
	if l.outdated(h, e) {
		return nil, Stale, ErrUnavailable
	}
	l.metrics.stale.Inc()
	return e, Stale, nil
}

// invalidate notes that a key is at a revision, and drops what is older. now is as of
// since.
func (l *Lookup) invalidate(key string, revision uint64, now int64) {
	h := l.l1.hashString(key)
	// The floor first: whoever stores from here on sees it, and whoever stored before is
	// deleted below.
	if l.floors.raise(h, revision, now) {
		l.metrics.floorsDropped.Inc()
	}
	if e := l.l1.getString(h, key); e == nil || e.Revision < revision {
		l.l1.del(h)
	}
	l.metrics.invalidation[byMessage].Inc()
}

// flush makes every entry ask again. Nothing is thrown away: what cannot be
// confirmed may have to be served.
func (l *Lookup) flush(why reason) {
	l.turn()
	l.metrics.invalidation[why].Inc()
}

// turn begins an epoch. What was missed has no floor, by which a replica that lags would
// be found out: until none can, the primary is asked. This comes first: a fill that sees
// the new epoch must see it.
func (l *Lookup) turn() {
	l.primaryUntil.Store(l.since(time.Now()) + int64(l.replicaLag))
	l.epoch.Add(1)
}

// Zones are those that the programs of its entries name.
func (l *Lookup) Zones() *option.Zones { return l.zones }

// Empty says whether L1 holds nothing, for the readiness check.
func (l *Lookup) Empty() bool { return l.l1.bytes() == 0 }
