package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// addressKey is the advisory lock of an address: FNV-1a over the domain's id and
// the slug's key. Two addresses that share one only wait for each other. It must
// never change: processes of two releases have to agree on it while one replaces
// the other.
func addressKey(l *link.Link) int64 {
	h := fnv.New64a()
	_, _ = h.Write(l.Domain.ID[:])
	_, _ = h.Write([]byte(l.SlugKey))
	return int64(h.Sum64()) //nolint:gosec // the bits matter, not the number
}

// stamp locks the addresses of all given states of a link and then takes the next
// revision and the database's time, which it writes to the last of them. The
// locks end with the transaction. The caller holds the link's row already.
func stamp(ctx context.Context, tx pgx.Tx, states ...*link.Link) error {
	keys := make([]int64, len(states))
	for i, l := range states {
		keys[i] = addressKey(l)
	}
	slices.Sort(keys)
	// One round trip; the server runs the statements one after the other.
	batch := &pgx.Batch{}
	for _, key := range slices.Compact(keys) {
		batch.Queue(`SELECT pg_advisory_xact_lock($1)`, key)
	}
	last := states[len(states)-1]
	batch.Queue(`SELECT nextval('link_revision_seq'), clock_timestamp()`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&last.Revision, &last.UpdatedAt)
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("locking the address: %w", err)
	}
	last.UpdatedAt = last.UpdatedAt.UTC()
	return nil
}

// The links service's other advisory locks have two numbers: this space, and one
// for each lock. Those of addresses are single numbers, so the two cannot meet.
const (
	LockSpace     = 0x6C696E6B // "link"
	RelayLock     = 1          // held by the one relay that publishes
	BootstrapLock = 2          // held during a bootstrap: workspaces have no unique name
	TextsLock     = 3          // held by the one who reads texts
)
