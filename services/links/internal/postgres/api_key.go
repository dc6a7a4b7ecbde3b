package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

const keyColumns = `id, name, scopes, rate_capacity, rate_refill_per_second, prefix, created_at, last_used_at`

func scanKey(row pgx.CollectableRow) (account.Key, error) {
	var (
		k        account.Key
		scopes   []string
		capacity *int
		refill   *float64
	)
	err := row.Scan(&k.ID, &k.Name, &scopes, &capacity, &refill, &k.Prefix, &k.CreatedAt, &k.LastUsedAt)
	k.Scopes, k.Rate = keyScopes(scopes), keyRate(capacity, refill)
	k.CreatedAt, k.LastUsedAt = k.CreatedAt.UTC(), utc(k.LastUsedAt)
	return k, err
}

func keyScopes(stored []string) []access.Scope {
	out := make([]access.Scope, len(stored))
	for i, scope := range stored {
		out[i] = access.Scope(scope)
	}
	return out
}

func scopeTexts(scopes []access.Scope) []string {
	out := make([]string, len(scopes))
	for i, scope := range scopes {
		out[i] = string(scope)
	}
	return out
}

func keyRate(capacity *int, refill *float64) *account.Rate {
	if capacity == nil || refill == nil {
		return nil
	}
	return &account.Rate{Capacity: *capacity, RefillPerSecond: *refill}
}

func rateColumns(r *account.Rate) (capacity *int, refill *float64) {
	if r == nil {
		return nil, nil
	}
	return &r.Capacity, &r.RefillPerSecond
}

// PutKey stores a key. If the workspace has one with this id, that one gets the new
// hash and prefix.
func (s *Store) PutKey(ctx context.Context, k account.NewKey) (account.Key, error) {
	capacity, refill := rateColumns(k.Rate)
	return s.oneKey(ctx, `INSERT INTO api_keys AS k (id, workspace_id, name, prefix, key_hash, scopes, rate_capacity, rate_refill_per_second, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (id) DO UPDATE SET key_hash = excluded.key_hash, prefix = excluded.prefix
			WHERE k.workspace_id = excluded.workspace_id AND k.revoked_at IS NULL
		RETURNING `+keyColumns,
		k.ID, k.WorkspaceID, k.Name, k.Prefix, k.Hash, scopeTexts(k.Scopes), capacity, refill, k.CreatedAt)
}

// Key returns a key that is not revoked.
func (s *Store) Key(ctx context.Context, workspace, id uuid.UUID) (account.Key, error) {
	return s.oneKey(ctx, `SELECT `+keyColumns+` FROM api_keys WHERE workspace_id = $1 AND id = $2 AND revoked_at IS NULL`, workspace, id)
}

// Keys returns at most limit keys that are not revoked, newest first.
func (s *Store) Keys(ctx context.Context, workspace uuid.UUID, after *account.Position, limit int) ([]account.Key, error) {
	q := query{text: `SELECT ` + keyColumns + ` FROM api_keys WHERE revoked_at IS NULL AND workspace_id = `}
	q.add("", workspace)
	q.page("created_at", "id", after, limit)
	rows, err := s.pool.Query(ctx, q.text, q.args...)
	if err != nil {
		return nil, fmt.Errorf("reading keys: %w", err)
	}
	return pgx.CollectRows(rows, scanKey)
}

// page adds the order of lists of accounts, and where to begin.
func (q *query) page(createdAt, id string, after *account.Position, limit int) {
	if after != nil {
		q.add(` AND (`+createdAt+`, `+id+`) < (`, after.CreatedAt)
		q.add(`, `, after.ID)
		q.text += `)`
	}
	q.add(` ORDER BY `+createdAt+` DESC, `+id+` DESC LIMIT `, limit)
}

// EditKey changes what the edit names.
func (s *Store) EditKey(ctx context.Context, workspace, id uuid.UUID, e account.KeyEdit) (account.Key, error) {
	capacity, refill := rateColumns(e.Rate)
	var scopes []string
	if e.Scopes != nil {
		scopes = scopeTexts(e.Scopes)
	}
	return s.oneKey(ctx, `UPDATE api_keys SET name = coalesce($3, name), scopes = coalesce($4, scopes),
			rate_capacity = CASE WHEN $5 THEN $6 ELSE rate_capacity END,
			rate_refill_per_second = CASE WHEN $5 THEN $7 ELSE rate_refill_per_second END
		WHERE workspace_id = $1 AND id = $2 AND revoked_at IS NULL
		RETURNING `+keyColumns, workspace, id, e.Name, scopes, e.SetRate, capacity, refill)
}

// RevokeKey ends a key.
func (s *Store) RevokeKey(ctx context.Context, workspace, id uuid.UUID, now time.Time) error {
	tag, err := s.pool.Exec(ctx, `UPDATE api_keys SET revoked_at = $3 WHERE workspace_id = $1 AND id = $2 AND revoked_at IS NULL`, workspace, id, now)
	if err != nil {
		return fmt.Errorf("revoking a key: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return account.ErrNotFound
	}
	return nil
}

// MarkUsed notes when keys were used last.
func (s *Store) MarkUsed(ctx context.Context, ids []uuid.UUID, at []time.Time) error {
	_, err := s.pool.Exec(ctx, `UPDATE api_keys k SET last_used_at = u.at
		FROM unnest($1::uuid[], $2::timestamptz[]) AS u (id, at)
		WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`, ids, at)
	if err != nil {
		return fmt.Errorf("noting uses of keys: %w", err)
	}
	return nil
}

func (s *Store) oneKey(ctx context.Context, statement string, args ...any) (account.Key, error) {
	rows, err := s.pool.Query(ctx, statement, args...)
	if err != nil {
		return account.Key{}, err
	}
	k, err := pgx.CollectExactlyOneRow(rows, scanKey)
	return k, accountError(err)
}
