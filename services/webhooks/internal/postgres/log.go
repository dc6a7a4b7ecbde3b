package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
)

// Logged is a delivery as the log shows it.
type Logged struct {
	ID            uuid.UUID
	EventID       string
	EventType     string
	LinkID        *uuid.UUID
	State         string // pending, delivered or failed
	Failure       string // why it failed for good
	Attempts      int
	LastStatus    *int
	LastError     string
	NextAttemptAt *time.Time
	CreatedAt     time.Time
	FinishedAt    *time.Time
}

// LoggedAttempt is one of a delivery's attempts.
type LoggedAttempt struct {
	Number int
	Attempt
}

// Position is a place in the log, which is ordered by creation, newest first.
type Position struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// LogFilter selects deliveries. Empty members select all.
type LogFilter struct {
	State, EventType string
	Link             *uuid.UUID
}

const loggedColumns = `d.id, d.event_id, d.event_type, d.link_id, d.state, coalesce(d.failure, ''), d.attempts, a.status, coalesce(a.error, ''),
	CASE WHEN d.state = 'pending' THEN d.next_attempt_at END, d.created_at, d.finished_at`

const loggedFrom = ` FROM webhook_deliveries d LEFT JOIN webhook_attempts a ON a.delivery_id = d.id AND a.number = d.attempts `

func scanLogged(row pgx.CollectableRow) (Logged, error) {
	var l Logged
	err := row.Scan(&l.ID, &l.EventID, &l.EventType, &l.LinkID, &l.State, &l.Failure, &l.Attempts, &l.LastStatus, &l.LastError, &l.NextAttemptAt, &l.CreatedAt, &l.FinishedAt)
	return l, err
}

// Log returns deliveries of an endpoint, newest first, and where to go on.
func (s *Store) Log(ctx context.Context, workspace, id uuid.UUID, f LogFilter, after *Position, limit int) ([]Logged, *Position, error) {
	if _, err := s.Get(ctx, workspace, id); err != nil {
		return nil, nil, err
	}
	from := Position{CreatedAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
	if after != nil {
		from = *after
	}
	rows, err := s.pool.Query(ctx, `SELECT `+loggedColumns+loggedFrom+`
		WHERE d.endpoint_id = $1 AND (d.created_at, d.id) < ($2, $3) AND ($4 = '' OR d.state = $4) AND ($5 = '' OR d.event_type = $5) AND ($6::uuid IS NULL OR d.link_id = $6)
		ORDER BY d.created_at DESC, d.id DESC LIMIT $7`, id, from.CreatedAt, from.ID, f.State, f.EventType, f.Link, limit+1)
	if err != nil {
		return nil, nil, translate(err)
	}
	list, err := pgx.CollectRows(rows, scanLogged)
	if err != nil || len(list) <= limit {
		return list, nil, translate(err)
	}
	last := list[limit-1]
	return list[:limit], &Position{CreatedAt: last.CreatedAt, ID: last.ID}, nil
}

// Look returns one delivery with its body and its attempts, the last ones first, at
// most 100.
func (s *Store) Look(ctx context.Context, workspace, id, delivery uuid.UUID) (l Logged, payload string, attempts []LoggedAttempt, err error) {
	rows, err := s.pool.Query(ctx, `SELECT `+loggedColumns+loggedFrom+` JOIN webhook_endpoints e ON e.id = d.endpoint_id
		WHERE e.workspace_id = $1 AND e.id = $2 AND d.id = $3`, workspace, id, delivery)
	if err != nil {
		return l, "", nil, translate(err)
	}
	if l, err = pgx.CollectExactlyOneRow(rows, scanLogged); err != nil {
		return l, "", nil, translate(err)
	}
	if err := s.pool.QueryRow(ctx, `SELECT payload FROM webhook_deliveries WHERE id = $1`, delivery).Scan(&payload); err != nil {
		return l, "", nil, translate(err)
	}
	rows, err = s.pool.Query(ctx, `SELECT number, started_at, duration_ms, coalesce(status, 0), error, response FROM webhook_attempts
		WHERE delivery_id = $1 ORDER BY number DESC LIMIT 100`, delivery)
	if err != nil {
		return l, "", nil, translate(err)
	}
	attempts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (LoggedAttempt, error) {
		var a LoggedAttempt
		var ms int64
		err := row.Scan(&a.Number, &a.StartedAt, &ms, &a.Status, &a.Error, &a.Response)
		a.Took = time.Duration(ms) * time.Millisecond
		return a, err
	})
	return l, payload, attempts, translate(err)
}

// again makes a delivery pending anew; whoever is sending it may not write its outcome.
const again = `UPDATE webhook_deliveries SET state = 'pending', failure = NULL, finished_at = NULL, round_attempts = 0, round_started_at = NULL, claim = claim + 1,
	next_attempt_at = NULL WHERE id = ANY($1) AND state <> 'pending'`

// Replay queues a delivery again, with the id that it had. One that is pending is made
// due. It returns ErrDisabled when the endpoint is.
func (s *Store) Replay(ctx context.Context, workspace, id, delivery uuid.UUID) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		order, err := orderOf(ctx, tx, workspace, id, delivery)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, chain(id, order)); err != nil {
			return fmt.Errorf("locking the chain: %w", err)
		}
		tag, err := tx.Exec(ctx, again, []uuid.UUID{delivery})
		if err != nil {
			return fmt.Errorf("queueing a delivery again: %w", err)
		}
		if tag.RowsAffected() == 0 {
			// Only brought forward: it keeps its place, and is not taken from who is sending it.
			_, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET next_attempt_at = now() WHERE id = $1 AND state = 'pending' AND next_attempt_at > now() + interval '1 minute'`, delivery)
			return err
		}
		return wake(ctx, tx, []uuid.UUID{delivery})
	})
}

func orderOf(ctx context.Context, tx pgx.Tx, workspace, id, delivery uuid.UUID) (order uuid.UUID, err error) {
	var enabled bool
	err = tx.QueryRow(ctx, `SELECT d.order_key, e.enabled FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
		WHERE e.workspace_id = $1 AND e.id = $2 AND d.id = $3`, workspace, id, delivery).Scan(&order, &enabled)
	if err == nil && !enabled {
		err = endpoint.ErrDisabled
	}
	return order, err
}

// wake makes those due that are the first of a chain in which nothing is due.
func wake(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_deliveries d SET next_attempt_at = now() WHERE d.id = ANY($1) AND d.state = 'pending' AND d.next_attempt_at IS NULL
		AND NOT EXISTS (SELECT FROM webhook_deliveries o WHERE o.endpoint_id = d.endpoint_id AND o.order_key = d.order_key AND o.state = 'pending'
			AND (o.next_attempt_at IS NOT NULL OR o.seq < d.seq))`, ids)
	if err != nil {
		return fmt.Errorf("making the first of a chain due: %w", err)
	}
	_, err = tx.Exec(ctx, `SELECT pg_notify('webhook_deliveries', '')`)
	return err
}

// MaxReplay is how many deliveries one call replays at most.
const MaxReplay = 1000

// ReplayRange queues deliveries again that were queued in [from, to) and are in the
// state, the oldest first, MaxReplay at most. It returns how many, and whether there may
// be more.
func (s *Store) ReplayRange(ctx context.Context, workspace, id uuid.UUID, from, to time.Time, state string) (n int, more bool, err error) {
	e, err := s.Get(ctx, workspace, id)
	if err != nil {
		return 0, false, err
	}
	if !e.Enabled {
		return 0, false, endpoint.ErrDisabled
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT id, order_key FROM webhook_deliveries WHERE endpoint_id = $1 AND created_at >= $2 AND created_at < $3 AND state = $4
			ORDER BY created_at, id LIMIT $5`, id, from, to, state, MaxReplay+1)
		if err != nil {
			return fmt.Errorf("finding deliveries: %w", err)
		}
		var ids []uuid.UUID
		chains := map[int64]struct{}{}
		var delivery, order uuid.UUID
		if _, err := pgx.ForEachRow(rows, []any{&delivery, &order}, func() error {
			ids = append(ids, delivery)
			chains[chain(id, order)] = struct{}{}
			return nil
		}); err != nil {
			return fmt.Errorf("finding deliveries: %w", err)
		}
		more = len(ids) > MaxReplay
		ids = ids[:min(len(ids), MaxReplay)]
		if err := lockAll(ctx, tx, chains); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, again, ids)
		if err != nil {
			return fmt.Errorf("queueing deliveries again: %w", err)
		}
		n = int(tag.RowsAffected())
		return wake(ctx, tx, ids)
	})
	return n, more, err
}
