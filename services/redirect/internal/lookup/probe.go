package lookup

import (
	"context"
	"time"
)

// Probe is Find for whoever asks for every link there is, again and again: a monitor.
// Redis answers, or the origin. L1 is neither read nor filled, so that the links that
// people visit keep their places, unless nobody else answers. The floors hold as they
// do for Find.
func (l *Lookup) Probe(ctx context.Context, key []byte, now time.Time) (Entry, Source, error) {
	l.metrics.probe.Inc()
	h, own := l.l1.hash(key), string(key)
	got, err := l.settle(h, impatience{}, func() *flight {
		fl, _ := l.probes.join(ctx, own, func(ctx context.Context) (found, error) { return l.probe(ctx, own, h) })
		return fl
	})
	if err == nil {
		return *got.entry, got.source, nil
	}
	if e := l.l1.getString(h, own); e != nil && l.servable(e, l.since(now)) {
		if e, source, err := l.unconfirmed(h, e); err == nil {
			return *e, source, nil
		}
	}
	return Entry{}, Origin, err
}

// probe asks L2 and the origin, as fill does, and stores nothing here.
func (l *Lookup) probe(ctx context.Context, key string, h uint64) (found, error) {
	epoch, began := l.epochOf(h), l.since(time.Now())
	from := l.purges.use(h) // after began: see purges.begin
	a, err := l.ask(ctx, key, l.floors.at(h), from, l.trustsL2(began))
	if err != nil {
		return found{}, err
	}
	a.entry.epoch, a.entry.filled = epoch, began
	return found{entry: a.entry, source: a.source}, nil
}
