package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/idempotency"
)

// forgetRows bounds how many keys one statement deletes.
const forgetRows = 1000

// ClaimKey gives out the right to run a request, the answer that is stored, or
// idempotency.ErrReused or idempotency.ErrBusy.
func (s *Store) ClaimKey(ctx context.Context, workspace uuid.UUID, keyHash, requestHash []byte, seed uuid.UUID, claimFor, keepFor time.Duration) (idempotency.Claim, error) {
	c := idempotency.Claim{Workspace: workspace, KeyHash: keyHash}
	for range 2 { // once more when the row went away between the two statements
		// The database's clock, because several processes claim.
		err := s.pool.QueryRow(ctx, `INSERT INTO idempotency_keys AS k (workspace_id, key_hash, request_hash, seed, claimed_until, expires_at)
			VALUES ($1, $2, $3, $4, clock_timestamp() + $5::interval, clock_timestamp() + $6::interval)
			ON CONFLICT ON CONSTRAINT idempotency_keys_pkey DO UPDATE SET
				request_hash = excluded.request_hash, answer = NULL, turn = k.turn + 1, claimed_until = excluded.claimed_until,
				seed = CASE WHEN k.expires_at <= clock_timestamp() THEN excluded.seed ELSE k.seed END,
				expires_at = CASE WHEN k.expires_at <= clock_timestamp() THEN excluded.expires_at ELSE k.expires_at END
				WHERE k.expires_at <= clock_timestamp()
					OR k.answer IS NULL AND k.claimed_until <= clock_timestamp() AND k.request_hash = excluded.request_hash
			RETURNING turn, seed`, workspace, keyHash, requestHash, seed, claimFor, keepFor).Scan(&c.Turn, &c.Seed)
		if err == nil {
			c.Retried = c.Seed != seed
			return c, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return c, fmt.Errorf("claiming a key: %w", err)
		}
		var same bool
		err = s.pool.QueryRow(ctx, `SELECT request_hash = $3, answer FROM idempotency_keys WHERE workspace_id = $1 AND key_hash = $2`,
			workspace, keyHash, requestHash).Scan(&same, &c.Answer)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			continue
		case err != nil:
			return c, fmt.Errorf("reading a key: %w", err)
		case !same:
			return c, idempotency.ErrReused
		case c.Answer == nil:
			return c, idempotency.ErrBusy
		default:
			return c, nil
		}
	}
	return c, idempotency.ErrBusy
}

// StoreAnswer stores the answer of a try, or returns idempotency.ErrLost.
func (s *Store) StoreAnswer(ctx context.Context, c idempotency.Claim, answer []byte) error {
	tag, err := s.pool.Exec(ctx, `UPDATE idempotency_keys SET answer = $4 WHERE workspace_id = $1 AND key_hash = $2 AND turn = $3`,
		c.Workspace, c.KeyHash, c.Turn, answer)
	if err != nil {
		return fmt.Errorf("storing an answer: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return idempotency.ErrLost
	}
	return nil
}

// ReleaseKey lets another try begin. The row stays, with its seed: this try may have
// made something all the same.
func (s *Store) ReleaseKey(ctx context.Context, c idempotency.Claim) error {
	_, err := s.pool.Exec(ctx, `UPDATE idempotency_keys SET claimed_until = '-infinity' WHERE workspace_id = $1 AND key_hash = $2 AND turn = $3 AND answer IS NULL`,
		c.Workspace, c.KeyHash, c.Turn)
	if err != nil {
		return fmt.Errorf("releasing a key: %w", err)
	}
	return nil
}

// ForgetKeys deletes some of the keys that are over and says how many.
func (s *Store) ForgetKeys(ctx context.Context) (int, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM idempotency_keys WHERE expires_at <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED))`, forgetRows)
	if err != nil {
		return 0, fmt.Errorf("deleting old keys: %w", err)
	}
	return int(tag.RowsAffected()), nil
}
