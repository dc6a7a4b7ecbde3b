package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

// maxWorkspaces bounds the list of one user's workspaces.
const maxWorkspaces = 200

// Workspaces returns those that a user is a member of, the one opened last first.
func (s *Store) Workspaces(ctx context.Context, user uuid.UUID) ([]account.Workspace, error) {
	rows, err := s.pool.Query(ctx, `SELECT w.id, w.name, m.role FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
		WHERE m.user_id = $1 ORDER BY m.opened_at DESC NULLS LAST, w.created_at, w.id LIMIT $2`, user, maxWorkspaces)
	if err != nil {
		return nil, fmt.Errorf("reading workspaces: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (account.Workspace, error) {
		var w account.Workspace
		err := row.Scan(&w.ID, &w.Name, &w.Role)
		return w, err
	})
}

// Whoever changes several of them takes memberships before sessions and accounts, and
// memberships in the order of their workspaces, so that nobody waits in a circle.

// MoveSession gives a session another workspace and token.
func (s *Store) MoveSession(ctx context.Context, hashes [][]byte, hash []byte, workspace uuid.UUID, now time.Time) (ends time.Time, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var user uuid.UUID
		if err := tx.QueryRow(ctx, `SELECT user_id FROM sessions WHERE token_hash = ANY($1) AND expires_at > $2`, hashes, now).Scan(&user); err != nil {
			return accountError(err)
		}
		tag, err := tx.Exec(ctx, `UPDATE memberships SET opened_at = $3 WHERE user_id = $1 AND workspace_id = $2`, user, workspace, now)
		if err != nil {
			return fmt.Errorf("opening a workspace: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return access.ErrNotMember
		}
		ends, err = moveSession(ctx, tx, hashes, hash, user, workspace)
		return err
	})
	return ends, err
}

func moveSession(ctx context.Context, tx pgx.Tx, hashes [][]byte, hash []byte, user, workspace uuid.UUID) (ends time.Time, err error) {
	err = tx.QueryRow(ctx, `UPDATE sessions SET token_hash = $2, workspace_id = $4 WHERE token_hash = ANY($1) AND user_id = $3 RETURNING expires_at`,
		hashes, hash, user, workspace).Scan(&ends)
	return ends, accountError(err)
}

// Join makes one account of several.
func (s *Store) Join(ctx context.Context, j account.Joining) (ends time.Time, err error) {
	others := make([]uuid.UUID, len(j.Others))
	for i, u := range j.Others {
		others[i] = u.ID
	}
	all := slices.Concat([]uuid.UUID{j.Keep}, others)
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM memberships WHERE user_id = ANY($1) ORDER BY workspace_id, user_id FOR UPDATE`, all); err != nil {
			return fmt.Errorf("locking memberships: %w", err)
		}
		bootstrapped, err := lockAccounts(ctx, tx, j, all)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE memberships SET user_id = $1 WHERE user_id = ANY($2)`, j.Keep, others)
		batch.Queue(`UPDATE memberships SET opened_at = $3 WHERE user_id = $1 AND workspace_id = $2`, j.Keep, j.Others[0].WorkspaceID, j.At)
		batch.Queue(`DELETE FROM sessions WHERE user_id = ANY($1) AND NOT token_hash = ANY($2)`, all, j.Hashes)
		batch.Queue(`DELETE FROM users WHERE id = ANY($1)`, others)
		batch.Queue(`UPDATE users SET password_hash = $2, claimed_at = $3, bootstrapped = $4 WHERE id = $1`, j.Keep, j.PasswordHash, j.At, bootstrapped)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("joining accounts: %w", err)
		}
		ends, err = moveSession(ctx, tx, j.Hashes, j.Hash, j.Keep, j.Others[0].WorkspaceID)
		return err
	})
	return ends, err
}

// lockAccounts holds the accounts that are joined, if all are as they were when their
// passwords were compared, and says whether one of them is the operator's.
func lockAccounts(ctx context.Context, tx pgx.Tx, j account.Joining, all []uuid.UUID) (bootstrapped bool, err error) {
	type found struct {
		hash         string
		bootstrapped bool
	}
	accounts := map[uuid.UUID]found{}
	rows, err := tx.Query(ctx, `SELECT id, password_hash, bootstrapped FROM users WHERE id = ANY($1) ORDER BY id FOR UPDATE`, all)
	if err != nil {
		return false, fmt.Errorf("locking accounts: %w", err)
	}
	var (
		id uuid.UUID
		f  found
	)
	if _, err := pgx.ForEachRow(rows, []any{&id, &f.hash, &f.bootstrapped}, func() error {
		accounts[id] = f
		return nil
	}); err != nil {
		return false, fmt.Errorf("locking accounts: %w", err)
	}
	if _, ok := accounts[j.Keep]; !ok {
		return false, account.ErrNotFound
	}
	for _, u := range j.Others {
		f, ok := accounts[u.ID]
		if !ok || f.hash != u.PasswordHash {
			return false, access.ErrWrongCredentials
		}
	}
	for _, f := range accounts {
		bootstrapped = bootstrapped || f.bootstrapped
	}
	return bootstrapped, nil
}
