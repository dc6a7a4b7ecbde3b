package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/clicks/internal/enrich"
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

// The clicks that are accepted, by their time. What lies outside comes from a
// broken encoder, and the table's partitions and DateTime end somewhere.
const (
	minTimeUnixMicro = 946_684_800_000_000   // 2000-01-01
	maxTimeUnixMicro = 4_102_444_800_000_000 // 2100-01-01
)

var errStopped = errors.New("stopped before it succeeded")

// store is what a lane needs of ClickHouse.
type store interface {
	insert(ctx context.Context, token string, rows *columns) error
	missing(ctx context.Context, rows *columns) (*columns, error)
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
	enricher  *enrich.Enricher
	visitors  *enrich.Visitors
	metrics   *Metrics
	slots     chan *columns // the buffers that all lanes share: who has one may insert
	log       *slog.Logger

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
		b, wait, ok := l.queue.take(time.Now())
		if ok {
			if err := l.finish(ctx, b); err != nil {
				return // stopped; finish has logged what failed
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

// finish does one range: note, dead records, insert, commit, in this order.
//
// The note comes before the insert, so that a range whose insert may have
// happened is never cut differently by the next owner: the same range has the same
// token, and ClickHouse drops the second of two inserts with one token. Everything
// before the final commit may therefore happen twice and counts once.
func (l *lane) finish(ctx context.Context, b batch) error {
	if err := l.retry(ctx, "noting a range", brokerTimeout, func(ctx context.Context) error {
		return l.offsets.commit(ctx, l.partition, b.from, l.topic.note(b.span))
	}); err != nil {
		return err
	}
	var rows *columns
	select {
	case rows = <-l.slots:
		defer func() { l.slots <- rows }()
	case <-l.stopping:
		return errStopped
	case <-ctx.Done():
		return errStopped
	}
	if err := l.retry(ctx, "enriching", insertTimeout, func(ctx context.Context) error {
		return l.fill(ctx, rows, b.records)
	}); err != nil {
		return err
	}
	if len(l.dead) > 0 {
		if err := l.retry(ctx, "writing dead records", brokerTimeout, func(ctx context.Context) error {
			return l.offsets.produceDead(ctx, l.dead)
		}); err != nil {
			return err
		}
	}
	duplicates, err := l.insert(ctx, b, rows)
	if err != nil {
		return err
	}
	inserted := time.Now()
	if err := l.retry(ctx, "committing", brokerTimeout, func(ctx context.Context) error {
		return l.offsets.commit(ctx, l.partition, b.to, "")
	}); err != nil {
		return err
	}
	l.metrics.inserted.Add(float64(rows.len()))
	l.metrics.deduplicated.Add(float64(duplicates))
	l.metrics.dead.Add(float64(len(l.dead)))
	for _, ts := range rows.ts {
		l.metrics.lag.Observe(inserted.Sub(ts).Seconds())
	}
	return nil
}

// fill decodes and enriches the records; what is no click becomes a dead record.
func (l *lane) fill(ctx context.Context, rows *columns, records []*kgo.Record) error {
	rows.reset()
	l.dead = l.dead[:0]
	var (
		click eventspb.Click
		key   enrich.Key
		day   = enrich.Day(-1)
	)
	for _, r := range records {
		if err := decode(r.Value, &click); err != nil {
			l.dead = append(l.dead, events.DeadRecord(events.DeadClicks, l.prefix, r, err))
			continue
		}
		if d := enrich.DayOf(click.GetTimeUnixUs()); d != day {
			var err error
			if key, err = l.visitors.Key(ctx, d); err != nil {
				return err
			}
			day = d
		}
		row := l.enricher.Row(&click, key)
		rows.append(&row)
	}
	return nil
}

func decode(value []byte, click *eventspb.Click) error {
	if err := events.DecodeClick(value, click); err != nil {
		return err
	}
	if t := click.GetTimeUnixUs(); t < minTimeUnixMicro || t >= maxTimeUnixMicro {
		return fmt.Errorf("decoding a click: time_unix_us %d is before 2000 or after 2099", t)
	}
	return nil
}

// insert inserts the filled rows and returns how many were there already.
//
// What keeps rows single is the token. An insert that may have been tried before, by
// this process or by the range's earlier owner, is looked up before, to count the
// duplicates, and after, because a token can outlive its rows (see attempts).
func (l *lane) insert(ctx context.Context, b batch, rows *columns) (duplicates int, err error) {
	if rows.len() == 0 {
		return 0, nil
	}
	token := l.topic.token(l.partition, b.span)
	repeated := b.redone
	err = l.retry(ctx, "inserting", insertTimeout, func(ctx context.Context) error {
		if repeated {
			missing, err := l.store.missing(ctx, rows)
			if err != nil {
				return err
			}
			duplicates = rows.len() - missing.len()
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
		return duplicates, err
	}
	return duplicates, l.retry(ctx, "inserting what is missing", insertTimeout, func(ctx context.Context) error {
		return l.complete(ctx, token, rows)
	})
}

// complete inserts those of the rows that are not in the table although an insert
// under the token has succeeded.
func (l *lane) complete(ctx context.Context, token string, rows *columns) error {
	for n := 1; ; n++ {
		missing, err := l.store.missing(ctx, rows)
		if err != nil || missing.len() == 0 {
			return err
		}
		if n == attempts {
			// Not a crash, then: something removes rows as they come. Waiting would stop
			// the partition for good.
			l.log.ErrorContext(ctx, "rows are not in the table after they were inserted", "token", token, "rows", missing.len())
			return nil
		}
		l.log.WarnContext(ctx, "token without rows, inserting under the next one", "token", token, "attempt", n, "rows", missing.len())
		if err := l.store.insert(ctx, attemptToken(token, n), missing); err != nil {
			return err
		}
	}
}

// retry repeats an action until it succeeds or the lane is stopped: nothing else
// may happen to the partition before it has. It logs the first failure and the
// recovery; what is failing in between is in the readiness check.
func (l *lane) retry(ctx context.Context, what string, timeout time.Duration, action func(ctx context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, maxPause
	for failures := 0; ; failures++ {
		err := attempt(ctx, timeout, action)
		if err == nil {
			if failures > 0 {
				l.trouble.Store(nil)
				l.log.InfoContext(ctx, "goes on", "partition", l.partition, "what", what, "failures", failures)
			}
			return nil
		}
		text := fmt.Sprintf("%s: %v", what, err)
		l.trouble.Store(&text)
		if failures == 0 {
			l.log.WarnContext(ctx, "will be tried again", "partition", l.partition, "what", what, "err", err)
		}
		select {
		case <-l.stopping:
			return errStopped
		case <-ctx.Done():
			return errStopped
		case <-time.After(pauses.NextBackOff()):
		}
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
