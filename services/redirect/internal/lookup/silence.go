package lookup

import (
	"context"
	"sync/atomic"
	"time"
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

// nobodyAnswers says that waiting is in vain: both Redis and the origin have left the
// last question unanswered.
func (l *Lookup) nobodyAnswers() bool { return l.l2Silence.silent() && l.originSilence.silent() }

// probeSilent asks those who are silent until they answer, so that it does not take a
// visitor, who would be served what may be old, to find out that they are back.
func (l *Lookup) probeSilent(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if l.l2Silence.silent() {
			l.readL2(ctx, probeKey, 0)
		}
		if l.originSilence.silent() {
			_, _ = l.resolve(ctx, probeKey) // the answer does not matter, that there is one does
		}
	}
}

// askBehind asks for a key behind the back of a visitor who does not wait.
func (l *Lookup) askBehind(ctx context.Context, key string, h uint64) {
	select {
	case l.refreshing <- struct{}{}:
	default:
		return
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
// clear that nobody answers, and for patience at most.
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
			if l.nobodyAnswers() {
				return false
			}
		}
	}
}
