package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
)

// sweepRows bounds what one sweep deletes, and with it how long it holds locks.
const sweepRows = 5000

// Sweep does what nobody waits for: it forgets what was finished longer ago than keep,
// disables endpoints for which more than maxQueue deliveries wait, gives up what waits
// for disabled ones, and makes the head of a chain due that is not. It returns which
// endpoints it disabled. Several processes may sweep at the same time.
func (s *Store) Sweep(ctx context.Context, keep time.Duration, maxQueue int) (full []uuid.UUID, err error) {
	_, err = s.pool.Exec(ctx, `DELETE FROM webhook_deliveries WHERE id IN (
		SELECT id FROM webhook_deliveries WHERE finished_at < now() - make_interval(secs => $1) ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, keep.Seconds(), sweepRows)
	if err != nil {
		return nil, translate(fmt.Errorf("forgetting old deliveries: %w", err))
	}
	if full, err = s.disableFull(ctx, maxQueue); err != nil {
		return full, err
	}
	// Queued while the endpoint was being disabled.
	_, err = s.pool.Exec(ctx, `
		UPDATE webhook_deliveries d SET state = 'failed', failure = 'endpoint_disabled', finished_at = now(), next_attempt_at = NULL, claim = claim + 1
		FROM webhook_endpoints e WHERE e.id = d.endpoint_id AND NOT e.enabled AND d.state = 'pending'`)
	if err != nil {
		return full, translate(fmt.Errorf("giving up what waits for disabled endpoints: %w", err))
	}
	return full, s.promoteHeads(ctx)
}

func (s *Store) disableFull(ctx context.Context, maxQueue int) (full []uuid.UUID, err error) {
	rows, err := s.pool.Query(ctx, `SELECT e.id FROM webhook_endpoints e WHERE e.enabled
		AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.state = 'pending' OFFSET $1)`, maxQueue)
	if err != nil {
		return nil, translate(err)
	}
	full, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, translate(err)
	}
	for _, id := range full {
		if err := s.inTx(ctx, func(tx pgx.Tx) error { return disable(ctx, tx, id, endpoint.QueueFull) }); err != nil {
			return full, err
		}
	}
	return full, nil
}

// promoteHeads is the net under promote: nothing should be left for it to do.
func (s *Store) promoteHeads(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, `
		SELECT endpoint_id, order_key FROM webhook_deliveries WHERE state = 'pending'
		GROUP BY endpoint_id, order_key HAVING bool_and(next_attempt_at IS NULL) LIMIT $1`, sweepRows)
	if err != nil {
		return translate(err)
	}
	type key struct{ endpoint, order uuid.UUID }
	var stuck []key
	var k key
	if _, err := pgx.ForEachRow(rows, []any{&k.endpoint, &k.order}, func() error {
		stuck = append(stuck, k)
		return nil
	}); err != nil {
		return translate(err)
	}
	for _, k := range stuck {
		err := s.inTx(ctx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, chain(k.endpoint, k.order)); err != nil {
				return fmt.Errorf("locking the chain: %w", err)
			}
			return promote(ctx, tx, k.endpoint, k.order)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Depth is how full the queue is.
type Depth struct {
	Pending int
	// OldestDue is for how long the delivery has been due that has been due longest.
	OldestDue time.Duration
}

// Depth measures the queue.
func (s *Store) Depth(ctx context.Context) (Depth, error) {
	var (
		d       Depth
		seconds float64
	)
	err := s.pool.QueryRow(ctx, `SELECT count(*), coalesce(extract(epoch FROM now() - min(next_attempt_at)), 0)::float8 FROM webhook_deliveries WHERE state = 'pending'`).Scan(&d.Pending, &seconds)
	d.OldestDue = max(0, time.Duration(seconds*float64(time.Second)))
	return d, translate(err)
}

// Listen calls wake when something was queued, until ctx is done or the connection
// breaks. It takes a connection of its own.
func (s *Store) Listen(ctx context.Context, wake func()) error {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return translate(err)
	}
	conn := pooled.Hijack()
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN webhook_deliveries`); err != nil {
		return translate(err)
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return translate(err)
		}
		wake()
	}
}
