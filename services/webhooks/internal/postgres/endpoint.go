package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

const endpointColumns = `id, workspace_id, url, description, event_types, domains, tags, link_ids, thresholds, summary_seconds,
	enabled, coalesce(disabled_reason, ''), disabled_at, active_from, failing_since, CASE WHEN previous_until > now() THEN previous_until END,
	version, created_at, updated_at`

func scanEndpoint(row pgx.CollectableRow) (endpoint.Endpoint, error) {
	var (
		e       endpoint.Endpoint
		types   []string
		seconds int
	)
	err := row.Scan(&e.ID, &e.WorkspaceID, &e.URL, &e.Description, &types, &e.Filter.Domains, &e.Filter.Tags, &e.Filter.Links, &e.Thresholds, &seconds,
		&e.Enabled, &e.DisabledReason, &e.DisabledAt, &e.ActiveFrom, &e.FailingSince, &e.PreviousUntil, &e.Version, &e.CreatedAt, &e.UpdatedAt)
	for _, t := range types {
		e.Filter.Types = append(e.Filter.Types, event.Type(t))
	}
	e.SummaryEvery = time.Duration(seconds) * time.Second
	return e, err
}

func one(rows pgx.Rows, err error) (*endpoint.Endpoint, error) {
	if err != nil {
		return nil, translate(err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanEndpoint)
	if err != nil {
		return nil, translate(err)
	}
	return &e, nil
}

// Make stores a new endpoint with its secret. It returns ErrTooMany when the workspace
// has as many as it may have.
func (s *Store) Make(ctx context.Context, e *endpoint.Endpoint, secret string) (made *endpoint.Endpoint, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		// Of two at the same time one waits here, and counts the other's.
		var count int
		if _, err := tx.Exec(ctx, `SELECT 1 FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, e.WorkspaceID); err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM webhook_endpoints WHERE workspace_id = $1`, e.WorkspaceID).Scan(&count); err != nil {
			return fmt.Errorf("counting the endpoints: %w", err)
		}
		if count >= endpoint.Max {
			return endpoint.ErrTooMany
		}
		made, err = one(tx.Query(ctx, `
			INSERT INTO webhook_endpoints (id, workspace_id, url, description, event_types, domains, tags, link_ids, thresholds, summary_seconds,
				enabled, disabled_reason, disabled_at, active_from, secret, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, CASE WHEN $11 THEN NULL ELSE 'request' END, CASE WHEN $11 THEN NULL ELSE clock_timestamp() END,
				clock_timestamp(), $12, clock_timestamp(), clock_timestamp())
			RETURNING `+endpointColumns,
			e.ID, e.WorkspaceID, e.URL, e.Description, names(e.Filter.Types), filled(e.Filter.Domains), filled(e.Filter.Tags), filled(e.Filter.Links),
			filled(e.Thresholds), int(e.SummaryEvery/time.Second), e.Enabled, s.box.Seal(e.ID, secret)))
		return err
	})
	return made, err
}

func names(types []event.Type) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = string(t)
	}
	return out
}

// filled is a list that is not null to the database.
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Get returns an endpoint of a workspace.
func (s *Store) Get(ctx context.Context, workspace, id uuid.UUID) (*endpoint.Endpoint, error) {
	return one(s.pool.Query(ctx, `SELECT `+endpointColumns+` FROM webhook_endpoints WHERE workspace_id = $1 AND id = $2`, workspace, id))
}

// List returns a workspace's endpoints, newest first. There are at most endpoint.Max.
func (s *Store) List(ctx context.Context, workspace uuid.UUID) ([]endpoint.Endpoint, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+endpointColumns+` FROM webhook_endpoints WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC`, workspace)
	if err != nil {
		return nil, translate(err)
	}
	list, err := pgx.CollectRows(rows, scanEndpoint)
	return list, translate(err)
}

// Edit changes an endpoint with change, unless meant says that its version is not the
// one that the caller knew.
func (s *Store) Edit(ctx context.Context, workspace, id uuid.UUID, meant func(version uint64) bool, change func(*endpoint.Endpoint) error) (edited *endpoint.Endpoint, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		e, err := one(tx.Query(ctx, `SELECT `+endpointColumns+` FROM webhook_endpoints WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE`, workspace, id))
		if err != nil {
			return err
		}
		if !meant(e.Version) {
			return endpoint.ErrStale
		}
		was := e.Enabled
		if err := change(e); err != nil {
			return err
		}
		edited, err = one(tx.Query(ctx, `
			UPDATE webhook_endpoints SET url = $2, description = $3, event_types = $4, domains = $5, tags = $6, link_ids = $7, thresholds = $8,
				summary_seconds = $9, version = version + 1, updated_at = clock_timestamp()
			WHERE id = $1 RETURNING `+endpointColumns,
			id, e.URL, e.Description, names(e.Filter.Types), filled(e.Filter.Domains), filled(e.Filter.Tags), filled(e.Filter.Links), filled(e.Thresholds), int(e.SummaryEvery/time.Second)))
		switch {
		case err != nil:
			return err
		case was && !e.Enabled:
			err = disable(ctx, tx, id, endpoint.ByRequest)
		case !was && e.Enabled:
			_, err = tx.Exec(ctx, `UPDATE webhook_endpoints SET enabled = true, disabled_reason = NULL, disabled_at = NULL, failing_since = NULL, active_from = clock_timestamp() WHERE id = $1`, id)
		default:
			return nil
		}
		if err != nil {
			return fmt.Errorf("switching the endpoint: %w", err)
		}
		edited, err = one(tx.Query(ctx, `SELECT `+endpointColumns+` FROM webhook_endpoints WHERE id = $1`, id))
		return err
	})
	return edited, err
}

// disable switches an endpoint off. What waits for it is given up, and can be replayed.
func disable(ctx context.Context, tx pgx.Tx, id uuid.UUID, why endpoint.Reason) error {
	tag, err := tx.Exec(ctx, `
		UPDATE webhook_endpoints SET enabled = false, disabled_reason = $2, disabled_at = clock_timestamp(), version = version + CASE WHEN $2 = 'request' THEN 0 ELSE 1 END
		WHERE id = $1 AND enabled`, id, string(why))
	if err != nil {
		return fmt.Errorf("disabling the endpoint: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return giveUpWaiting(ctx, tx, id)
}

func giveUpWaiting(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_deliveries SET state = 'failed', failure = 'endpoint_disabled', finished_at = now(), next_attempt_at = NULL, claim = claim + 1
		WHERE endpoint_id = $1 AND state = 'pending'`, id)
	if err != nil {
		return fmt.Errorf("giving up what waits for a disabled endpoint: %w", err)
	}
	return nil
}

// Delete removes an endpoint with all its deliveries.
func (s *Store) Delete(ctx context.Context, workspace, id uuid.UUID, meant func(version uint64) bool) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		var version uint64
		if err := tx.QueryRow(ctx, `SELECT version FROM webhook_endpoints WHERE workspace_id = $1 AND id = $2 FOR UPDATE`, workspace, id).Scan(&version); err != nil {
			return err
		}
		if !meant(version) {
			return endpoint.ErrStale
		}
		_, err := tx.Exec(ctx, `DELETE FROM webhook_endpoints WHERE id = $1`, id)
		return err
	})
}

// Rotate gives an endpoint a new secret. The one it had signs beside it for as long as
// overlap; one from before that is forgotten.
func (s *Store) Rotate(ctx context.Context, workspace, id uuid.UUID, secret string, overlap time.Duration) (*endpoint.Endpoint, error) {
	return one(s.pool.Query(ctx, `
		UPDATE webhook_endpoints SET
			previous_secret = CASE WHEN $4::float8 > 0 THEN secret END, previous_until = CASE WHEN $4::float8 > 0 THEN now() + make_interval(secs => $4::float8) END,
			secret = $3, version = version + 1, updated_at = clock_timestamp()
		WHERE workspace_id = $1 AND id = $2 RETURNING `+endpointColumns, workspace, id, s.box.Seal(id, secret), overlap.Seconds()))
}

// Known are all endpoints that are enabled, as of a moment.
type Known struct {
	Revision int64
	// AsOf is the database's clock: every endpoint that was there then is among them.
	AsOf      time.Time
	Endpoints []endpoint.Endpoint
}

// Known returns the enabled endpoints. When their revision is still the one that the
// caller has, only the moment is new and Endpoints is nil.
func (s *Store) Known(ctx context.Context, have int64) (Known, error) {
	var k Known
	// now() is the start of the statement, before its snapshot is taken.
	err := s.pool.QueryRow(ctx, `SELECT revision, now() FROM webhook_endpoints_revision`).Scan(&k.Revision, &k.AsOf)
	if err != nil || k.Revision == have {
		return k, translate(err)
	}
	rows, err := s.pool.Query(ctx, `SELECT `+endpointColumns+` FROM webhook_endpoints WHERE enabled`)
	if err != nil {
		return k, translate(err)
	}
	k.Endpoints, err = pgx.CollectRows(rows, scanEndpoint)
	return k, translate(err)
}

// Disabled counts the endpoints that are disabled, by reason.
func (s *Store) Disabled(ctx context.Context) (map[endpoint.Reason]int, error) {
	rows, err := s.pool.Query(ctx, `SELECT disabled_reason, count(*) FROM webhook_endpoints WHERE NOT enabled GROUP BY disabled_reason`)
	if err != nil {
		return nil, translate(err)
	}
	counts := map[endpoint.Reason]int{}
	var reason endpoint.Reason
	var n int
	_, err = pgx.ForEachRow(rows, []any{&reason, &n}, func() error {
		counts[reason] = n
		return nil
	})
	return counts, translate(err)
}
