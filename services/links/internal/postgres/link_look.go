package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// findKey is the advisory lock of looking for a link by its destination before
// making one: two who look for the same wait for each other. It shares the space of
// addresses; see addressKey.
func findKey(n *link.New) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("find\x00"))
	_, _ = h.Write(n.WorkspaceID[:])
	_, _ = h.Write([]byte(n.Checked.Given().Destination.Value))
	return int64(h.Sum64()) //nolint:gosec // the bits matter, not the number
}

// looksForTarget says whether the draft is satisfied by a link at any address.
func (d *draft) looksForTarget() bool { return d.FindFirst && d.generated }

type slot struct {
	domain uuid.UUID
	key    string
}

func slotOf(l *link.Link) slot { return slot{domain: l.Domain.ID, key: l.SlugKey} }

// there is what was there when all locks were held.
type there struct {
	at map[slot]*link.Link
	// made are links that an earlier try made, found those that fit.
	made, found map[*draft]*link.Link
}

// lockAndLook takes the locks of all addresses in ascending order, looks at what
// lives there, and only then takes a revision for each draft: see invariant I1. All of
// it is one round trip; the server runs the statements one after the other, each with
// a view of its own of what is committed.
func lockAndLook(ctx context.Context, tx pgx.Tx, drafts []*draft) (*there, error) {
	keys := make([]int64, 0, len(drafts))
	domains, slugKeys := make([][16]byte, len(drafts)), make([]string, len(drafts))
	for i, d := range drafts {
		keys = append(keys, addressKey(d.link))
		if d.looksForTarget() {
			keys = append(keys, findKey(&d.New))
		}
		domains[i], slugKeys[i] = d.link.Domain.ID, d.link.SlugKey
	}
	slices.Sort(keys)
	t := &there{at: map[slot]*link.Link{}, made: map[*draft]*link.Link{}, found: map[*draft]*link.Link{}}
	batch := &pgx.Batch{}
	// The server keeps the plan it made when the table was small, and would read the
	// whole table for each address long after it has grown. With the subquery's LIMIT
	// there is no other plan left than one look into the index for each.
	batch.Queue(`SET LOCAL enable_seqscan = off`)
	// A function that returns rows in the order of its array: the locks are taken in it.
	batch.Queue(`SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) AS k`, slices.Compact(keys))
	batch.Queue(`SELECT found.* FROM unnest($1::uuid[], $2::text[]) AS a (domain_id, slug_key),
		LATERAL (`+selectLinks+` WHERE l.domain_id = a.domain_id AND l.slug_key = a.slug_key LIMIT 1) AS found (`+linkNames+`)`,
		domains, slugKeys).Query(func(rows pgx.Rows) error {
		links, err := pgx.CollectRows(rows, scanLink)
		for i := range links {
			t.at[slotOf(&links[i])] = &links[i]
		}
		return err
	})
	for _, d := range drafts {
		if d.MayExist {
			queueOne(batch, t.made, d, selectLinks+` WHERE l.workspace_id = $1 AND l.id = $2`, d.WorkspaceID, d.ID)
		}
		if d.looksForTarget() {
			q, err := findQuery(&d.New)
			if err != nil {
				return nil, err
			}
			queueOne(batch, t.found, d, q.text, q.args...)
		}
	}
	batch.Queue(`SELECT nextval('link_revision_seq'), clock_timestamp() FROM generate_series(1, $1::int)`, len(drafts)).Query(func(rows pgx.Rows) error {
		i := 0
		for ; rows.Next(); i++ {
			l := drafts[i].link
			if err := rows.Scan(&l.Revision, &l.CreatedAt); err != nil {
				return err
			}
			l.CreatedAt = l.CreatedAt.UTC()
			l.UpdatedAt = l.CreatedAt
		}
		return rows.Err()
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, fmt.Errorf("locking addresses: %w", err)
	}
	return t, nil
}

// queueOne adds a question with one answer or none.
func queueOne(batch *pgx.Batch, into map[*draft]*link.Link, d *draft, text string, args ...any) {
	batch.Queue(text, args...).Query(func(rows pgx.Rows) error {
		links, err := pgx.CollectRows(rows, scanLink)
		if err == nil && len(links) > 0 {
			into[d] = &links[0]
		}
		return err
	})
}

// findQuery asks for the oldest link of the workspace that has the destination and
// all given options. It says in SQL what link.Checked.Fits says in Go.
func findQuery(n *link.New) (query, error) {
	q, err := fitting(n, selectLinks)
	if n.Checked.Given().Password.Set {
		q.add(` AND l.password_hash IS NOT DISTINCT FROM `, n.Checked.StoredPassword())
	}
	q.text += ` ORDER BY l.created_at, l.id LIMIT 1`
	return q, err
}

// fitting is findQuery without the password, which no query can compare, and without
// order.
func fitting(n *link.New, selected string) (query, error) {
	g := n.Checked.Given()
	q := query{text: selected + ` WHERE l.workspace_id = `}
	q.add("", n.WorkspaceID)
	q.add(` AND hashtextextended(l.destination, 0) = hashtextextended(`, g.Destination.Value)
	q.add(`, 0) AND l.destination = `, g.Destination.Value)
	if g.Domain.Set {
		q.add(` AND d.host = `, g.Domain.Value)
	}
	if g.Title.Set {
		q.add(` AND l.title = `, g.Title.Value)
	}
	if g.Notes.Set {
		q.add(` AND l.notes = `, g.Notes.Value)
	}
	if g.Tags.Set {
		q.add(` AND l.tags @> `, g.Tags.Value)
		q.add(` AND l.tags <@ `, g.Tags.Value) // in any order
	}
	if g.StatusCode.Set {
		q.add(` AND l.status_code = `, g.StatusCode.Value)
	}
	if g.StartsAt.Set {
		q.add(` AND l.starts_at IS NOT DISTINCT FROM `, g.StartsAt.Value)
	}
	if g.ExpiresAt.Set {
		q.add(` AND l.expires_at IS NOT DISTINCT FROM `, g.ExpiresAt.Value)
	}
	if g.FallbackURL.Set {
		q.add(` AND l.fallback_url = `, g.FallbackURL.Value)
	}
	if g.ForwardQuery.Set {
		q.add(` AND l.forward_query = `, g.ForwardQuery.Value)
	}
	q.add(` AND l.archived = `, g.Archived.Value)
	return q, q.addOptions(&g)
}

// decide writes the outcome of each draft, in order. It returns those to be stored,
// and those that need another slug.
func (t *there) decide(drafts []*draft) (fresh, again []*draft) {
	// What was accepted before counts as being there.
	wanted := map[int64][]*link.Link{}
	for _, d := range drafts {
		occupant := t.at[slotOf(d.link)]
		switch existing := d.existing(t, wanted, occupant); {
		case t.made[d] != nil:
			*d.outcome = link.Outcome{Link: t.made[d]}
		case existing != nil:
			*d.outcome = link.Outcome{Link: existing, Found: true}
		case occupant != nil && d.generated:
			again = append(again, d)
		case occupant != nil:
			*d.outcome = link.Outcome{Err: link.ErrSlugTaken}
		default:
			*d.outcome = link.Outcome{Link: d.link}
			t.at[slotOf(d.link)] = d.link
			key := findKey(&d.New)
			wanted[key] = append(wanted[key], d.link)
			fresh = append(fresh, d)
		}
	}
	return fresh, again
}

// existing is the link that a draft which looks first is satisfied by, or nil.
func (d *draft) existing(t *there, wanted map[int64][]*link.Link, occupant *link.Link) *link.Link {
	fits := func(l *link.Link) bool { return l.WorkspaceID == d.WorkspaceID && d.Checked.Fits(l) }
	switch {
	case !d.FindFirst:
		return nil
	case !d.generated:
		if occupant != nil && fits(occupant) {
			return occupant
		}
		return nil
	case t.found[d] != nil:
		return t.found[d]
	}
	for _, l := range wanted[findKey(&d.New)] {
		if fits(l) {
			return l
		}
	}
	return nil
}
