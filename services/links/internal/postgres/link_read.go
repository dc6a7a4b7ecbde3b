package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/links/internal/gram"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// selectLinks and scanLink belong together.
const selectLinks = `SELECT l.id, l.workspace_id, d.id, d.host, d.case_sensitive, l.slug, l.slug_key, l.destination,
	l.title, l.notes, l.tags, l.status_code, l.starts_at, l.expires_at, l.fallback_url, l.forward_query, l.archived,
	l.version, l.revision, l.created_at, l.updated_at,
	l.disabled, l.max_clicks, l.max_clicks_since, l.password_hash, l.unlock_key, l.options
	FROM links l JOIN domains d ON d.id = l.domain_id`

// linkNames are names for the columns of selectLinks, where it is a subquery.
const linkNames = `id, workspace_id, domain_id, host, case_sensitive, slug, slug_key, destination,
	title, notes, tags, status_code, starts_at, expires_at, fallback_url, forward_query, archived, version, revision, created_at, updated_at,
	disabled, max_clicks, max_clicks_since, password_hash, unlock_key, options`

func scanLink(row pgx.CollectableRow) (link.Link, error) {
	var (
		l            link.Link
		limit, since *int64
		hash         *string
		options      []byte
	)
	err := row.Scan(&l.ID, &l.WorkspaceID, &l.Domain.ID, &l.Domain.Host, &l.Domain.CaseSensitive, &l.Slug, &l.SlugKey, &l.Destination,
		&l.Title, &l.Notes, &l.Tags, &l.StatusCode, &l.StartsAt, &l.ExpiresAt, &l.FallbackURL, &l.ForwardQuery, &l.Archived,
		&l.Version, &l.Revision, &l.CreatedAt, &l.UpdatedAt,
		&l.Disabled, &limit, &since, &hash, &l.Password.UnlockKey, &options)
	if err != nil {
		return l, err
	}
	if limit != nil && since != nil {
		l.MaxClicks, l.MaxClicksSince = *limit, uint64(*since) //nolint:gosec // versions are positive
	}
	if hash != nil {
		l.Password.Hash = *hash
	}
	l.StartsAt, l.ExpiresAt = utc(l.StartsAt), utc(l.ExpiresAt)
	l.CreatedAt, l.UpdatedAt = l.CreatedAt.UTC(), l.UpdatedAt.UTC()
	l.Options, err = readOptions(options)
	return l, err
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// Get returns a link of the workspace, link.ErrNotFound or link.ErrUnavailable.
func (s *Store) Get(ctx context.Context, workspace uuid.UUID, id link.ID) (*link.Link, error) {
	return s.one(ctx, selectLinks+` WHERE l.workspace_id = $1 AND l.id = $2`, workspace, id)
}

const selectByAddress = selectLinks + ` WHERE d.host = $1 AND l.slug_key = CASE WHEN d.case_sensitive THEN $2 ELSE $3 END`

// warm asks for an address at which nothing lives, so that a new connection has the statement
// and the server's process for it has read its catalogs before somebody waits for an answer:
// 10 to 60 ms on a busy machine, and less than a millisecond from then on. A database
// without tables yet is no error.
func warm(ctx context.Context, conn *pgx.Conn) error {
	if rows, err := conn.Query(ctx, selectByAddress, "", "", ""); err == nil {
		rows.Close()
	}
	return nil
}

// Resolve returns the link that lives at an address, whichever workspace it
// belongs to, link.ErrNotFound or link.ErrUnavailable. host and slug may be in any
// spelling: the domain's case rule is applied here, because an edge that knows no
// link of the domain does not know the rule either.
func (s *Store) Resolve(ctx context.Context, host, slug string) (*link.Link, error) {
	if strings.ContainsRune(slug+host, 0) {
		return nil, link.ErrNotFound // Postgres takes no NUL in text, so nothing lives there
	}
	return s.one(ctx, selectByAddress, address.Host(host), address.SlugKey(slug), address.FoldedSlugKey(slug))
}

func (s *Store) one(ctx context.Context, query string, args ...any) (*link.Link, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, translate(err)
	}
	l, err := pgx.CollectExactlyOneRow(rows, scanLink)
	if err != nil {
		return nil, translate(err)
	}
	return &l, nil
}

// List returns at most limit links of the workspace, newest first, beginning
// after the given position (nil: from the newest). A walk over all pages shows
// each link that existed when it began exactly once, unless it is deleted on the
// way: a link's place in the order never changes, and positions are places, not
// counts.
func (s *Store) List(ctx context.Context, workspace uuid.UUID, f link.Filter, after *link.Position, limit int) (link.Page, error) {
	if text := f.Query + f.Tag; strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return link.Page{}, nil // nothing that is stored has a NUL, or is not UTF-8
	}
	host := ""
	if f.Domain != "" {
		var ok bool
		if host, ok = link.ParseHost(f.Domain); !ok {
			return link.Page{}, nil
		}
	}
	// One more than asked for tells whether there is a next page.
	links, err := s.list(ctx, listing{workspace: workspace, filter: f, host: host, after: after, limit: limit + 1})
	if err != nil {
		return link.Page{}, err
	}
	page := link.Page{Links: links}
	if len(links) > limit {
		page.Links = links[:limit]
		last := page.Links[limit-1]
		page.Next = &link.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	return page, nil
}

// listing is what List was asked for.
type listing struct {
	workspace uuid.UUID
	filter    link.Filter
	host      string
	after     *link.Position
	limit     int
}

func (s *Store) list(ctx context.Context, l listing) ([]link.Link, error) {
	if grams := gram.Of(l.workspace, l.filter.Query); len(grams) > 0 {
		return s.find(ctx, l, grams)
	}
	q := l.query()
	rows, err := s.pool.Query(ctx, q.text, append([]any{planForValues}, q.args...)...)
	if err != nil {
		return nil, translate(err)
	}
	links, err := pgx.CollectRows(rows, scanLink)
	return links, translate(err)
}

func (l listing) query() query {
	var q query
	l.add(&q, func() {})
	return q
}

// add adds the question, with a condition more.
func (l listing) add(q *query, more func()) {
	q.text += selectLinks
	q.add(` WHERE l.workspace_id = `, l.workspace)
	f := l.filter
	if l.host != "" {
		q.add(` AND d.host = `, l.host)
	}
	if f.Tag != "" {
		q.add(` AND l.tags @> `, []string{f.Tag})
	}
	if f.Query != "" {
		pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Query) + "%"
		q.add(` AND `+linkText+` ILIKE `, pattern)
	}
	if f.IDs != nil {
		ids := make([]uuid.UUID, len(f.IDs))
		for i, id := range f.IDs {
			ids[i] = id.UUID
		}
		q.add(` AND l.id = ANY(`, ids)
		q.text += `)`
	}
	if f.Archived != nil {
		q.add(` AND l.archived = `, *f.Archived)
	}
	if !f.CreatedAfter.IsZero() {
		q.add(` AND l.created_at >= `, f.CreatedAfter)
	}
	if !f.CreatedBefore.IsZero() {
		q.add(` AND l.created_at < `, f.CreatedBefore)
	}
	if l.after != nil {
		q.add(` AND (l.created_at, l.id) < (`, l.after.CreatedAt)
		q.add(`, `, l.after.ID)
		q.text += `)`
	}
	more()
	q.add(` ORDER BY l.created_at DESC, l.id DESC LIMIT `, l.limit)
}

// planForValues makes the server plan a statement for the values it is given. Which
// index is best depends on them: a tag that many links have is found soonest in the
// order of the list, a rare one by links_tags_idx. A plan for any value takes the first
// way always.
const planForValues = pgx.QueryExecModeCacheDescribe

// query is a statement that grows by constant pieces, each with one parameter. A
// statement for each combination of filters gets a plan of its own; one with
// "$1 IS NULL OR" for each filter would share a bad one.
type query struct {
	text string
	args []any
}

func (q *query) add(piece string, arg any) {
	q.args = append(q.args, arg)
	q.text += fmt.Sprintf("%s$%d", piece, len(q.args))
}

// addSlug narrows a search to the links that a slug leads to, whatever its spelling: one
// for each domain.
func (q *query) addSlug(slug string) {
	q.add(` AND l.slug_key = CASE WHEN d.case_sensitive THEN `, address.SlugKey(slug))
	q.add(` ELSE `, address.FoldedSlugKey(slug))
	q.text += ` END`
}
