package lookup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/trace"
)

// errOldAnswer says that the origin answered with less than what this process has
// heard of: it reads a replica that lags, or something is broken.
var errOldAnswer = errors.New("the origin's answer is older than what was announced")

// errSilent says that Redis was not asked because it has left the last question
// unanswered.
var errSilent = errors.New("redis has left the last question unanswered")

type l2Answer struct {
	record linkcache.Record
	ok     bool
}

// answer is where a fill has got to: the entry, and whether L1 may keep it.
type answer struct {
	entry  *Entry
	source Source
	keep   bool
}

// fill asks L2 and the origin for a key and stores the answer in L1. Everything
// that decides whether the answer may be trusted is read before anyone is asked.
func (l *Lookup) fill(ctx context.Context, key string, h uint64) (found, error) {
	epoch, began := l.epochOf(h), l.since(time.Now())
	from := l.purges.use(h) // after began: see purges.begin
	need := l.floors.at(h)
	if held := l.l1.getString(h, key); held != nil {
		need = max(need, held.Revision)
	}
	a, err := l.ask(ctx, key, need, from, l.trustsL2(began))
	if err != nil {
		return found{}, err
	}
	e := a.entry
	e.epoch, e.filled, e.fresh = epoch, began, began+l.life(e)
	switch a.source {
	case Origin:
		e.confirmed = began + int64(confirmedFor)
	case Stale:
		e.fresh = began
	case L1, L2:
	}
	if e.Version != 0 { // what is not there is asked for again when its time is over
		e.refresh = began + soft(e.fresh-began)
	}
	if a.keep {
		l.keep(h, e)
	}
	return found{entry: e, source: a.source}, nil
}

// keep puts an entry into L1, unless it is outdated by now.
func (l *Lookup) keep(h uint64, e *Entry) {
	if l.epochOf(h) != e.epoch || l.outdated(h, e) {
		return
	}
	l.l1.set(h, e)
	// An invalidation between the check and the set has deleted nothing yet.
	if l.outdated(h, e) {
		l.l1.del(h)
	}
}

// life is how long an entry is trusted, with a tenth of jitter, so that entries
// that were filled together do not ask together.
func (l *Lookup) life(e *Entry) int64 {
	ttl := l.ttl
	if e.Version == 0 { // no record: only the origin saying no
		ttl = min(ttl, unknownFor)
	}
	return int64(ttl) - rand.Int64N(int64(ttl)/10+1)
}

// trustsL2 says whether Redis may be asked first: not while it is being filled, nor
// when the lease is about to end, because its answer would not outlive it.
func (l *Lookup) trustsL2(t int64) bool { return !ending(t, l.lease.Load()) && !l.filling.Load() }

// ask asks L2, unless it cannot be trusted, then the origin. No answer is below
// need. After a purge, from says which copy in L2 may be believed at all.
func (l *Lookup) ask(ctx context.Context, key string, need uint64, from l2Use, trustL2 bool) (answer, error) {
	if trustL2 {
		if r, ok := l.readL2(ctx, key, need, from); ok {
			return answer{entry: l.newEntry(key, r), source: L2, keep: true}, nil
		}
	}
	// Better an answer that may be old than none. It is kept and not trusted: the next
	// visitor asks again, and is told nothing older. An origin that hangs is not waited
	// for first.
	old := func() (answer, bool) {
		r, ok := l.readL2(ctx, key, need, from)
		return answer{entry: l.newEntry(key, r), source: Stale, keep: true}, ok && !r.Deleted()
	}
	if !trustL2 && l.originSilence.silent() && !l.l2Silence.silent() {
		if a, ok := old(); ok {
			return a, nil
		}
	}
	a, err := l.askOrigin(ctx, key, need, from)
	if err != nil && !trustL2 {
		if a, ok := old(); ok {
			return a, nil
		}
	}
	return a, err
}

func (l *Lookup) askOrigin(ctx context.Context, key string, need uint64, from l2Use) (answer, error) {
	link, err := l.resolve(ctx, key)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if link == nil {
		return answer{entry: unknown(key, need), source: Origin, keep: true}, nil
	}
	entries, err := linkcache.Entries(link)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	entry := entries[0]
	if entry.Record.Status == 0 {
		entry.Record.Status = linkcache.DefaultStatus
	}
	if entry.Key != key {
		// The origin found it under another spelling. Invalidations will name that
		// one, so this one is not kept anywhere.
		return answer{entry: l.newEntry(entry.Key, entry.Record), source: Origin}, nil
	}
	if entry.Record.Revision < need {
		return answer{}, fmt.Errorf("%w: %w", ErrUnavailable, errOldAnswer)
	}
	if outcome, _ := l.writeL2(ctx, entry); outcome == linkcache.Stale {
		// Redis has heard of something newer: the origin was read before its commit.
		if r, ok := l.readL2(ctx, key, max(need, entry.Record.Revision+1), from); ok {
			return answer{entry: l.newEntry(key, r), source: L2, keep: true}, nil
		}
		// It was right when it was asked for, and is known to be old now.
		return answer{entry: l.newEntry(key, entry.Record), source: Origin}, nil
	}
	return answer{entry: l.newEntry(key, entry.Record), source: Origin, keep: true}, nil
}

// readL2 says false for everything that is no answer: nothing there, below need,
// Redis away, or not to be believed after a purge. When something is known to be there that the answer lacks, the
// nearest replica lags, and the primary is asked.
func (l *Lookup) readL2(ctx context.Context, key string, need uint64, from l2Use) (linkcache.Record, bool) {
	get := l.records.Get
	switch from {
	case l2Nearest:
	case l2Primary:
		get = l.records.GetNewest
	case l2Never:
		return linkcache.Record{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, l2Timeout)
	defer cancel()
	span := l.tracer.Follow(trace.From(ctx), "read redis", trace.Client)
	a, err := l.l2Breaker.Execute(func() (l2Answer, error) {
		answered := l.l2Silence.listen()
		if l.since(time.Now()) < l.primaryUntil.Load() {
			r, ok, err := l.records.GetNewest(ctx, key)
			answered(err)
			return l2Answer{record: r, ok: ok}, err
		}
		r, ok, err := get(ctx, key)
		if err == nil && need > 0 && (!ok || r.Revision < need) {
			r, ok, err = l.records.GetNewest(ctx, key)
		}
		answered(err)
		return l2Answer{record: r, ok: ok}, err
	})
	span.Set("linkstream.found", strconv.FormatBool(a.ok && a.record.Revision >= need))
	span.End(err != nil)
	switch {
	case err != nil:
		l.metrics.l2Fail.Inc()
	case !a.ok || a.record.Revision < need:
		l.metrics.l2Miss.Inc()
	default:
		l.metrics.l2Hit.Inc()
		return a.record, true
	}
	return linkcache.Record{}, false
}

// writeL2 saves the origin the next edge's question. What it cannot write, the
// next edge asks.
func (l *Lookup) writeL2(ctx context.Context, entry linkcache.Entry) (linkcache.Outcome, error) {
	outcome := linkcache.Applied
	if l.l2Silence.silent() {
		return outcome, errSilent // whoever waits for the origin's answer does not wait for Redis too
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	var refusal error
	span := l.tracer.Follow(trace.From(ctx), "write redis", trace.Client)
	_, err := l.l2Breaker.Execute(func() (l2Answer, error) {
		answered := l.l2Silence.listen()
		outcomes, err := l.records.Put(ctx, []linkcache.Entry{entry})
		if err == nil {
			outcome = outcomes[0]
		}
		if _, ok := errors.AsType[redis.Error](err); ok {
			// A primary without its replicas takes no writes, and answers what is asked.
			refusal, err = err, nil
		}
		answered(err)
		return l2Answer{}, err
	})
	if err = errors.Join(err, refusal); err != nil {
		l.metrics.l2Fail.Inc()
	}
	span.End(err != nil)
	return outcome, err
}

// resolve asks the origin, when it is this question's turn.
func (l *Lookup) resolve(ctx context.Context, key string) (link *eventspb.LinkChanged, err error) {
	span := l.tracer.Follow(trace.From(ctx), "ask origin", trace.Client)
	defer func() { span.End(err != nil) }()
	ctx = trace.Into(ctx, span.Context())
	host, slug, ok := linkcache.SplitKey(key)
	if !ok {
		return nil, nil //nolint:nilnil // no address, no link
	}
	turn := time.NewTimer(originQueue)
	defer turn.Stop()
	select {
	case l.asking <- struct{}{}:
		defer func() { <-l.asking }()
	case <-turn.C:
		l.metrics.originRefused.Inc()
		return nil, errors.New("too many questions to the origin are under way")
	}
	return l.originBreaker.Execute(func() (*eventspb.LinkChanged, error) {
		l.metrics.originRequest.Inc()
		answered := l.originSilence.listen()
		link, err := l.origin.Resolve(ctx, host, slug)
		answered(err)
		if err != nil {
			l.metrics.originFail.Inc()
		}
		return link, err
	})
}
