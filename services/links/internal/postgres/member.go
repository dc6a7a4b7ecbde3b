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

// PutMember stores a user with a membership, or gives the user with this id the new
// password.
func (s *Store) PutMember(ctx context.Context, m account.NewMember) (account.Member, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO users (id, email, password_hash, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (id) DO UPDATE SET password_hash = excluded.password_hash`, m.ID, m.Email, m.PasswordHash, m.CreatedAt)
		batch.Queue(`INSERT INTO memberships (workspace_id, user_id, role) VALUES ($1, $2, $3)
			ON CONFLICT ON CONSTRAINT memberships_pkey DO NOTHING`, m.WorkspaceID, m.ID, m.Role)
		return tx.SendBatch(ctx, batch).Close()
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == uniqueViolation && pg.ConstraintName == "users_email_key" {
		return account.Member{}, account.ErrEmailTaken
	}
	if err != nil {
		return account.Member{}, fmt.Errorf("storing a user: %w", err)
	}
	return m.Member, nil
}

// Members returns at most limit users of the workspace, newest first.
func (s *Store) Members(ctx context.Context, workspace uuid.UUID, after *account.Position, limit int) ([]account.Member, error) {
	q := query{text: `SELECT u.id, u.email, m.role, u.created_at FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.workspace_id = `}
	q.add("", workspace)
	q.page("u.created_at", "u.id", after, limit)
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

// RemoveMember ends a membership and its sessions.
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
			FROM memberships m WHERE m.workspace_id = $1 AND m.user_id = $2`, workspace, id).Scan(&role, &owners)
		if err != nil {
			return accountError(err)
		}
		if role == account.Owner && owners == 1 {
			return account.ErrLastOwner
		}
		batch := &pgx.Batch{}
		batch.Queue(`DELETE FROM sessions WHERE workspace_id = $1 AND user_id = $2`, workspace, id)
		batch.Queue(`DELETE FROM memberships WHERE workspace_id = $1 AND user_id = $2`, workspace, id)
		batch.Queue(`DELETE FROM users u WHERE u.id = $1 AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = u.id)`, id)
		return tx.SendBatch(ctx, batch).Close()
	})
}
