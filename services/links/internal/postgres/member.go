package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/linkstream/linkstream/services/links/internal/account"
)

// PutMember stores a new user with a membership, or gives the user with this id the new
// password.
func (s *Store) PutMember(ctx context.Context, m account.NewMember) (account.Member, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// Who made the same request before and never saw its end makes it again. An account
		// that its person has taken is not theirs to set any more.
		tag, err := tx.Exec(ctx, `INSERT INTO users AS u (id, email, password_hash, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (id) DO UPDATE SET password_hash = excluded.password_hash
				WHERE u.claimed_at IS NULL AND u.email = excluded.email
					AND EXISTS (SELECT FROM memberships o WHERE o.user_id = u.id AND o.workspace_id = $5)`,
			m.ID, m.Email, m.PasswordHash, m.CreatedAt, m.WorkspaceID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return account.ErrEmailTaken
		}
		_, err = tx.Exec(ctx, `INSERT INTO memberships (workspace_id, user_id, role, id, email, created_at) VALUES ($1, $2, $3, $2, $4, $5)
			ON CONFLICT ON CONSTRAINT memberships_pkey DO NOTHING`, m.WorkspaceID, m.ID, m.Role, m.Email, m.CreatedAt)
		return err
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == uniqueViolation && (pg.ConstraintName == "memberships_email_key" || pg.ConstraintName == "memberships_id_key") {
		return account.Member{}, account.ErrEmailTaken
	}
	if err != nil {
		return account.Member{}, fmt.Errorf("storing a user: %w", err)
	}
	return m.Member, nil
}

// Members returns at most limit users of the workspace, newest first.
func (s *Store) Members(ctx context.Context, workspace uuid.UUID, after *account.Position, limit int) ([]account.Member, error) {
	// Nothing of the account behind a membership: it may be older than the workspace.
	q := query{text: `SELECT m.id, m.email, m.role, m.created_at FROM memberships m WHERE m.workspace_id = `}
	q.add("", workspace)
	q.page("m.created_at", "m.id", after, limit)
	rows, err := s.pool.Query(ctx, q.text, q.args...)
	if err != nil {
		return nil, fmt.Errorf("reading users: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (account.Member, error) {
		var m account.Member
		err := row.Scan(&m.ID, &m.Email, &m.Role, &m.CreatedAt)
		m.CreatedAt = m.CreatedAt.UTC()
		return m, err
	})
}

// RemoveMember ends a membership and its user's sessions in the workspace.
func (s *Store) RemoveMember(ctx context.Context, workspace, id uuid.UUID) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// The workspace's row makes two removals wait for each other: both could
		// otherwise see the other's owner, and leave none.
		if _, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, workspace); err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		var role account.Role
		var owners int
		err := tx.QueryRow(ctx, `SELECT m.role, (SELECT count(*) FROM memberships o WHERE o.workspace_id = m.workspace_id AND o.role = 'owner')
			FROM memberships m WHERE m.workspace_id = $1 AND m.id = $2`, workspace, id).Scan(&role, &owners)
		if err != nil {
			return accountError(err)
		}
		if role == account.Owner && owners == 1 {
			return account.ErrLastOwner
		}
		// Whose it is is read with its row held: it may have become another account's.
		var user uuid.UUID
		err = tx.QueryRow(ctx, `DELETE FROM memberships WHERE workspace_id = $1 AND id = $2 RETURNING user_id`, workspace, id).Scan(&user)
		if err != nil {
			return accountError(err)
		}
		// After the membership: a session that moves to this workspace holds its row.
		batch := &pgx.Batch{}
		batch.Queue(`DELETE FROM sessions WHERE workspace_id = $1 AND user_id = $2`, workspace, user)
		batch.Queue(`DELETE FROM users u WHERE u.id = $1 AND NOT EXISTS (SELECT FROM memberships m WHERE m.user_id = u.id)`, user)
		return tx.SendBatch(ctx, batch).Close()
	})
}
