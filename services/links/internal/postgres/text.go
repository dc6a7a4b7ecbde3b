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
	// at least: the more, the fewer grams for each. Fewer stay unread for a while.
	readAtOnce = 100

	// unreadTexts is how many links of a workspace may stay unread. Each question for a
	// text looks at all of them, at about a microsecond each.
	unreadTexts = 500
)

// readTexts stores the grams of links of which the transaction makes enough, and
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

// manyTexts is how many places a text may be looked for in. When it may be in more, the
// list is read in its order until a page is full: much of it will have the text.
const manyTexts = 40

// find returns the links of a listing with a text, newest first: among those that were
// read together with one that has its grams, and those that nobody has read.
func (s *Store) find(ctx context.Context, l listing, grams []int32) (links []link.Link, err error) {
	// One snapshot: a text must not be read by somebody between the two questions.
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return links, translate(pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		var places []int64
		batch := &pgx.Batch{}
		// The table is small, but what it holds is not.
		batch.Queue(`SET LOCAL enable_seqscan = off`)
		batch.Queue(`SELECT id FROM link_texts WHERE grams @> $1 LIMIT $2`, grams, manyTexts+1).Query(func(rows pgx.Rows) (err error) {
			places, err = pgx.CollectRows(rows, pgx.RowTo[int64])
			return err
		})
		err := tx.SendBatch(ctx, batch).Close()
		if err != nil {
			return err
		}
		q := l.query()
		if len(places) <= manyTexts {
			q = l.among(places)
		}
		links, err = collect[link.Link](ctx, tx, scanLink, q.text, append([]any{planForValues}, q.args...)...)
		return err
	}))
}

// among asks for the links whose texts were read at the places, or not at all.
func (l listing) among(places []int64) query {
	q := query{text: `SELECT ` + linkNames + ` FROM ((`}
	l.add(&q, func() { q.add(` AND l.text_id = ANY(`, places); q.text += `)` })
	q.text += `) UNION ALL (`
	l.add(&q, func() { q.text += ` AND l.text_id IS NULL` })
	q.text += `)) AS found (` + linkNames + `)`
	q.add(` ORDER BY created_at DESC, id DESC LIMIT `, l.limit)
	return q
}
