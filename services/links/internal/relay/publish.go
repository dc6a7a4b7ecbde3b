package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

// publisher does the work of one session.
type publisher struct {
	relay  *Relay
	conn   *pgx.Conn
	client *kgo.Client
	// blocked are the links with a row that can never be published. Their later rows
	// wait behind it; all other links go on.
	blocked map[[16]byte]bool
	// woken says that a notification came since the last look began.
	woken bool
}

// row is one row of the outbox on its way.
type row struct {
	id      int64
	link    [16]byte
	payload []byte
	err     error
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
	if err := p.produce(ctx, rows); err != nil {
		return 0, err
	}
	done, failed := p.outcome(ctx, rows)
	if len(done) > 0 {
		if _, err := p.conn.Exec(ctx, `DELETE FROM outbox WHERE id = ANY($1)`, done); err != nil {
			return 0, fmt.Errorf("deleting published rows: %w", err)
		}
		p.relay.published.Add(float64(len(done)))
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
	result, err := p.conn.Query(ctx, `SELECT id, link_id, payload FROM outbox
		WHERE publish_after <= clock_timestamp() AND link_id <> ALL($1)
		ORDER BY publish_after, id LIMIT $2`, blocked, batchRows)
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	rows, err := pgx.CollectRows(result, func(from pgx.CollectableRow) (*row, error) {
		var r row
		return &r, from.Scan(&r.id, &r.link, &r.payload)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	return rows, nil
}

// produce hands all rows to the broker and waits for every answer, which it notes
// in the row. Rows of a link behind one that cannot be encoded are not handed over.
func (p *publisher) produce(ctx context.Context, rows []*row) error {
	stuck := map[[16]byte]error{}
	var answers sync.WaitGroup
	answered := make(chan struct{})
	outcomes := make([]error, len(rows)) // not in the rows: a late answer must not race with their reader
	for i, r := range rows {
		if outcomes[i] = stuck[r.link]; outcomes[i] != nil {
			continue
		}
		record, err := p.record(r)
		if err != nil {
			outcomes[i], stuck[r.link] = err, err
			continue
		}
		answers.Add(1)
		p.client.Produce(ctx, record, func(_ *kgo.Record, err error) {
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
		return fmt.Errorf("waiting for the broker: %w", ctx.Err())
	}
	for i, r := range rows {
		r.err = outcomes[i]
	}
	return nil
}

// errUndecodable marks a row that holds no LinkChanged.
var errUndecodable = errors.New("the row holds no link change")

func (p *publisher) record(r *row) (*kgo.Record, error) {
	if r.payload == nil {
		return events.LinkTombstone(p.relay.prefix, r.link[:]), nil
	}
	ev := &eventspb.LinkChanged{}
	if err := proto.Unmarshal(r.payload, ev); err != nil {
		return nil, fmt.Errorf("%w: %w", errUndecodable, err)
	}
	record, err := events.LinkChangedRecord(p.relay.prefix, ev)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUndecodable, err)
	}
	return record, nil
}

// outcome returns the ids to delete: those published, up to each link's first
// failure. What was published behind a failure stays and is published again, so
// that the link's last record is its newest. Failures that may pass are returned;
// those that never will block their link.
func (p *publisher) outcome(ctx context.Context, rows []*row) (done []int64, failed error) {
	done = make([]int64, 0, len(rows))
	stopped := map[[16]byte]bool{}
	for _, r := range rows {
		if stopped[r.link] {
			continue
		}
		if r.err == nil {
			done = append(done, r.id)
			continue
		}
		stopped[r.link] = true
		switch {
		case errors.Is(r.err, errUndecodable):
			p.block(ctx, r, reasonUndecodable)
		case errors.Is(r.err, kerr.MessageTooLarge), errors.Is(r.err, kerr.InvalidRecord):
			p.block(ctx, r, reasonRejected)
		default:
			if failed == nil { // the others fail for the same reason
				failed = fmt.Errorf("publishing row %d: %w", r.id, r.err)
			}
		}
	}
	return done, failed
}

// block makes a link's rows wait for a person: outbox_pending keeps counting them.
// The next session tries once more.
func (p *publisher) block(ctx context.Context, r *row, reason string) {
	p.blocked[r.link] = true
	p.relay.errors.WithLabelValues(reason).Inc()
	p.relay.log.ErrorContext(ctx, "outbox row cannot be published", "row", r.id, "link_id", uuid.UUID(r.link).String(), "reason", reason, "err", r.err)
}
