package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// Update changes a link and stores the record of the change. A change that leaves
// the link as it was makes no version and no record. It fails with
// link.ErrNotFound, link.ErrStale, link.FieldErrors, link.ErrSlugTaken or
// link.ErrUnavailable.
func (s *Store) Update(ctx context.Context, workspace uuid.UUID, id link.ID, meant link.Precondition, c *link.Checked) (*link.Link, error) {
	var next *link.Link
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		current, err := lockLink(ctx, tx, workspace, id, meant)
		if err != nil {
			return err
		}
		if next, err = changed(ctx, tx, current, c); err != nil {
			return err
		}
		if link.Same(current, next) {
			return nil
		}
		if err := stamp(ctx, tx, current, next); err != nil {
			return err
		}
		next.Version++
		options, err := optionsText(&next.Options)
		if err != nil {
			return err
		}
		limit, since := limitColumns(next)
		hash, unlockKey := passwordColumns(next)
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE links SET domain_id = $2, slug = $3, slug_key = $4, destination = $5, title = $6, notes = $7, tags = $8,
				status_code = $9, starts_at = $10, expires_at = $11, fallback_url = $12, archived = $13, version = $14, revision = $15, updated_at = $16, forward_query = $17,
				disabled = $18, max_clicks = $19, max_clicks_since = $20, password_hash = $21, unlock_key = $22, options = $23
			WHERE id = $1`,
			next.ID, next.Domain.ID, next.Slug, next.SlugKey, next.Destination, next.Title, next.Notes, next.Tags,
			next.StatusCode, next.StartsAt, next.ExpiresAt, next.FallbackURL, next.Archived, next.Version, next.Revision, next.UpdatedAt, next.ForwardQuery,
			next.Disabled, limit, since, hash, unlockKey, options)
		ev := changelog.Changed(next, eventspb.LinkChanged_KIND_UPDATED)
		if current.Domain.ID != next.Domain.ID || current.SlugKey != next.SlugKey {
			ev = changelog.Moved(next, current.Address())
			queueLeft(batch, next, current.Address())
		}
		if err := queueOutbox(ctx, batch, ev); err != nil {
			return err
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// changed is the state that the change asks for. Domain and slug are judged only
// when they are named.
func changed(ctx context.Context, tx pgx.Tx, current *link.Link, c *link.Checked) (*link.Link, error) {
	next := *current
	host := current.Domain.Host
	if d := c.Domain(); d.Set {
		host = d.Value
	}
	domain, err := findTargets(ctx, tx, current.WorkspaceID, host, c)
	if err != nil {
		return nil, err
	}
	slug := c.Slug()
	if slug.Set {
		next.Slug = slug.Value
	}
	if next.Slug != current.Slug || domain.ID != current.Domain.ID {
		next.Domain, next.SlugKey = domain, domain.SlugKey(next.Slug)
	}
	return &next, c.Apply(&next)
}

// Delete removes a link and stores the record of its deletion, and the tombstone
// that follows it after the grace period. It fails with link.ErrNotFound,
// link.ErrStale or link.ErrUnavailable.
func (s *Store) Delete(ctx context.Context, workspace uuid.UUID, id link.ID, meant link.Precondition) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		l, err := lockLink(ctx, tx, workspace, id, meant)
		if err != nil {
			return err
		}
		if err := stamp(ctx, tx, l); err != nil {
			return err
		}
		l.Version++
		batch := &pgx.Batch{}
		batch.Queue(`DELETE FROM links WHERE id = $1`, l.ID)
		if err := queueOutbox(ctx, batch, changelog.Changed(l, eventspb.LinkChanged_KIND_DELETED)); err != nil {
			return err
		}
		queueTombstone(batch, l.ID, s.tombstoneGrace)
		queueLeft(batch, l, l.Address())
		return tx.SendBatch(ctx, batch).Close()
	})
}

// lockLink reads a link of the workspace and keeps others from changing it.
func lockLink(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, id link.ID, meant link.Precondition) (*link.Link, error) {
	// Two statements: the second sees the row as it is once the lock is held. One
	// with FOR UPDATE would join it to the domain it had before the wait, and find
	// nothing when another transaction moved it meanwhile.
	batch := &pgx.Batch{}
	batch.Queue(`SELECT FROM links WHERE workspace_id = $1 AND id = $2 FOR UPDATE`, workspace, id)
	var l link.Link
	batch.Queue(selectLinks+` WHERE l.workspace_id = $1 AND l.id = $2`, workspace, id).Query(func(rows pgx.Rows) (err error) {
		l, err = pgx.CollectExactlyOneRow(rows, scanLink)
		return err
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	if !meant(l.Version) {
		return nil, link.ErrStale
	}
	return &l, nil
}

// findTargets looks up the domain a link shall live on, and whether the targets
// that the change sets lead to one of our own domains, which would make a loop.
func findTargets(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, host string, c *link.Checked) (link.Domain, error) {
	known, err := readDomains(ctx, tx, append(slices.Collect(maps.Values(c.Hosts())), host))
	if err != nil {
		return link.Domain{}, err
	}
	return known.targets(workspace, host, c)
}
