package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Expiry says when a link expires, and where it lives.
type Expiry struct {
	Link, Workspace uuid.UUID
	Host, SlugKey   string
	// At is the link's own expires_at; HappensAt is later when the link was given a moment
	// in the past.
	At, HappensAt time.Time
	Revision      uint64
}

// NoteExpiry remembers when a link expires. An older state than the one that is known
// changes nothing, and what was told is not told again. One that was over before told is
// taken for told.
func (s *Store) NoteExpiry(ctx context.Context, e Expiry, told time.Time) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO webhook_expiries AS x (link_id, workspace_id, host, slug_key, expires_at, revision, happens_at, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $7::timestamptz < $8 THEN 'infinity' ELSE $7::timestamptz END)
		ON CONFLICT (link_id) DO UPDATE SET workspace_id = excluded.workspace_id, host = excluded.host, slug_key = excluded.slug_key,
			expires_at = excluded.expires_at, revision = excluded.revision,
			happens_at = CASE WHEN x.expires_at = excluded.expires_at THEN x.happens_at ELSE excluded.happens_at END,
			due_at = CASE WHEN x.expires_at = excluded.expires_at THEN x.due_at ELSE excluded.due_at END
		WHERE x.revision < excluded.revision`,
		e.Link, e.Workspace, e.Host, e.SlugKey, e.At, e.Revision, e.HappensAt, told)
	return translate(err)
}

// ForgetExpiry forgets a link that was deleted.
func (s *Store) ForgetExpiry(ctx context.Context, link uuid.UUID) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM webhook_expiries WHERE link_id = $1`, link)
	return translate(err)
}

// Expiries returns links that are due, and keeps them from others for as long as lease.
func (s *Store) Expiries(ctx context.Context, limit int, lease time.Duration) ([]Expiry, error) {
	rows, err := s.pool.Query(ctx, `
		UPDATE webhook_expiries SET due_at = now() + make_interval(secs => $2) WHERE link_id IN (
			SELECT link_id FROM webhook_expiries WHERE due_at <= now() AND due_at < 'infinity' ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
		RETURNING link_id, workspace_id, host, slug_key, expires_at, happens_at, revision`, limit, lease.Seconds())
	if err != nil {
		return nil, translate(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Expiry, error) {
		var e Expiry
		return e, row.Scan(&e.Link, &e.Workspace, &e.Host, &e.SlugKey, &e.At, &e.HappensAt, &e.Revision)
	})
	return list, translate(err)
}

// Expire queues what an expiry has to tell and notes that it was told, unless the link
// has changed meanwhile.
func (s *Store) Expire(ctx context.Context, e Expiry, queue []Queued) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE webhook_expiries SET due_at = 'infinity' WHERE link_id = $1 AND revision = $2`, e.Link, e.Revision)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return enqueue(ctx, tx, queue)
	})
}
