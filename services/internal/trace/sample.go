package trace

import (
	"math"
	mathrand "math/rand/v2"
	"time"
)

// askedPerSecond bounds the traces of a process that callers ask for, whatever they ask:
// a proxy that passes on what strangers send must not make them dear.
const askedPerSecond = 100

// Sampler picks the requests that begin a trace, of many that take microseconds: it
// counts down to the next one instead of throwing a die for each. It belongs to one
// goroutine at a time.
type Sampler struct {
	tracer *Tracer
	share  float64
	left   uint64 // until the next one that is picked
}

// Sampler picks a share of requests, from 0 to 1, on top of those whose callers ask for
// it. Of a nil Tracer it is nil.
func (t *Tracer) Sampler(share float64) *Sampler {
	if t == nil {
		return nil
	}
	s := &Sampler{tracer: t, share: share}
	s.left = s.gap()
	return s
}

// gap is how many requests it takes to the next one that is picked: as many as with a die
// for each, so that nothing that comes at regular intervals is picked always, or never.
func (s *Sampler) gap() uint64 {
	switch {
	case !(s.share > 0):
		return math.MaxUint64
	case s.share >= 1:
		return 1
	}
	if n := math.Log(1-mathrand.Float64()) / math.Log1p(-s.share); n < math.MaxUint32 {
		return 1 + uint64(n)
	}
	return math.MaxUint32
}

// Pick returns a span that began at a time for a request that is picked, and nil for the
// others. parent is the caller's: one that is sampled asks to be followed, as far as
// there is room; any other is as none. A nil Sampler picks nothing.
func (s *Sampler) Pick(parent Context, name string, kind Kind, begun time.Time) *Span {
	if s == nil {
		return nil
	}
	s.left--
	due := s.left == 0
	if due {
		s.left = s.gap()
	}
	switch {
	case parent.Sampled && !parent.IsZero():
		if !due && !s.tracer.affords(begun) {
			s.tracer.tooMany.Inc()
			return nil
		}
	case !due:
		return nil
	default:
		parent = begin()
	}
	span := s.tracer.span(parent, name, kind)
	span.begun = begun
	return span
}

// affords says whether one more caller's trace is within the bound. Two who ask at the
// turn of a second may both begin to count: it is a bound, and not a limit.
func (t *Tracer) affords(now time.Time) bool {
	if second := now.Unix(); t.second.Swap(second) != second {
		t.asked.Store(0)
	}
	return t.asked.Add(1) <= askedPerSecond
}
