package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

// ChangePassword replaces a user's password and ends all their sessions but one. It takes
// memberships first, as all who change several tables of a person do.
func (s *Store) ChangePassword(ctx context.Context, c account.Change) (ends time.Time, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `SELECT FROM memberships WHERE user_id = $1 ORDER BY workspace_id FOR UPDATE`, c.User)
		if err != nil {
			return fmt.Errorf("locking memberships: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return account.ErrNotFound
		}
		// Only from the hash that was compared: of two who change it at the same time, the
		// second gave a password that is the old one by now. A log-in that was compared with
		// the old hash waits for this row, and finds another in it.
		tag, err = tx.Exec(ctx, `UPDATE users SET password_hash = $3, claimed_at = $4 WHERE id = $1 AND password_hash = $2`, c.User, c.From, c.To, c.At)
		if err != nil {
			return fmt.Errorf("changing a password: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return access.ErrWrongCredentials
		}
		if _, err := tx.Exec(ctx, `DELETE FROM sessions WHERE user_id = $1 AND NOT token_hash = ANY($2)`, c.User, c.Hashes); err != nil {
			return fmt.Errorf("ending sessions: %w", err)
		}
		err = tx.QueryRow(ctx, `UPDATE sessions SET token_hash = $2 WHERE token_hash = ANY($1) AND user_id = $3 AND expires_at > $4 RETURNING expires_at`,
			c.Hashes, c.Hash, c.User, c.At).Scan(&ends)
		return accountError(err)
	})
	return ends, err
}
