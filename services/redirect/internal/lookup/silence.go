package lookup

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// slowAfter is how long a question may be without an answer before nobody who has
	// something else to show waits for the next one. Redis answers in less than a
	// millisecond, the origin in a few; what takes this long hangs, mostly.
	slowAfter = 50 * time.Millisecond
	// probeEvery is how often somebody who was silent is asked again, with or without
	// visitors. It adds to the time that an edge goes on with what it holds after the
	// others have come back.
	probeEvery = 100 * time.Millisecond
)

// probeKey is an address that has no link, and never will: its host is reserved.
const probeKey = "redirect:probe.invalid:probe"

// silence says whether somebody has left the last question unanswered. A store that
// hangs is worse than one that is dead: each visitor who waits for it waits in vain,
// and a breaker opens only when questions have failed. The flag is up as soon as one
// is slow.
type silence struct{ flag atomic.Bool }

// listen begins a question. The returned function takes how it ended.
func (s *silence) listen() func(err error) {
	slow := time.AfterFunc(slowAfter, func() { s.flag.Store(true) })
	return func(err error) {
		slow.Stop()
		s.flag.Store(err != nil)
	}
}

func (s *silence) silent() bool { return s.flag.Load() }

// registerSilence makes both visible to operators.
func registerSilence(registry prometheus.Registerer, l2, origin *silence) {
	for name, s := range map[string]*silence{"redis": l2, "origin": origin} {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cache_unanswered", Help: "Whether the last question to Redis or the origin was left without an answer (1), or took too long.",
			ConstLabels: prometheus.Labels{"store": name},
		}, func() float64 {
			if s.silent() {
				return 1
			}
			return 0
		}))
	}
}

// registerLease makes visible to operators whether changes are heard of.
func registerLease(registry prometheus.Registerer, l *Lookup) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cache_lease_seconds", Help: "For how long what Redis and this process hold is still trusted if no heartbeat comes; 0 while the origin is asked.",
	}, func() float64 { return time.Duration(max(0, l.lease.Load()-l.since(time.Now()))).Seconds() }))
}

// hopeless says that waiting is in vain: the origin has left the last question
// unanswered, and so has Redis, or its answer would not be trusted.
func (l *Lookup) hopeless(t int64) bool {
	return l.originSilence.silent() && (l.l2Silence.silent() || !l.trustsL2(t))
}

// probeSilent asks those who are silent until they answer, so that it does not take a
// visitor, who would be served what may be old, to find out that they are back. Redis
// is asked whenever the origin is silent: it is all that is left then, and whether it
// answers has to be known before visitors depend on it.
func (l *Lookup) probeSilent(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	var asking sync.WaitGroup
	defer asking.Wait()
	origin := make(chan struct{}, 1) // it may hang for longer than Redis
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		silent := l.originSilence.silent()
		if silent {
			select {
			case origin <- struct{}{}:
				asking.Go(func() {
					_, _ = l.resolve(ctx, probeKey) // the answer does not matter, that there is one does
					<-origin
				})
			default:
			}
		}
		if silent || l.l2Silence.silent() {
			l.readL2(ctx, probeKey, 0, l2Nearest)
		}
	}
}

// secondBest answers a visitor whom waiting would not help: with what Redis holds, if it
// answers at once and holds something newer than L1, or else with what L1 does. The
// former is kept, so that nobody is told anything older, and not trusted. Somebody who
// knows is asked behind the visitor's back.
func (l *Lookup) secondBest(ctx context.Context, key string, h uint64, e *Entry) (*Entry, Source, error) {
	l.askBehind(ctx, key, h)
	if l.l2Silence.silent() {
		return l.unconfirmed(h, e)
	}
	held := e.Revision // not e itself: it is on the stack of a look-up that must not allocate
	fl, _ := l.seconds.join(ctx, key, func(ctx context.Context) (found, error) {
		epoch, began := l.epochOf(h), l.since(time.Now())
		r, ok := l.readL2(ctx, key, max(l.floors.at(h), held), l.purges.use(h))
		if !ok || r.Deleted() { // the marker of a deleted link may be old too, and a "no" must not be
			return found{}, ErrUnavailable
		}
		newer := l.newEntry(key, r)
		newer.epoch, newer.filled, newer.fresh = epoch, began, began
		if newer.Revision > held {
			l.keep(h, newer)
		}
		return found{entry: newer, source: Stale}, nil
	})
	limit := time.NewTimer(slowAfter)
	defer limit.Stop()
	select {
	case <-fl.done:
		if fl.err == nil && fl.found.entry.Revision > e.Revision && !l.outdated(h, fl.found.entry) {
			e = fl.found.entry
		}
	case <-limit.C:
	}
	return l.unconfirmed(h, e)
}

// askBehind asks for a key behind the back of a visitor who does not wait. A fill that
// hangs at the origin is not waited for when Redis can be asked first.
func (l *Lookup) askBehind(ctx context.Context, key string, h uint64) {
	select {
	case l.refreshing <- struct{}{}:
	default:
		return
	}
	if l.originSilence.silent() && l.trustsL2(l.since(time.Now())) && l.flights.stuck(key) {
		l.flights.forget(key)
	}
	_, started := l.flights.join(ctx, key, func(ctx context.Context) (found, error) {
		defer func() { <-l.refreshing }()
		return l.fill(ctx, key, h)
	})
	if !started {
		<-l.refreshing
	}
}

// impatience is how long a visitor waits who can be served what L1 holds: until it is
// clear that waiting is in vain, and for patience at most.
type impatience struct {
	early, late *time.Timer // nil waits for ever: a fill has its own limit
}

func newImpatience() impatience {
	// A little later than the flag, which the question of this visitor may raise.
	return impatience{early: time.NewTimer(slowAfter + slowAfter/10), late: time.NewTimer(patience)}
}

func (i impatience) stop() {
	if i.late != nil {
		i.early.Stop()
		i.late.Stop()
	}
}

// wait waits for a flight. It says false when the visitor's patience has ended.
func (l *Lookup) wait(fl *flight, i impatience) bool {
	if i.late == nil {
		<-fl.done
		return true
	}
	for {
		select {
		case <-fl.done:
			return true
		case <-i.late.C:
			return false
		case <-i.early.C:
			if l.hopeless(l.since(time.Now())) || l.originSilence.silent() && fl.stuck() {
				return false
			}
		}
	}
}
