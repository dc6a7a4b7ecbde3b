package postgres

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/internal/rpc/controlv1"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

const domainColumns = `id, host, case_sensitive, workspace_id, home_url, fallback_url, preview_pages, version, created_at, updated_at`

// A workspace sees its own domains and those that all share.
const selectDomains = `SELECT ` + domainColumns + ` FROM domains WHERE (workspace_id IS NULL OR workspace_id = $1)`

func scanDomain(row pgx.CollectableRow) (link.DomainRecord, error) {
	var (
		d     link.DomainRecord
		owner *uuid.UUID
	)
	err := row.Scan(&d.ID, &d.Host, &d.CaseSensitive, &owner, &d.HomeURL, &d.FallbackURL, &d.PreviewPages, &d.Version, &d.CreatedAt, &d.UpdatedAt)
	if owner != nil {
		d.WorkspaceID = *owner
	}
	d.CreatedAt, d.UpdatedAt = d.CreatedAt.UTC(), d.UpdatedAt.UTC()
	return d, err
}

func oneDomain(ctx context.Context, tx pgx.Tx, statement string, args ...any) (*link.DomainRecord, error) {
	rows, err := tx.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	d, err := pgx.CollectExactlyOneRow(rows, scanDomain)
	return &d, err
}

// MakeDomain stores a new domain of the workspace, case-sensitive unless the change says
// otherwise. It fails with link.FieldErrors, link.ErrDomainTaken or link.ErrUnavailable.
func (s *Store) MakeDomain(ctx context.Context, n link.NewDomain) (made *link.DomainRecord, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if n.MayExist {
			known, err := collect[link.DomainRecord](ctx, tx, scanDomain, selectDomains+` AND id = $2`, n.WorkspaceID, n.ID)
			if err != nil {
				return err
			}
			if len(known) > 0 {
				made = &known[0]
				return nil
			}
		}
		d := link.DomainRecord{Domain: link.Domain{ID: n.ID, Host: n.Checked.Host(), CaseSensitive: true}, WorkspaceID: n.WorkspaceID, PreviewPages: true}
		n.Checked.Apply(&d)
		if err := checkTargets(ctx, tx, d.Host, n.Checked); err != nil {
			return err
		}
		made, err = oneDomain(ctx, tx, `INSERT INTO domains (id, host, case_sensitive, workspace_id, home_url, fallback_url, preview_pages, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp()) RETURNING `+domainColumns,
			d.ID, d.Host, d.CaseSensitive, d.WorkspaceID, d.HomeURL, d.FallbackURL, d.PreviewPages)
		return err
	})
	return made, err
}

// Domain returns a domain that the workspace may use, link.ErrNotFound or
// link.ErrUnavailable.
func (s *Store) Domain(ctx context.Context, workspace, id uuid.UUID) (d *link.DomainRecord, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		d, err = oneDomain(ctx, tx, selectDomains+` AND id = $2`, workspace, id)
		return err
	})
	return d, err
}

// Domains returns at most limit domains that the workspace may use, newest first,
// beginning after the given position (nil: from the newest).
func (s *Store) Domains(ctx context.Context, workspace uuid.UUID, after *link.DomainPosition, limit int) (link.DomainPage, error) {
	q := query{text: selectDomains, args: []any{workspace}}
	if after != nil {
		q.add(` AND (created_at, id) < (`, after.CreatedAt)
		q.add(`, `, after.ID)
		q.text += `)`
	}
	q.add(` ORDER BY created_at DESC, id DESC LIMIT `, limit+1) // one more tells whether there is a next page
	rows, err := s.pool.Query(ctx, q.text, q.args...)
	if err != nil {
		return link.DomainPage{}, translate(err)
	}
	domains, err := pgx.CollectRows(rows, scanDomain)
	if err != nil {
		return link.DomainPage{}, translate(err)
	}
	page := link.DomainPage{Domains: domains}
	if len(domains) > limit {
		page.Domains = domains[:limit]
		last := page.Domains[limit-1]
		page.Next = &link.DomainPosition{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	return page, nil
}

// EditDomain changes a domain of the workspace's own. A change that leaves it as it was
// makes no version. It fails with link.ErrNotFound, link.ErrSharedDomain, link.ErrStale,
// link.FieldErrors, link.DomainInUseError (another case rule) or link.ErrUnavailable.
func (s *Store) EditDomain(ctx context.Context, workspace, id uuid.UUID, meant link.Precondition, c *link.CheckedDomain) (edited *link.DomainRecord, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		current, err := lockDomain(ctx, tx, workspace, id, meant)
		if err != nil {
			return err
		}
		if err := checkTargets(ctx, tx, current.Host, c); err != nil {
			return err
		}
		next := *current
		c.Apply(&next)
		edited = &next
		if link.SameDomain(current, &next) {
			return nil
		}
		if next.CaseSensitive != current.CaseSensitive {
			if err := refuseWithLinks(ctx, tx, id); err != nil {
				return err
			}
		}
		edited, err = oneDomain(ctx, tx, `UPDATE domains SET case_sensitive = $2, home_url = $3, fallback_url = $4, preview_pages = $5, version = version + 1, updated_at = clock_timestamp()
			WHERE id = $1 RETURNING `+domainColumns, id, next.CaseSensitive, next.HomeURL, next.FallbackURL, next.PreviewPages)
		return err
	})
	return edited, err
}

// DeleteDomain deletes a domain of the workspace's own on which no link lives. It fails
// with link.ErrNotFound, link.ErrSharedDomain, link.ErrStale, link.DomainInUseError or
// link.ErrUnavailable.
func (s *Store) DeleteDomain(ctx context.Context, workspace, id uuid.UUID, meant link.Precondition) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := lockDomain(ctx, tx, workspace, id, meant); err != nil {
			return err
		}
		if err := refuseWithLinks(ctx, tx, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM domains WHERE id = $1`, id)
		return err
	})
}

// lockDomain reads a domain that the workspace may change. Until the commit no link
// comes to live on it: whoever makes or moves one locks the row, too, before it reads
// the case rule (see readDomains).
func lockDomain(ctx context.Context, tx pgx.Tx, workspace, id uuid.UUID, meant link.Precondition) (*link.DomainRecord, error) {
	d, err := oneDomain(ctx, tx, selectDomains+` AND id = $2 FOR UPDATE`, workspace, id)
	switch {
	case err != nil:
		return nil, err
	case d.Shared():
		return nil, link.ErrSharedDomain
	case !meant(d.Version):
		return nil, link.ErrStale
	}
	return d, nil
}

func refuseWithLinks(ctx context.Context, tx pgx.Tx, id uuid.UUID) error {
	var links int64
	err := tx.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM links WHERE domain_id = $1 LIMIT $2) AS found`, id, link.MaxDomainCount).Scan(&links)
	if err != nil {
		return fmt.Errorf("counting the domain's links: %w", err)
	}
	if links > 0 {
		return &link.DomainInUseError{Links: links}
	}
	return nil
}

// checkTargets refuses URLs that lead to a domain of ours, the one at host included.
func checkTargets(ctx context.Context, tx pgx.Tx, host string, c *link.CheckedDomain) error {
	targets := c.Hosts()
	if len(targets) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `SELECT host FROM domains WHERE host = ANY($1)`, slices.Collect(maps.Values(targets)))
	if err != nil {
		return fmt.Errorf("reading domains: %w", err)
	}
	ours := domains{host: {}}
	var found string
	if _, err := pgx.ForEachRow(rows, []any{&found}, func() error { ours[found] = knownDomain{}; return nil }); err != nil {
		return fmt.Errorf("reading domains: %w", err)
	}
	var wrong link.FieldErrors
	ours.refuseOwn(targets, &wrong)
	return wrong.Err()
}

// DomainTable returns all domains of all workspaces if they are of a later revision than
// since, else nil.
func (s *Store) DomainTable(ctx context.Context, since uint64) (*controlv1.DomainTable, error) {
	// One statement, one snapshot: the revision is that of what is read beside it. With
	// no domains there is one row without one.
	rows, err := s.pool.Query(ctx, `SELECT r.revision, d.host, NOT d.case_sensitive, d.home_url, d.fallback_url, NOT d.preview_pages
		FROM domains_revision r LEFT JOIN domains d ON true WHERE r.revision > $1 ORDER BY d.host COLLATE "C"`,
		min(since, math.MaxInt64))
	if err != nil {
		return nil, translate(err)
	}
	var (
		table                *controlv1.DomainTable
		revision             uint64
		host, home, fallback *string
		fold, noPreview      *bool
	)
	_, err = pgx.ForEachRow(rows, []any{&revision, &host, &fold, &home, &fallback, &noPreview}, func() error {
		if table == nil {
			table = &controlv1.DomainTable{Revision: revision}
		}
		if host != nil {
			table.Domains = append(table.Domains, &controlv1.Domain{Host: *host, FoldCase: *fold, HomeUrl: *home, FallbackUrl: *fallback, NoPreview: *noPreview})
		}
		return nil
	})
	return table, translate(err)
}
