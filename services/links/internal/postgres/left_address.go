package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

const (
	// leftAtLeast is how long an address that a link left is remembered at least. No
	// cache keeps anything longer than a day; twice that leaves room for clocks.
	leftAtLeast = 48 * time.Hour
	// maxStanding bounds how many addresses of one link are told: the one it has, and
	// those it left last. More than a handful is somebody's script.
	maxStanding = 100
)

// queueLeft notes, with the change that causes it, that a link has left an address.
func queueLeft(batch *pgx.Batch, l *link.Link, from link.Address) {
	batch.Queue(`INSERT INTO left_addresses (link_id, workspace_id, host, slug, slug_key, version, revision, left_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		l.ID, l.WorkspaceID, from.Host, from.Slug, from.SlugKey, l.Version, l.Revision, l.UpdatedAt)
}

// Standing returns what lives now at each address at which caches may hold a copy of a
// link: the one it has, and those it has left by being moved or deleted, where another
// link may live by now. What lives nowhere any more is told as its deletion. A link
// that was deleted longer ago than anybody remembers is link.ErrNotFound, and so is
// another workspace's.
func (s *Store) Standing(ctx context.Context, workspace uuid.UUID, id link.ID) (version uint64, states []*eventspb.LinkChanged, err error) {
	// One snapshot: an address must not be seen empty before and after a move at once.
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = translate(pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		live, err := collect[link.Link](ctx, tx, scanLink, selectLinks+` WHERE l.workspace_id = $1 AND l.id = $2`, workspace, id)
		if err != nil {
			return err
		}
		left, err := collect[link.Left](ctx, tx, scanLeft, `SELECT * FROM (
				SELECT DISTINCT ON (host, slug_key) link_id, workspace_id, host, slug, slug_key, version, revision
				FROM left_addresses WHERE workspace_id = $1 AND link_id = $2 ORDER BY host, slug_key, revision DESC
			) AS latest ORDER BY revision DESC LIMIT $3`, workspace, id, maxStanding)
		switch {
		case err != nil:
			return err
		case len(live) > 0:
			version = live[0].Version
			states = append(states, changelog.Current(&live[0]))
		case len(left) > 0:
			version = left[0].Version
		default:
			return link.ErrNotFound
		}
		more, err := standingAt(ctx, tx, left)
		states = append(states, more...)
		return err
	}))
	return version, states, err
}

// standingAt tells what lives at addresses that a link has left.
func standingAt(ctx context.Context, tx pgx.Tx, left []link.Left) ([]*eventspb.LinkChanged, error) {
	if len(left) == 0 {
		return nil, nil
	}
	hosts, slugs := make([]string, len(left)), make([]string, len(left))
	for i := range left {
		hosts[i], slugs[i] = left[i].Address.Host, left[i].Address.SlugKey
	}
	const those = ` JOIN unnest($1::text[], $2::text[]) AS a (host, slug_key) `
	live, err := collect[link.Link](ctx, tx, scanLink, selectLinks+those+`ON d.host = a.host AND l.slug_key = a.slug_key`, hosts, slugs)
	if err != nil {
		return nil, err
	}
	var states []*eventspb.LinkChanged
	taken := map[link.Address]bool{}
	for i := range live {
		states = append(states, changelog.Current(&live[i]))
		taken[place(live[i].Address())] = true
	}
	// Whoever left an address last says at which revision it is empty.
	last, err := collect[link.Left](ctx, tx, scanLeft, `SELECT DISTINCT ON (l.host, l.slug_key) l.link_id, l.workspace_id, l.host, l.slug, l.slug_key, l.version, l.revision
		FROM left_addresses l`+those+`ON l.host = a.host AND l.slug_key = a.slug_key ORDER BY l.host, l.slug_key, l.revision DESC`, hosts, slugs)
	if err != nil {
		return nil, err
	}
	for i := range last {
		if !taken[place(last[i].Address)] {
			states = append(states, changelog.Gone(&last[i]))
		}
	}
	return states, nil
}

// place is an address whatever its slug's spelling.
func place(a link.Address) link.Address { return link.Address{Host: a.Host, SlugKey: a.SlugKey} }

func scanLeft(row pgx.CollectableRow) (link.Left, error) {
	var l link.Left
	err := row.Scan(&l.ID, &l.WorkspaceID, &l.Address.Host, &l.Address.Slug, &l.Address.SlugKey, &l.Version, &l.Revision)
	return l, err
}

// collect returns one query's rows.
func collect[T any](ctx context.Context, tx pgx.Tx, scan pgx.RowToFunc[T], text string, args ...any) ([]T, error) {
	rows, err := tx.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// forgetLeft drops addresses that no cache can hold any more.
func (s *Store) forgetLeft(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM left_addresses WHERE left_at < clock_timestamp() - $1::interval`, max(leftAtLeast, s.tombstoneGrace))
	if err != nil {
		return fmt.Errorf("forgetting addresses: %w", err)
	}
	return nil
}
