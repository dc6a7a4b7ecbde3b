package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/links/internal/account"
)

// FindKey returns the API key with one of the hashes, if it is not revoked, or
// account.ErrNotFound.
func (s *Store) FindKey(ctx context.Context, hashes [][]byte) (account.Known, error) {
	var (
		k        account.Known
		scopes   []string
		capacity *int
		refill   *float64
	)
	err := s.pool.QueryRow(ctx, `SELECT id, workspace_id, scopes, rate_capacity, rate_refill_per_second, key_hash
		FROM api_keys WHERE key_hash = ANY($1) AND revoked_at IS NULL`, hashes).
		Scan(&k.ID, &k.WorkspaceID, &scopes, &capacity, &refill, &k.Hash)
	k.Scopes, k.Rate = keyScopes(scopes), keyRate(capacity, refill)
	return k, accountError(err)
}

// RehashKey replaces a key's hash, unless another did it meanwhile.
func (s *Store) RehashKey(ctx context.Context, id uuid.UUID, from, to []byte) error {
	if _, err := s.pool.Exec(ctx, `UPDATE api_keys SET key_hash = $3 WHERE id = $1 AND key_hash = $2`, id, from, to); err != nil {
		return fmt.Errorf("rehashing a key: %w", err)
	}
	return nil
}

// FindSession returns a session that is not over, or account.ErrNotFound.
func (s *Store) FindSession(ctx context.Context, hashes [][]byte, now time.Time) (account.Session, error) {
	var f account.Session
	err := s.pool.QueryRow(ctx, `SELECT s.user_id, s.workspace_id, u.email, m.role
		FROM sessions s
		JOIN users u ON u.id = s.user_id
		JOIN memberships m ON m.user_id = s.user_id AND m.workspace_id = s.workspace_id
		WHERE s.token_hash = ANY($1) AND s.expires_at > $2`, hashes, now).
		Scan(&f.UserID, &f.WorkspaceID, &f.Email, &f.Role)
	return f, accountError(err)
}

// maxAccounts bounds how many accounts one email is compared with.
const maxAccounts = 100

// Users returns the accounts with the email, the operator's first, then those whose person
// chose the password, then the oldest; each with the workspace that opens: the one opened last, else the
// oldest.
func (s *Store) Users(ctx context.Context, email string) ([]account.User, error) {
	// Before all those of the operator: whoever made an account for somebody else's email can
	// log in to it and choose a password, too.
	rows, err := s.pool.Query(ctx, `SELECT u.id, u.password_hash, o.workspace_id
		FROM users u
		CROSS JOIN LATERAL (SELECT m.workspace_id FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
			WHERE m.user_id = u.id ORDER BY m.opened_at DESC NULLS LAST, w.created_at, w.id LIMIT 1) o
		WHERE u.email = $1
		ORDER BY u.bootstrapped DESC, (u.claimed_at IS NOT NULL) DESC, u.created_at, u.id LIMIT $2`, email, maxAccounts)
	if err != nil {
		return nil, fmt.Errorf("reading accounts: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (account.User, error) {
		var u account.User
		err := row.Scan(&u.ID, &u.PasswordHash, &u.WorkspaceID)
		return u, err
	})
}

// StartSession stores a session, unless the user has another password by now, and forgets
// those that are over.
func (s *Store) StartSession(ctx context.Context, hash []byte, u account.User, now, expires time.Time) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM sessions WHERE expires_at <= $1`, now)
	// The lock lets it wait for a change of the password that is under way: without it a
	// log-in with the old one would outlive the change.
	started := false
	batch.Queue(`INSERT INTO sessions (token_hash, user_id, workspace_id, created_at, expires_at)
		SELECT $1, u.id, $3, $4, $5 FROM users u WHERE u.id = $2 AND u.password_hash = $6 FOR SHARE`,
		hash, u.ID, u.WorkspaceID, now, expires, u.PasswordHash).Exec(func(tag pgconn.CommandTag) error {
		started = tag.RowsAffected() == 1
		return nil
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("storing a session: %w", err)
	}
	if !started {
		return account.ErrNotFound
	}
	return nil
}

// EndSession forgets a session, if there is one.
func (s *Store) EndSession(ctx context.Context, hashes [][]byte) error {
	if _, err := s.pool.Exec(ctx, `DELETE FROM sessions WHERE token_hash = ANY($1)`, hashes); err != nil {
		return fmt.Errorf("ending a session: %w", err)
	}
	return nil
}

func accountError(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return account.ErrNotFound
	}
	return err
}

// ErrKeyUnfit says that the API key given to a bootstrap is revoked or another workspace's.
var ErrKeyUnfit = errors.New("the API key is revoked or belongs to another workspace")

// ErrDomainTaken says that the domain given to a bootstrap is another workspace's own.
var ErrDomainTaken = errors.New("the domain belongs to another workspace")

// Bootstrap makes what is missing of a workspace, in one transaction.
func (s *Store) Bootstrap(ctx context.Context, b account.Bootstrapped) (workspace uuid.UUID, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, LockSpace, BootstrapLock); err != nil {
			return fmt.Errorf("locking: %w", err)
		}
		user, err := ensureUser(ctx, tx, b)
		if err != nil {
			return fmt.Errorf("seeing to the user: %w", err)
		}
		if workspace, err = ensureWorkspace(ctx, tx, b.Workspace, user); err != nil {
			return fmt.Errorf("seeing to the workspace: %w", err)
		}
		if err := ensureDomain(ctx, tx, b.Domain, workspace); err != nil {
			return fmt.Errorf("seeing to the domain: %w", err)
		}
		if err := ensureKey(ctx, tx, b, workspace); err != nil {
			return fmt.Errorf("seeing to the API key: %w", err)
		}
		return nil
	})
	return workspace, err
}

// ensureUser sees to the operator's account with the email. One that a workspace made
// stays as it is.
func ensureUser(ctx context.Context, tx pgx.Tx, b account.Bootstrapped) (uuid.UUID, error) {
	var (
		id           uuid.UUID
		stored, like string
	)
	err := tx.QueryRow(ctx, `SELECT id, password_hash FROM users WHERE email = $1 AND bootstrapped`, b.Email).Scan(&id, &stored)
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, `SELECT coalesce((SELECT password_hash FROM users WHERE email = $1 ORDER BY created_at, id LIMIT 1), '')`, b.Email).Scan(&like)
	}
	if err != nil {
		return uuid.Nil, err
	}
	wanted, err := b.PasswordHash(ctx, stored, like)
	if err != nil {
		return uuid.Nil, err
	}
	switch stored {
	case wanted:
		return id, nil
	case "":
		if id, err = uuid.NewV7(); err != nil {
			return uuid.Nil, err
		}
		_, err = tx.Exec(ctx, `INSERT INTO users (id, email, password_hash, bootstrapped) VALUES ($1, $2, $3, true)`, id, b.Email, wanted)
	default:
		_, err = tx.Exec(ctx, `UPDATE users SET password_hash = $2 WHERE id = $1`, id, wanted)
	}
	return id, err
}

// ensureWorkspace finds the workspace of that name that the user owns.
func ensureWorkspace(ctx context.Context, tx pgx.Tx, name string, user uuid.UUID) (uuid.UUID, error) {
	var id uuid.UUID
	err := tx.QueryRow(ctx, `SELECT w.id FROM workspaces w
		JOIN memberships m ON m.workspace_id = w.id AND m.user_id = $2 AND m.role = 'owner'
		WHERE w.name = $1 ORDER BY w.created_at, w.id LIMIT 1`, name, user).Scan(&id)
	if !errors.Is(err, pgx.ErrNoRows) {
		return id, err
	}
	if id, err = uuid.NewV7(); err != nil {
		return uuid.Nil, err
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO workspaces (id, name) VALUES ($1, $2)`, id, name)
	batch.Queue(`INSERT INTO memberships (workspace_id, user_id, role) VALUES ($1, $2, 'owner')`, id, user)
	return id, tx.SendBatch(ctx, batch).Close()
}

// ensureDomain makes the default domain, which every workspace may use.
func ensureDomain(ctx context.Context, tx pgx.Tx, host string, workspace uuid.UUID) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO domains (id, host) VALUES ($1, $2) ON CONFLICT (host) DO NOTHING`, id, host); err != nil {
		return err
	}
	var usable bool
	err = tx.QueryRow(ctx, `SELECT workspace_id IS NULL OR workspace_id = $2 FROM domains WHERE host = $1`, host, workspace).Scan(&usable)
	if err == nil && !usable {
		return ErrDomainTaken
	}
	return err
}

const bootstrapKeyName = "bootstrap"

func ensureKey(ctx context.Context, tx pgx.Tx, b account.Bootstrapped, workspace uuid.UUID) error {
	var exists bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM api_keys WHERE workspace_id = $1 AND name = $2 AND revoked_at IS NULL)`,
		workspace, bootstrapKeyName).Scan(&exists)
	if err != nil {
		return err
	}
	hashes, prefix, err := b.Key(exists)
	if err != nil || hashes == nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	scopes := scopeTexts(access.Scopes())
	if _, err := tx.Exec(ctx, `INSERT INTO api_keys (id, workspace_id, name, prefix, key_hash, scopes) SELECT $1, $2, $3, $4, $5, $6
		WHERE NOT EXISTS (SELECT 1 FROM api_keys WHERE key_hash = ANY($7))`,
		id, workspace, bootstrapKeyName, prefix, hashes[0], scopes, hashes); err != nil {
		return err
	}
	var fit bool
	err = tx.QueryRow(ctx, `SELECT workspace_id = $2 AND revoked_at IS NULL FROM api_keys WHERE key_hash = ANY($1)`, hashes, workspace).Scan(&fit)
	if err == nil && !fit {
		return ErrKeyUnfit
	}
	return err
}
