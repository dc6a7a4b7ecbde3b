package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Limit is a token bucket that each workspace has one of.
type Limit struct {
	// Policy is its name, in the table and in answers.
	Policy string
	// Capacity is how many tokens it holds, Rate how many come back each second.
	Capacity, Rate int64
}

// token is what one is worth in the table: with it, a rate is what comes back each
// microsecond, and everything is whole numbers.
const token = 1_000_000

// Allowance is what is left of a limit.
type Allowance struct {
	Allowed   bool
	Remaining int64         // whole tokens
	Full      time.Duration // until all tokens are back
	Next      time.Duration // until the next token is there
}

// Take takes one token of a workspace's limit, if there is one.
//
// It is exact over all processes of the service, because the row is changed by one
// statement. That suits what writes to Postgres anyway; whatever is called more often
// than a few times a second needs a limiter elsewhere.
func (s *Store) Take(ctx context.Context, workspace uuid.UUID, l Limit) (Allowance, error) {
	const filled = `least($3::bigint, b.level + greatest(0, excluded.level_at - b.level_at) * $4::bigint)`
	rows, err := s.pool.Query(ctx, `INSERT INTO workspace_limits AS b (workspace_id, policy, level, level_at, allowed)
		VALUES ($1, $2, $3::bigint - $5::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, true)
		ON CONFLICT (workspace_id, policy) DO UPDATE SET
			level = `+filled+` - CASE WHEN `+filled+` >= $5::bigint THEN $5::bigint ELSE 0 END,
			allowed = `+filled+` >= $5::bigint,
			level_at = greatest(b.level_at, excluded.level_at)
		RETURNING level, allowed`, workspace, l.Policy, l.Capacity*token, l.Rate, int64(token))
	if err != nil {
		return Allowance{}, translate(err)
	}
	var level int64
	a, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (a Allowance, err error) {
		err = row.Scan(&level, &a.Allowed)
		return a, err
	})
	if err != nil {
		return Allowance{}, translate(err)
	}
	a.Remaining = level / token
	a.Full = time.Duration((l.Capacity*token-level)/l.Rate) * time.Microsecond
	a.Next = time.Duration(max(0, token-level)/l.Rate) * time.Microsecond
	return a, nil
}
