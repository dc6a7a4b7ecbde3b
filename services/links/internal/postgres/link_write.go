package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// generateTries bounds the draws of a generated slug. The second is needed once
// in millions; five in a row mean that the generator is broken.
const generateTries = 5

// Create stores a new link and the record of its creation. It fails with
// link.FieldErrors, link.ErrSlugTaken or link.ErrUnavailable.
func (s *Store) Create(ctx context.Context, workspace uuid.UUID, c *link.Checked) (*link.Link, error) {
	if slug := c.Slug(); slug.Set {
		return s.create(ctx, workspace, c, slug.Value)
	}
	for range generateTries {
		slug, err := link.GenerateSlug()
		if err != nil {
			return nil, err
		}
		l, err := s.create(ctx, workspace, c, slug)
		if !errors.Is(err, link.ErrSlugTaken) {
			return l, err
		}
	}
	return nil, fmt.Errorf("generating a slug: %d in a row were taken", generateTries)
}

func (s *Store) create(ctx context.Context, workspace uuid.UUID, c *link.Checked, slug string) (*link.Link, error) {
	id, err := link.NewID()
	if err != nil {
		return nil, fmt.Errorf("making an id: %w", err)
	}
	l := &link.Link{ID: id, WorkspaceID: workspace, Slug: slug, Tags: []string{}, StatusCode: link.DefaultStatus, Version: 1}
	if err := c.Apply(l); err != nil {
		return nil, err
	}
	host := s.defaultDomain
	if d := c.Domain(); d.Set {
		host = d.Value
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var err error
		if l.Domain, err = findTargets(ctx, tx, workspace, host, c); err != nil {
			return err
		}
		l.SlugKey = l.Domain.SlugKey(slug)
		if err := stamp(ctx, tx, l); err != nil {
			return err
		}
		l.CreatedAt = l.UpdatedAt
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, title, notes, tags,
				status_code, starts_at, expires_at, fallback_url, archived, version, revision, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
			l.ID, l.WorkspaceID, l.Domain.ID, l.Slug, l.SlugKey, l.Destination, l.Title, l.Notes, l.Tags,
			l.StatusCode, l.StartsAt, l.ExpiresAt, l.FallbackURL, l.Archived, l.Version, l.Revision, l.CreatedAt, l.UpdatedAt)
		if err := queueOutbox(batch, changelog.Changed(l, eventspb.LinkChanged_KIND_CREATED)); err != nil {
			return err
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

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
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE links SET domain_id = $2, slug = $3, slug_key = $4, destination = $5, title = $6, notes = $7, tags = $8,
				status_code = $9, starts_at = $10, expires_at = $11, fallback_url = $12, archived = $13, version = $14, revision = $15, updated_at = $16
			WHERE id = $1`,
			next.ID, next.Domain.ID, next.Slug, next.SlugKey, next.Destination, next.Title, next.Notes, next.Tags,
			next.StatusCode, next.StartsAt, next.ExpiresAt, next.FallbackURL, next.Archived, next.Version, next.Revision, next.UpdatedAt)
		ev := changelog.Changed(next, eventspb.LinkChanged_KIND_UPDATED)
		if current.Domain.ID != next.Domain.ID || current.SlugKey != next.SlugKey {
			ev = changelog.Moved(next, current.Address())
			queueLeft(batch, next, current.Address())
		}
		if err := queueOutbox(batch, ev); err != nil {
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
		if err := queueOutbox(batch, changelog.Changed(l, eventspb.LinkChanged_KIND_DELETED)); err != nil {
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
	targets := c.Hosts()
	hosts := slices.Collect(maps.Values(targets))
	rows, err := tx.Query(ctx, `SELECT id, host, case_sensitive, host = $1 AND (workspace_id IS NULL OR workspace_id = $2)
		FROM domains WHERE host = $1 OR host = ANY($3)`, host, workspace, hosts)
	if err != nil {
		return link.Domain{}, fmt.Errorf("reading domains: %w", err)
	}
	var (
		found  link.Domain
		own    []string
		d      link.Domain
		usable bool
	)
	_, err = pgx.ForEachRow(rows, []any{&d.ID, &d.Host, &d.CaseSensitive, &usable}, func() error {
		own = append(own, d.Host)
		if usable {
			found = d
		}
		return nil
	})
	if err != nil {
		return link.Domain{}, fmt.Errorf("reading domains: %w", err)
	}
	var wrong link.FieldErrors
	if found.Host == "" {
		wrong.Add("domain", link.CodeUnknownDomain, "there is no such domain in this workspace")
	}
	for _, field := range slices.Sorted(maps.Keys(targets)) {
		if slices.Contains(own, targets[field]) {
			wrong.Add(field, link.CodeOwnDomain, "the URL leads to a short domain of this service")
		}
	}
	return found, wrong.Err()
}
