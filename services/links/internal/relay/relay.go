// Package relay carries the outbox to the changelog.
//
// It promises that every record is published at least once, that the records of one
// link are published in the order in which they were written, and that of all
// relays of an installation one publishes at a time. A record that is published
// twice has the same ce_id both times. It refuses to remember a position: a row is
// done when it is deleted, because "id greater than the last one" would skip a
// transaction that took its id early and committed late.
//
// Everything a relay does to the outbox it does over one connection, which also
// holds the advisory lock that makes it the one, and listens for news. When the
// connection breaks, lock, queries and wake-ups are gone together, so a relay
// cannot go on reading rows that another has taken over. Records that were handed
// to the broker just before may still arrive after the successor's; readers
// compare revisions.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/kafka"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

const (
	// pollEvery is the net under NOTIFY, and finds tombstones that became due.
	pollEvery = time.Second
	// lockEvery is how often a standby asks for the lock.
	lockEvery = time.Second
	// retryAfter is the pause after a session broke.
	retryAfter = 500 * time.Millisecond
	// publishTimeout bounds one batch. After it the session ends, and with it all
	// that the client still holds.
	publishTimeout = 10 * time.Second
	// batchRows bounds a batch: at most some 30 MB, for a row has little more than 64 KiB,
	// and enough for the round trips not to matter.
	batchRows = 400
)

// ErrBroker is in what Relay logs of a broker that is away.
var ErrBroker = errors.New("the broker does not take the records")

// Relay publishes the outbox.
type Relay struct {
	pool    *pgxpool.Pool
	options []kgo.Opt
	prefix  string
	grace   time.Duration
	timeout time.Duration // of one batch
	tracer  *trace.Tracer // may be nil
	log     *slog.Logger

	pending   prometheus.Gauge
	active    prometheus.Gauge
	published prometheus.Counter
	errors    *prometheus.CounterVec
}

// Reasons of outbox_errors_total.
const (
	reasonSession     = "session"     // the connection, the lock or the broker was lost; it starts again
	reasonUndecodable = "undecodable" // a row holds no LinkChanged; its link's rows wait for a person
	reasonRejected    = "rejected"    // the broker will never take the record; likewise
)

// Trace makes the relay tell the tracer of what it publishes. It is for before Run.
func (r *Relay) Trace(tracer *trace.Tracer) { r.tracer = tracer }

// New returns a relay that reads over connections like the pool's and publishes
// with a client of the given options. grace bounds how long it finishes when it is
// stopped.
func New(pool *pgxpool.Pool, options []kgo.Opt, prefix string, grace time.Duration, registry *prometheus.Registry, log *slog.Logger) *Relay {
	r := &Relay{
		pool: pool, prefix: prefix, grace: grace, timeout: publishTimeout, log: log,
		options: append(append([]kgo.Opt{}, options...),
			kgo.RequiredAcks(kgo.AllISRAcks()),
			kgo.ProducerLinger(0), // an edit is on its way at once; batches form by themselves under load
		),
		pending:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "outbox_pending", Help: "Records in the outbox that are due and not published."}),
		active:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "outbox_relay_active", Help: "1 while this process is the one that publishes."}),
		published: prometheus.NewCounter(prometheus.CounterOpts{Name: "outbox_published_total", Help: "Records that were published and left the outbox."}),
		errors:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "outbox_errors_total", Help: "What kept rows from being published, by reason."}, []string{"reason"}),
	}
	for _, reason := range []string{reasonSession, reasonUndecodable, reasonRejected} {
		r.errors.WithLabelValues(reason)
	}
	registry.MustRegister(r.pending, r.active, r.published, r.errors)
	return r
}

// Run publishes until ctx is done, then publishes what is still due, for at most
// the grace period. It never gives up: a lost database or broker is logged and
// tried again.
func (r *Relay) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { r.measure(ctx) })
	defer wg.Wait()
	for {
		err := r.session(ctx)
		r.active.Set(0)
		if ctx.Err() != nil {
			return nil // what is not published now is published at the next start
		}
		r.errors.WithLabelValues(reasonSession).Inc()
		r.log.WarnContext(ctx, "relay starts again", "err", err)
		if !wait(ctx, retryAfter) {
			return nil
		}
	}
}

// session is one connection's life. It ends with an error, or with ctx.
func (r *Relay) session(ctx context.Context) error {
	// Work that has begun is finished after ctx ends, but not for ever.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(r.grace, cancel) // only signals
		context.AfterFunc(work, func() { timer.Stop() })
	})()

	p := &publisher{relay: r, blocked: map[[16]byte]bool{}}
	config := r.pool.Config().ConnConfig // a copy
	// Notes only that there is news. By default the driver keeps every notification
	// until somebody asks for it, without a bound.
	config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { p.woken = true }
	// The next change must not wait until the disk has it that the last one was published.
	// A deletion that a crash undoes is made again; with it go all that came after it, so
	// what is published again is in order.
	config.RuntimeParams["synchronous_commit"] = "off"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer closeConn(work, conn)
	if err := acquire(ctx, conn); err != nil {
		return err
	}
	// Listening comes before the first look, so that no commit falls in between.
	if _, err := conn.Exec(ctx, `LISTEN outbox`); err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	// The client lives as long as the lock: closing it drops what it still holds.
	client, err := kgo.NewClient(r.options...)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	defer client.Close()
	if err := kafka.CheckTopics(ctx, client, r.prefix, events.LinksChangelog); err != nil {
		if errors.Is(err, kafka.ErrMissingTopics) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrBroker, err)
	}
	r.active.Set(1)
	p.conn, p.client = conn, client
	for {
		// Looked at before the rows are read: what was committed before the end is due.
		last := ctx.Err() != nil
		if err := p.drain(work); err != nil || last {
			return err
		}
		if err := p.news(ctx); err != nil {
			return err
		}
	}
}

// acquire waits until this connection holds the lock.
func acquire(ctx context.Context, conn *pgx.Conn) error {
	for {
		var held bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, postgres.LockSpace, postgres.RelayLock).Scan(&held); err != nil {
			return fmt.Errorf("asking for the lock: %w", err)
		}
		if held {
			return nil
		}
		if !wait(ctx, lockEvery) {
			return ctx.Err()
		}
	}
}

// measure keeps outbox_pending current, also while another relay publishes and
// while a batch hangs. What the database does not say stays as it was.
func (r *Relay) measure(ctx context.Context) {
	for {
		var n int64
		if err := r.pool.QueryRow(ctx, `SELECT coalesce(sum(changes), 0) FROM outbox WHERE publish_after <= clock_timestamp()`).Scan(&n); err == nil {
			r.pending.Set(float64(n))
		}
		if !wait(ctx, pollEvery) {
			return
		}
	}
}

// wait says false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server notices either way
}
