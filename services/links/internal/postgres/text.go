package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/gram"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// The text by which a link is found is title, slug and destination, with a line feed
// between: linkText and textOf are the same in two languages.
const linkText = `(l.title || E'\n' || l.slug || E'\n' || l.destination)`

func textOf(title, slug, destination string) string { return title + "\n" + slug + "\n" + destination }

const (
	// readAtOnce is how many links that are made together have their texts read at once,
	// at least: the more, the fewer trigrams for each. Fewer stay unread for a while.
	readAtOnce = 100

	// unreadTexts is how many links of a workspace may stay unread. Each question for a
	// text looks at all of them, at about a microsecond each.
	unreadTexts = 500
)

// readTexts stores the trigrams of links of which the transaction makes enough, and
// returns where, or nil. Links of several workspaces stay unread: they were made one by
// one.
func readTexts(ctx context.Context, tx pgx.Tx, fresh []*draft) (*int64, error) {
	if len(fresh) < readAtOnce {
		return nil, nil //nolint:nilnil // unread
	}
	set := gram.NewSet(fresh[0].WorkspaceID)
	for _, d := range fresh {
		if d.WorkspaceID != fresh[0].WorkspaceID {
			return nil, nil //nolint:nilnil // unread
		}
		set.Add(textOf(d.link.Title, d.link.Slug, d.link.Destination))
	}
	return storeTexts(ctx, tx, set)
}

func storeTexts(ctx context.Context, tx pgx.Tx, set *gram.Set) (*int64, error) {
	var id int64
	if err := tx.QueryRow(ctx, `INSERT INTO link_texts (grams) VALUES ($1) RETURNING id`, set.Grams()).Scan(&id); err != nil {
		return nil, fmt.Errorf("storing the texts: %w", err)
	}
	return &id, nil
}

// ReadTexts reads texts that nobody has read, of one workspace that has many, and says
// how many: 0 when no workspace has. Of several processes one does it at a time.
func (s *Store) ReadTexts(ctx context.Context) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, LockSpace, TextsLock).Scan(&mine); err != nil || !mine {
			return err
		}
		var workspace uuid.UUID
		err := tx.QueryRow(ctx, `SELECT workspace_id FROM links WHERE text_id IS NULL
			GROUP BY workspace_id HAVING count(*) > $1 LIMIT 1`, unreadTexts).Scan(&workspace)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("looking for texts: %w", err)
		}
		n, err = readUnread(ctx, tx, workspace)
		return err
	})
	return n, err
}

func readUnread(ctx context.Context, tx pgx.Tx, workspace uuid.UUID) (int, error) {
	// Who changes one of them right now makes it unread again anyway.
	rows, err := tx.Query(ctx, `SELECT id, title, slug, destination FROM links
		WHERE workspace_id = $1 AND text_id IS NULL LIMIT $2 FOR UPDATE SKIP LOCKED`, workspace, unreadTexts)
	if err != nil {
		return 0, fmt.Errorf("reading texts: %w", err)
	}
	var (
		set                      = gram.NewSet(workspace)
		ids                      [][16]byte
		id                       [16]byte
		title, slug, destination string
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &title, &slug, &destination}, func() error {
		ids = append(ids, id)
		set.Add(textOf(title, slug, destination))
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	at, err := storeTexts(ctx, tx, set)
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `UPDATE links SET text_id = $2 WHERE id = ANY($1)`, ids, at)
	if err != nil {
		return 0, fmt.Errorf("noting that texts are read: %w", err)
	}
	return len(ids), nil
}

// listQuery asks for the links of a filter, newest first. A text is looked for among
// the links that were read together with one that has its trigrams, and among those
// that nobody has read.
func listQuery(workspace uuid.UUID, f link.Filter, host string, after *link.Position, limit int) query {
	var q query
	const order = ` ORDER BY created_at DESC, id DESC LIMIT `
	grams := gram.Of(workspace, f.Query)
	if f.Query == "" || len(grams) == 0 {
		q.text = selectLinks
		q.filter(workspace, f, host, after)
		q.add(` ORDER BY l.created_at DESC, l.id DESC LIMIT `, limit)
		return q
	}
	q.text = `SELECT ` + linkNames + ` FROM ((` + selectLinks
	q.filter(workspace, f, host, after)
	q.add(` AND l.text_id IN (SELECT t.id FROM link_texts t WHERE t.grams @> `, grams)
	q.add(`) ORDER BY l.created_at DESC, l.id DESC LIMIT `, limit)
	q.text += `) UNION ALL (` + selectLinks
	q.filter(workspace, f, host, after)
	q.add(` AND l.text_id IS NULL ORDER BY l.created_at DESC, l.id DESC LIMIT `, limit)
	q.text += `)) AS found (` + linkNames + `)`
	q.add(order, limit)
	return q
}
