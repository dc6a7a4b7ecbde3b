package catalog

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/clickhouseconn"
)

// maxConns: one inserts, and one is left for a slow one that was given up.
const maxConns = 2

// Table is the table links of ClickHouse.
type Table struct {
	conn driver.Conn
}

// OpenTable connects lazily: a server that is away is not an error here.
func OpenTable(url string) (*Table, error) {
	conn, err := clickhouseconn.Open(url, maxConns)
	if err != nil {
		return nil, err
	}
	return &Table{conn: conn}, nil
}

// Close closes the connections.
func (t *Table) Close() error { return t.conn.Close() }

// Revisions implements Store. The row of the link zero says that all have been written.
func (t *Table) Revisions(ctx context.Context) (known map[uuid.UUID]uint64, complete bool, err error) {
	rows, err := t.conn.Query(ctx, "SELECT link_id, max(revision) FROM links GROUP BY link_id")
	if err != nil {
		return nil, false, fmt.Errorf("reading links: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = rows.Close() }() // its errors come from rows.Err
	known = map[uuid.UUID]uint64{}
	for rows.Next() {
		var (
			id       uuid.UUID
			revision uint64
		)
		if err := rows.Scan(&id, &revision); err != nil {
			return nil, false, fmt.Errorf("reading links: %w", err)
		}
		known[id] = revision
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("reading links: %w", clickhouseconn.WithoutURL(err))
	}
	_, complete = known[uuid.Nil]
	return known, complete, nil
}

// MarkComplete implements Store.
func (t *Table) MarkComplete(ctx context.Context) error { return t.Insert(ctx, []Row{{Deleted: true}}) }

// Insert implements Store. Inserting a row again does no harm.
func (t *Table) Insert(ctx context.Context, rows []Row) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{"async_insert": 0}))
	batch, err := t.conn.PrepareBatch(ctx, "INSERT INTO links (workspace_id, link_id, revision, deleted, host, slug, title, destination, tags, archived, created_at)")
	if err != nil {
		return fmt.Errorf("preparing to write links: %w", clickhouseconn.WithoutURL(err))
	}
	defer func() { _ = batch.Close() }() // after Send it has nothing to say
	for i := range rows {
		r := &rows[i]
		if r.Tags == nil {
			r.Tags = []string{}
		}
		if err := batch.Append(r.WorkspaceID, r.LinkID, r.Revision, r.Deleted, r.Host, r.Slug, r.Title, r.Destination, r.Tags, r.Archived, r.CreatedAt); err != nil {
			return fmt.Errorf("writing the link %s: %w", r.LinkID, err)
		}
	}
	if err := batch.Send(); err != nil {
		return fmt.Errorf("writing links: %w", clickhouseconn.WithoutURL(err))
	}
	return nil
}
