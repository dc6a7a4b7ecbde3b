package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/trace"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
)

// publisher does the work of one session.
type publisher struct {
	relay  *Relay
	conn   *pgx.Conn
	client *kgo.Client
	// blocked are the links with a row that can never be published, and those that share
	// that row. Their later rows wait behind it; all other links go on.
	blocked map[[16]byte]bool
	// woken says that a notification came since the last look began.
	woken bool
}

// row is one row of the outbox on its way.
type row struct {
	id      int64
	link    [16]byte // the first one's
	changes int
	payload []byte
	at      trace.Context // where in a trace, of the few that are followed
	span    *trace.Span
	records []*record
}

// record is one record of a row. It has an error, too, when the row cannot be read.
type record struct {
	link  [16]byte
	kafka *kgo.Record
	err   error
}

// news waits until rows may be there: for a notification, the next poll, or the
// end of ctx, after which one last look is due.
func (p *publisher) news(ctx context.Context) error {
	if p.woken {
		return nil // it came between the queries of the last look
	}
	waiting, cancel := context.WithTimeout(ctx, pollEvery)
	defer cancel()
	if err := p.conn.PgConn().WaitForNotification(waiting); err != nil && waiting.Err() == nil {
		return fmt.Errorf("waiting for news: %w", err)
	}
	return nil
}

// drain publishes batch after batch until nothing is due.
func (p *publisher) drain(ctx context.Context) error {
	p.woken = false
	for {
		n, err := p.batch(ctx)
		if err != nil || n < batchRows {
			return err
		}
	}
}

// batch publishes what is due, at most batchRows, and deletes exactly the rows
// that were published. It returns how many it read.
func (p *publisher) batch(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, p.relay.timeout)
	defer cancel()
	rows, err := p.read(ctx)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	err = p.produce(ctx, rows)
	for _, r := range rows {
		r.span.End(err != nil || slices.ContainsFunc(r.records, func(rec *record) bool { return rec.err != nil }))
	}
	if err != nil {
		return 0, err
	}
	done, records, failed := p.outcome(ctx, rows)
	if len(done) > 0 {
		if _, err := p.conn.Exec(ctx, `DELETE FROM outbox WHERE id = ANY($1)`, done); err != nil {
			return 0, fmt.Errorf("deleting published rows: %w", err)
		}
		p.relay.published.Add(float64(records))
	}
	return len(rows), failed
}

// read returns what is due. Records of changes are due since -infinity, so they
// come first, in the order of their ids, which is each link's order: an id is
// taken while the link's row is locked.
func (p *publisher) read(ctx context.Context) ([]*row, error) {
	blocked := make([]uuid.UUID, 0, len(p.blocked))
	for id := range p.blocked {
		blocked = append(blocked, id)
	}
	result, err := p.conn.Query(ctx, `SELECT id, link_id, changes, payload, traceparent FROM outbox
		WHERE publish_after <= clock_timestamp() AND link_id <> ALL($1)
		ORDER BY publish_after, id LIMIT $2`, blocked, batchRows)
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	rows, err := pgx.CollectRows(result, func(from pgx.CollectableRow) (*row, error) {
		var r row
		var at *string
		err := from.Scan(&r.id, &r.link, &r.changes, &r.payload, &at)
		if at != nil {
			r.at, _ = trace.Parse(*at) // what cannot be read is not followed
		}
		return &r, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	return rows, nil
}

// produce hands all records to the broker and waits for every answer, which it notes in
// the record. Rows with a link behind one that cannot be encoded are not handed over, nor
// is any record of a row with such a one.
func (p *publisher) produce(ctx context.Context, rows []*row) error {
	stuck := map[[16]byte]error{}
	var sent []*record
	for _, r := range rows {
		r.records = p.records(r)
		if err := r.unfit(stuck); err != nil {
			for _, rec := range r.records {
				rec.err, stuck[rec.link] = err, err
			}
			continue
		}
		r.follow(p.relay.tracer)
		sent = append(sent, r.records...)
	}
	var answers sync.WaitGroup
	answered := make(chan struct{})
	outcomes := make([]error, len(sent)) // not in the records: a late answer must not race with their reader
	answers.Add(len(sent))
	for i, rec := range sent {
		p.client.Produce(ctx, rec.kafka, func(_ *kgo.Record, err error) {
			outcomes[i] = err
			answers.Done()
		})
	}
	go func() {
		answers.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		// The client may hold on to records whose fate it does not know. The session
		// ends, and closing the client ends them.
		p.client.Close()
		<-answered
		return fmt.Errorf("%w: %w", ErrBroker, ctx.Err())
	}
	for i, rec := range sent {
		rec.err = outcomes[i]
	}
	return nil
}

// follow makes the records carry the trace on, from the row's own span where this process
// has a tracer.
func (r *row) follow(tracer *trace.Tracer) {
	if !r.at.Sampled {
		return
	}
	r.span = tracer.Follow(r.at, "publish", trace.Producer)
	at := r.at
	if r.span != nil {
		r.span.Set("messaging.destination.name", r.records[0].kafka.Topic)
		at = r.span.Context()
	}
	for _, rec := range r.records {
		rec.kafka.Headers = append(rec.kafka.Headers, kgo.RecordHeader{Key: trace.Header, Value: []byte(at.String())})
	}
}

// unfit is why a row must not be sent: it cannot be encoded, or waits behind one that
// cannot.
func (r *row) unfit(stuck map[[16]byte]error) error {
	for _, rec := range r.records {
		if rec.err != nil {
			return rec.err
		}
		if err := stuck[rec.link]; err != nil {
			return err
		}
	}
	return nil
}

// errUndecodable marks a row that holds no LinkChanged.
var errUndecodable = errors.New("the row holds no link change")

// records are those of a row, at least one.
func (p *publisher) records(r *row) []*record {
	if r.payload == nil {
		return []*record{{link: r.link, kafka: events.LinkTombstone(p.relay.prefix, r.link[:])}}
	}
	parts := [][]byte{r.payload}
	if r.changes > 1 {
		var err error
		if parts, err = changelog.Split(r.payload, r.changes); err != nil {
			return []*record{{link: r.link, err: fmt.Errorf("%w: %w", errUndecodable, err)}}
		}
	}
	records := make([]*record, len(parts))
	for i, part := range parts {
		rec := &record{link: r.link}
		if rec.kafka, rec.err = p.record(part); rec.err == nil && r.changes > 1 {
			rec.link = [16]byte(rec.kafka.Key) // whose length was checked
		}
		records[i] = rec
	}
	return records
}

func (p *publisher) record(payload []byte) (*kgo.Record, error) {
	record, err := events.LinkChangedRecordOf(p.relay.prefix, payload)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUndecodable, err)
	}
	return record, nil
}

// outcome returns the ids of the rows to delete, and how many records they have: those
// published as a whole, up to each link's first failure. What was published behind a
// failure stays and is published again, so that the link's last record is its newest; so
// does what shares a row with a failure. Failures that may pass are returned; those that
// never will block their row's links.
func (p *publisher) outcome(ctx context.Context, rows []*row) (done []int64, records int, failed error) {
	done = make([]int64, 0, len(rows))
	stopped := map[[16]byte]bool{}
	for _, r := range rows {
		waits := slices.ContainsFunc(r.records, func(rec *record) bool { return stopped[rec.link] })
		i := slices.IndexFunc(r.records, func(rec *record) bool { return rec.err != nil })
		if !waits && i < 0 {
			done, records = append(done, r.id), records+len(r.records)
			continue
		}
		for _, rec := range r.records {
			stopped[rec.link] = true
		}
		if waits {
			continue
		}
		switch err := r.records[i].err; {
		case errors.Is(err, errUndecodable):
			p.block(ctx, r, err, reasonUndecodable)
		case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.InvalidRecord):
			p.block(ctx, r, err, reasonRejected)
		default:
			if failed == nil { // the others fail for the same reason
				failed = fmt.Errorf("%w: row %d: %w", ErrBroker, r.id, err)
			}
		}
	}
	return done, records, failed
}

// block makes the rows of a row's links wait for a person: outbox_pending keeps counting
// them. The next session tries once more.
func (p *publisher) block(ctx context.Context, r *row, err error, reason string) {
	p.blocked[r.link] = true
	for _, rec := range r.records {
		p.blocked[rec.link] = true
	}
	p.relay.errors.WithLabelValues(reason).Inc()
	p.relay.log.ErrorContext(ctx, "outbox row cannot be published", "row", r.id, "link_id", uuid.UUID(r.link).String(), "reason", reason, "err", err)
}
