package postgres

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

// Queued is an event for an endpoint.
type Queued struct {
	Endpoint uuid.UUID
	Event    *event.Event
}

// Enqueue queues events, those of one order key in the order given. What is queued
// already stays as it is.
func (s *Store) Enqueue(ctx context.Context, queue []Queued) error {
	if len(queue) == 0 {
		return nil
	}
	return s.inTx(ctx, func(tx pgx.Tx) error { return enqueue(ctx, tx, queue) })
}

func enqueue(ctx context.Context, tx pgx.Tx, queue []Queued) error {
	if err := lockChains(ctx, tx, queue); err != nil {
		return err
	}
	for _, q := range queue {
		payload, err := q.Event.JSON()
		if err != nil {
			return err
		}
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("making an id: %w", err)
		}
		var link *uuid.UUID
		if q.Event.Link != uuid.Nil {
			link = &q.Event.Link
		}
		// The endpoint may be gone or disabled by now: then there is nobody to tell.
		_, err = tx.Exec(ctx, `
			INSERT INTO webhook_deliveries (id, endpoint_id, event_id, event_type, link_id, order_key, payload, created_at, next_attempt_at)
			SELECT $1, $2, $3, $4, $5, $6, $7, now(), CASE WHEN NOT EXISTS (
				SELECT FROM webhook_deliveries WHERE endpoint_id = $2 AND order_key = $6 AND state = 'pending') THEN now() END
			FROM webhook_endpoints WHERE id = $2 AND enabled
			ON CONFLICT (endpoint_id, event_id) DO NOTHING`,
			id, q.Endpoint, q.Event.ID, string(q.Event.Type), link, q.Event.Order, string(payload))
		if err != nil {
			return fmt.Errorf("queueing an event: %w", err)
		}
	}
	return nil
}

// chain is the number of the advisory lock of an endpoint's chain. Two chains that share
// one by chance wait for each other, and nothing else happens.
func chain(endpoint, order uuid.UUID) int64 {
	sum := sha256.Sum256(append(endpoint[:], order[:]...))
	return int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // any number will do
}

func lockChains(ctx context.Context, tx pgx.Tx, queue []Queued) error {
	chains := map[int64]struct{}{}
	for _, q := range queue {
		chains[chain(q.Endpoint, q.Event.Order)] = struct{}{}
	}
	return lockAll(ctx, tx, chains)
}

func lockAll(ctx context.Context, tx pgx.Tx, chains map[int64]struct{}) error {
	for _, c := range slices.Sorted(maps.Keys(chains)) {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, c); err != nil {
			return fmt.Errorf("locking a chain: %w", err)
		}
	}
	return nil
}

// Delivery is one that is claimed, with all that sending it takes.
type Delivery struct {
	ID, Endpoint, Order uuid.UUID
	Claim               int64
	EventID             string
	Payload             string
	// RoundAttempts is how often it was tried since it was queued or replayed last, and
	// RoundStarted when that began; the zero time before the first attempt.
	RoundAttempts int
	RoundStarted  time.Time
	Queued        time.Time

	URL string
	// Secrets sign the delivery, all of them.
	Secrets []string
}

// Claim takes deliveries that are due: at most perEndpoint for each endpoint, and none
// for those that full lists (with how many they may have more). Nobody else gets them for
// as long as lease, and then somebody does.
func (s *Store) Claim(ctx context.Context, limit int, perEndpoint int, busy map[uuid.UUID]int, lease time.Duration) ([]Delivery, error) {
	ids, counts := make([]uuid.UUID, 0, len(busy)), make([]int32, 0, len(busy))
	for id, n := range busy {
		ids, counts = append(ids, id), append(counts, int32(n)) //nolint:gosec // a handful
	}
	var claimed []Delivery
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		// One look into the index for each enabled endpoint: a backlog of one hides nobody's
		// delivery. The endpoints whose delivery waits longest come first.
		rows, err := tx.Query(ctx, `
			WITH busy AS (SELECT * FROM unnest($3::uuid[], $4::int[]) AS b (endpoint_id, n)),
			due AS (
				SELECT d.id FROM webhook_endpoints e
				LEFT JOIN busy b ON b.endpoint_id = e.id
				CROSS JOIN LATERAL (
					SELECT d.id, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS turn FROM (
						SELECT id, next_attempt_at FROM webhook_deliveries
						WHERE endpoint_id = e.id AND state = 'pending' AND next_attempt_at <= now()
						ORDER BY next_attempt_at LIMIT greatest($2 - coalesce(b.n, 0), 0)
						FOR UPDATE SKIP LOCKED
					) d
				) d
				WHERE e.enabled ORDER BY d.turn, d.next_attempt_at LIMIT $1
			)
			UPDATE webhook_deliveries d SET claim = d.claim + 1, next_attempt_at = now() + make_interval(secs => $5)
			FROM due, webhook_endpoints e WHERE d.id = due.id AND e.id = d.endpoint_id
			RETURNING d.id, d.endpoint_id, d.order_key, d.claim, d.event_id, d.payload, d.round_attempts, coalesce(d.round_started_at, 'epoch'), d.created_at, e.url,
				e.secret, CASE WHEN e.previous_until > now() THEN e.previous_secret END`,
			limit, perEndpoint, ids, counts, lease.Seconds())
		if err != nil {
			return fmt.Errorf("claiming deliveries: %w", err)
		}
		claimed, err = pgx.CollectRows(rows, s.scanDelivery)
		return err
	})
	slices.SortFunc(claimed, func(a, b Delivery) int {
		return cmp.Or(a.Queued.Compare(b.Queued), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return claimed, err
}

func (s *Store) scanDelivery(row pgx.CollectableRow) (Delivery, error) {
	var (
		d                 Delivery
		current, previous []byte
	)
	err := row.Scan(&d.ID, &d.Endpoint, &d.Order, &d.Claim, &d.EventID, &d.Payload, &d.RoundAttempts, &d.RoundStarted, &d.Queued, &d.URL, &current, &previous)
	if err != nil {
		return d, err
	}
	for _, sealed := range [][]byte{current, previous} {
		if sealed == nil {
			continue
		}
		secret, err := s.box.Open(d.Endpoint, sealed)
		if err != nil {
			return d, fmt.Errorf("opening the secret of endpoint %s: %w", d.Endpoint, err)
		}
		d.Secrets = append(d.Secrets, secret)
	}
	return d, nil
}

// Attempt is one try of a delivery.
type Attempt struct {
	StartedAt time.Time
	Took      time.Duration
	// Status is 0 when nobody answered; then Error says why.
	Status   int
	Error    string
	Response string
}

// Outcome is what becomes of a delivery after an attempt.
type Outcome int

// The outcomes.
const (
	// Delivered: the endpoint took it.
	Delivered Outcome = iota
	// Retry: it is tried again.
	Retry
	// GivenUp: it was tried for long enough.
	GivenUp
	// EndpointGone: the endpoint wants nothing any more.
	EndpointGone
)

// Result is an attempt with its outcome. After is how long a retry waits, and
// FailingLimit how long an endpoint may fail all the time before it is disabled.
type Result struct {
	Attempt      Attempt
	Outcome      Outcome
	After        time.Duration
	FailingLimit time.Duration
}

// Finish writes the result of a claimed delivery, and says why its endpoint was disabled
// by it, if it was. A claim that is not the newest writes the attempt and nothing else:
// somebody else has the delivery now.
func (s *Store) Finish(ctx context.Context, d *Delivery, r Result) (disabled endpoint.Reason, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		disabled = ""
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, chain(d.Endpoint, d.Order)); err != nil {
			return fmt.Errorf("locking the chain: %w", err)
		}
		mine, err := note(ctx, tx, d, r.Attempt)
		if err != nil || !mine {
			return err
		}
		switch r.Outcome {
		case Delivered:
			return deliver(ctx, tx, d)
		case EndpointGone:
			if err := fail(ctx, tx, d, "gone"); err != nil {
				return err
			}
			disabled = endpoint.Gone
			return disable(ctx, tx, d.Endpoint, endpoint.Gone)
		case GivenUp:
			if err := fail(ctx, tx, d, "given_up"); err != nil {
				return err
			}
			if err := promote(ctx, tx, d.Endpoint, d.Order); err != nil {
				return err
			}
		case Retry:
			_, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET next_attempt_at = now() + make_interval(secs => $2) WHERE id = $1`, d.ID, r.After.Seconds())
			if err != nil {
				return fmt.Errorf("putting a delivery back: %w", err)
			}
		}
		tooLong, err := failing(ctx, tx, d.Endpoint, r.FailingLimit)
		if err != nil || !tooLong {
			return err
		}
		disabled = endpoint.Failing
		return disable(ctx, tx, d.Endpoint, endpoint.Failing)
	})
	return disabled, err
}

// note writes the attempt, and says whether the claim is still the newest.
func note(ctx context.Context, tx pgx.Tx, d *Delivery, a Attempt) (mine bool, err error) {
	var status *int
	if a.Status != 0 {
		status = &a.Status
	}
	var claim, number int64
	var pending bool
	err = tx.QueryRow(ctx, `
		UPDATE webhook_deliveries SET attempts = attempts + 1, round_attempts = round_attempts + CASE WHEN claim = $2 THEN 1 ELSE 0 END,
			round_started_at = coalesce(round_started_at, $3)
		WHERE id = $1 RETURNING claim, attempts, state = 'pending'`, d.ID, d.Claim, a.StartedAt).Scan(&claim, &number, &pending)
	if err == pgx.ErrNoRows { //nolint:errorlint // pgx returns it bare
		return false, nil // the endpoint was deleted meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("counting an attempt: %w", err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO webhook_attempts (delivery_id, number, started_at, duration_ms, status, error, response) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		d.ID, number, a.StartedAt, a.Took.Milliseconds(), status, a.Error, a.Response)
	if err != nil {
		return false, fmt.Errorf("writing an attempt: %w", err)
	}
	return pending && claim == d.Claim, nil
}

func deliver(ctx context.Context, tx pgx.Tx, d *Delivery) error {
	if _, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET state = 'delivered', finished_at = now(), next_attempt_at = NULL WHERE id = $1`, d.ID); err != nil {
		return fmt.Errorf("finishing a delivery: %w", err)
	}
	if _, err := tx.Exec(ctx, `UPDATE webhook_endpoints SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL`, d.Endpoint); err != nil {
		return fmt.Errorf("noting that an endpoint works: %w", err)
	}
	return promote(ctx, tx, d.Endpoint, d.Order)
}

func fail(ctx context.Context, tx pgx.Tx, d *Delivery, why string) error {
	_, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET state = 'failed', failure = $2, finished_at = now(), next_attempt_at = NULL WHERE id = $1`, d.ID, why)
	if err != nil {
		return fmt.Errorf("giving up a delivery: %w", err)
	}
	return nil
}

// failing notes that an endpoint failed, and says whether it has for too long.
func failing(ctx context.Context, tx pgx.Tx, id uuid.UUID, limit time.Duration) (tooLong bool, err error) {
	err = tx.QueryRow(ctx, `
		UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, now()) WHERE id = $1
		RETURNING failing_since <= now() - make_interval(secs => $2)`, id, limit.Seconds()).Scan(&tooLong)
	if err != nil {
		return false, fmt.Errorf("noting that an endpoint fails: %w", err)
	}
	return tooLong, nil
}

// promote makes the first that waits in a chain due, when none is.
func promote(ctx context.Context, tx pgx.Tx, id, order uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_deliveries SET next_attempt_at = now() WHERE id = (
			SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND order_key = $2 AND state = 'pending' ORDER BY seq LIMIT 1)
		AND next_attempt_at IS NULL`, id, order)
	if err != nil {
		return fmt.Errorf("making the next of a chain due: %w", err)
	}
	return nil
}
