package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/enrich"
	"github.com/linkstream/linkstream/services/internal/outage"
)

const (
	// insertTimeout is for one attempt. A block of 50,000 rows takes half a second
	// on two cores; a server that needs a minute is as good as away.
	insertTimeout = time.Minute
	// brokerTimeout is for one commit or one dead record.
	brokerTimeout = 10 * time.Second

	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

var errStopped = errors.New("stopped before it succeeded")

// store is what a lane needs of ClickHouse.
type store interface {
	insert(ctx context.Context, token string, rows *columns) error
	missing(ctx context.Context, rows *columns) (*columns, error)
	lacking(ctx context.Context, r rollup, partition string, to int64, rows *columns) (*columns, error)
	repair(ctx context.Context, r rollup, token string, rows *columns) error
}

// worker is what a batch needs while it is made and inserted. All lanes share a few:
// they bound the batches in memory as rows, and their caches stay warm.
type worker struct {
	enricher *enrich.Enricher
	rows     columns
	click    enrich.Click
	row      enrich.Row
}

// offsets is what a lane needs of the consumer group and the broker.
type offsets interface {
	// commit sets the group's offset and its metadata. It waits for the broker's answer.
	commit(ctx context.Context, partition int32, offset int64, metadata string) error
	// produceDead returns when the broker has the records.
	produceDead(ctx context.Context, records []*kgo.Record) error
}

// lane carries the records of one partition into the store, a range at a time,
// for as long as the partition is this process's.
type lane struct {
	partition int32
	topic     Topic
	prefix    string
	queue     *queue
	store     store
	offsets   offsets
	visitors  *enrich.Visitors
	metrics   *Metrics
	slots     chan *worker // who has one may insert
	stores    stores
	log       *slog.Logger

	who      string // for the stores
	dead     []*kgo.Record
	trouble  atomic.Pointer[string] // what is failing now, for the readiness check
	stopping chan struct{}          // closed: take no more, give up instead of trying again
	done     chan struct{}          // closed: nothing of the lane runs any more
	cancel   context.CancelFunc     // cuts off what is running
}

// run ends when the lane is stopped. It leaves no range half done without its
// note in the group's metadata: whoever gets the partition next redoes it.
func (l *lane) run(ctx context.Context) {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		// Who takes a batch has a worker: so only as many are in memory beside the
		// queues as are worked on.
		wait, ready := l.queue.ready(time.Now())
		if ready {
			if err := l.next(ctx); err != nil {
				return // stopped; retry has logged what failed
			}
			continue
		}
		if wait == 0 {
			wait = time.Hour
		}
		timer.Reset(wait)
		select {
		case <-l.stopping:
			return
		case <-ctx.Done():
			return
		case <-l.queue.wake:
		case <-timer.C:
		}
	}
}

// next waits for a worker and finishes the next range with it.
func (l *lane) next(ctx context.Context) error {
	select {
	case w := <-l.slots:
		defer func() { l.slots <- w }()
		if b, ok := l.queue.take(time.Now()); ok {
			return l.finish(ctx, b, w)
		}
		return nil // what was queued is gone
	case <-l.stopping:
		return errStopped
	case <-ctx.Done():
		return errStopped
	}
}

// finish does one range: note, dead records, insert, commit, in this order.
//
// The note comes before the insert, so that a range whose insert may have
// happened is never cut differently by the next owner: the same range has the same
// token, and ClickHouse drops the second of two inserts with one token. Everything
// before the final commit may therefore happen twice and counts once.
func (l *lane) finish(ctx context.Context, b batch, w *worker) error {
	if err := l.retry(ctx, l.atBroker("noting a range"), func(ctx context.Context) error {
		return l.offsets.commit(ctx, l.partition, b.from, l.topic.note(noted{b.span, b.at}))
	}); err != nil {
		return err
	}
	if err := l.retry(ctx, l.atClickHouse("enriching"), func(ctx context.Context) error {
		return l.fill(ctx, w, b)
	}); err != nil {
		return err
	}
	if len(l.dead) > 0 {
		if err := l.retry(ctx, l.atBroker("writing dead records"), func(ctx context.Context) error {
			return l.offsets.produceDead(ctx, l.dead)
		}); err != nil {
			return err
		}
	}
	rows := &w.rows
	done, err := l.insert(ctx, b, rows)
	if err != nil {
		return err
	}
	inserted := time.Now()
	if err := l.retry(ctx, l.atBroker("committing"), func(ctx context.Context) error {
		return l.offsets.commit(ctx, l.partition, b.to, "")
	}); err != nil {
		return err
	}
	l.metrics.inserted.Add(float64(rows.len() - done.vanished))
	l.metrics.deduplicated.Add(float64(done.duplicates))
	l.metrics.vanished.Add(float64(done.vanished))
	l.metrics.dead.Add(float64(len(l.dead)))
	for _, ts := range rows.ts {
		l.metrics.lag.Observe(inserted.Sub(ts).Seconds())
	}
	return nil
}

// fill decodes and enriches the records; what is no click becomes a dead record.
func (l *lane) fill(ctx context.Context, w *worker, b batch) error {
	w.rows.reset()
	l.dead = l.dead[:0]
	var (
		key enrich.Key
		day = enrich.Day(-1)
	)
	for _, r := range b.records {
		if err := w.click.Decode(r.Value); err != nil {
			l.dead = append(l.dead, dead(l.prefix, r, err))
			continue
		}
		at, ahead := enrich.At(&w.click, b.at)
		if d := enrich.DayOf(at); d != day {
			var err error
			if key, err = l.visitors.Key(ctx, d); err != nil {
				return err
			}
			day = d
		}
		w.enricher.Fill(&w.row, &w.click, at, ahead, &key)
		w.rows.append(&w.row)
	}
	return nil
}

// dead is the record for the dead topic, which keeps it for longer than the clicks
// topic: without the visitor's address, if it has one.
func dead(prefix string, r *kgo.Record, cause error) *kgo.Record {
	out := events.DeadRecord(events.DeadClicks, prefix, r, cause)
	out.Value = enrich.WithoutAddress(r.Value)
	return out
}

// outcome is what became of the rows of an insert that succeeded.
type outcome struct {
	duplicates int // were there already
	vanished   int // are not there, after all attempts
}

// insert inserts the filled rows.
//
// What keeps rows single is the token. An insert that may have been tried before, by
// this process or by the range's earlier owner, is looked up before, to count the
// duplicates, and after, because a token can outlive its rows (see attempts), in each
// of the tables for itself.
func (l *lane) insert(ctx context.Context, b batch, rows *columns) (out outcome, err error) {
	if rows.len() == 0 {
		return out, nil
	}
	token := l.topic.token(l.partition, b.span)
	repeated := b.redone
	err = l.retry(ctx, l.atClickHouse("inserting"), func(ctx context.Context) error {
		if repeated {
			missing, err := l.store.missing(ctx, rows)
			if err != nil {
				return err
			}
			out.duplicates = rows.len() - missing.len()
		}
		tried := repeated
		repeated = true
		if err := l.store.insert(ctx, token, rows); err != nil {
			return err
		}
		repeated = tried // an insert that succeeds at once needs no second look
		return nil
	})
	if err != nil || !repeated {
		return out, err
	}
	for _, t := range l.tables(b.span, rows) {
		if err := l.retry(ctx, l.atClickHouse("inserting what is missing"), func(ctx context.Context) error {
			vanished, err := l.complete(ctx, token, t)
			out.vanished = max(out.vanished, vanished)
			return err
		}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// table is one of the tables that a range has to be in.
type table struct {
	name    string
	missing func(ctx context.Context) (*columns, error)
	insert  func(ctx context.Context, token string, rows *columns) error
}

func (l *lane) tables(s span, rows *columns) []table {
	out := []table{{
		name:    "clicks",
		missing: func(ctx context.Context) (*columns, error) { return l.store.missing(ctx, rows) },
		insert:  l.store.insert, // under a token that the views leave alone
	}}
	for _, r := range rollups() {
		out = append(out, table{
			name: r.table,
			missing: func(ctx context.Context) (*columns, error) {
				return l.store.lacking(ctx, r, l.topic.partition(l.partition), s.to, rows)
			},
			insert: func(ctx context.Context, token string, rows *columns) error {
				return l.store.repair(ctx, r, token, rows)
			},
		})
	}
	return out
}

// complete inserts those of the rows that are not in the table although an insert
// under the token has succeeded. It returns how many it gave up.
func (l *lane) complete(ctx context.Context, token string, t table) (vanished int, err error) {
	for n := 1; ; n++ {
		missing, err := t.missing(ctx)
		if err != nil || missing.len() == 0 {
			return 0, err
		}
		if n == attempts {
			// Not a crash, then: something removes rows as they come. Waiting would stop
			// the partition for good.
			l.log.ErrorContext(ctx, "rows are not in the table after they were inserted", "table", t.name, "token", token, "rows", missing.len())
			return missing.len(), nil
		}
		l.log.WarnContext(ctx, "token without rows, inserting under the next one", "table", t.name, "token", token, "attempt", n, "rows", missing.len())
		if err := t.insert(ctx, attemptToken(token, n), missing); err != nil {
			return 0, err
		}
	}
}

// stores are what a lane depends on. They tell when one is away, for all lanes.
type stores struct{ broker, clickHouse *outage.Outage }

// step is something that is tried until it succeeds.
type step struct {
	what    string
	store   *outage.Outage
	timeout time.Duration // of one attempt
}

func (l *lane) atBroker(what string) step { return step{what, l.stores.broker, brokerTimeout} }

func (l *lane) atClickHouse(what string) step { return step{what, l.stores.clickHouse, insertTimeout} }

// retry repeats an action until it succeeds or the lane is stopped: nothing else
// may happen to the partition before it has. What is failing is in the readiness
// check; the log has a line when a store goes and one when it is back, whichever lanes
// wait for it. A broker that answers, and refuses, is not away: the group is being
// divided anew, mostly.
func (l *lane) retry(ctx context.Context, s step, action func(ctx context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, maxPause
	told := false
	for {
		err := attempt(ctx, s.timeout, action)
		if err == nil {
			l.trouble.Store(nil)
			s.store.Worked(l.who)
			if told {
				l.log.InfoContext(ctx, "goes on", "partition", l.partition, "what", s.what)
			}
			return nil
		}
		text := fmt.Sprintf("%s: %v", s.what, err)
		l.trouble.Store(&text)
		if _, answered := errors.AsType[*kerr.Error](err); !answered {
			s.store.Failed(l.who, err)
		} else if !told {
			told = true
			l.log.WarnContext(ctx, "will be tried again", "partition", l.partition, "what", s.what, "err", err)
		}
		select {
		case <-l.stopping:
		case <-ctx.Done():
		case <-time.After(pauses.NextBackOff()):
			continue
		}
		s.store.Left(l.who)
		return errStopped
	}
}

func attempt(ctx context.Context, timeout time.Duration, action func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return action(ctx)
}

// stop ends the lane: it may finish the range in hand within the grace period,
// then it is cut off. When stop returns nothing of the lane runs, so no commit of
// it can be made after the partition went to another owner.
func (l *lane) stop(grace time.Duration) {
	l.queue.close()
	close(l.stopping)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
	}
	l.cancel()
	<-l.done
}
