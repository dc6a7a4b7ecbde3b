package postgres

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

// Click is what counting needs of a click.
type Click struct {
	Offset          int64
	Workspace, Link uuid.UUID
	Host, SlugKey   string
	At              time.Time
}

// Batch are clicks of one partition, in the order of their offsets.
type Batch struct {
	Topic     [16]byte // the topic's id
	Partition int32
	Clicks    []Click
}

// Counted is how often a link was clicked for an endpoint, before and after a batch.
type Counted struct {
	Endpoint      *endpoint.Endpoint
	Click         Click // the last one of the batch
	Before, After int64
}

// Counters returns the enabled endpoints of these workspaces that want clicks counted.
func (s *Store) Counters(ctx context.Context, workspaces []uuid.UUID) ([]endpoint.Endpoint, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+endpointColumns+` FROM webhook_endpoints
		WHERE workspace_id = ANY($1) AND enabled AND event_types && ARRAY['clicks.summary', 'link.threshold_reached']`, workspaces)
	if err != nil {
		return nil, translate(err)
	}
	list, err := pgx.CollectRows(rows, scanEndpoint)
	return list, translate(err)
}

// CountingSince is when the first endpoint began that wants clicks counted, or now.
func (s *Store) CountingSince(ctx context.Context) (from time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT coalesce(min(active_from), now()) FROM webhook_endpoints
		WHERE enabled AND event_types && ARRAY['clicks.summary', 'link.threshold_reached']`).Scan(&from)
	return from, translate(err)
}

// Count adds clicks to the counts of endpoints, each click once however often it comes:
// how far the partition is counted is written in the same transaction. wanted says which
// clicks count for an endpoint. What thresholds were reached by it, reached turns into
// events, which are queued in the same transaction; an error of it undoes everything.
func (s *Store) Count(ctx context.Context, b *Batch, endpoints []endpoint.Endpoint, wanted func(*endpoint.Endpoint, *Click) bool, reached func(Counted) ([]Queued, error)) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		next, err := position(ctx, tx, b)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(slices.Clone(b.Clicks), func(c Click) bool { return c.Offset < next })
		if len(fresh) == 0 {
			return nil
		}
		slices.SortFunc(endpoints, func(x, y endpoint.Endpoint) int { return bytes.Compare(x.ID[:], y.ID[:]) })
		var queue []Queued
		for i := range endpoints {
			counted, err := count(ctx, tx, &endpoints[i], fresh, wanted)
			if err != nil {
				return err
			}
			for _, c := range counted {
				more, err := reached(c)
				if err != nil {
					return err
				}
				queue = append(queue, more...)
			}
		}
		if err := enqueue(ctx, tx, queue); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE webhook_click_positions SET next_offset = $3 WHERE topic_id = $1 AND partition = $2`,
			uuid.UUID(b.Topic), b.Partition, b.Clicks[len(b.Clicks)-1].Offset+1)
		return err
	})
}

// position locks how far a partition is counted.
func position(ctx context.Context, tx pgx.Tx, b *Batch) (next int64, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO webhook_click_positions AS p (topic_id, partition, next_offset) VALUES ($1, $2, 0)
		ON CONFLICT (topic_id, partition) DO UPDATE SET next_offset = p.next_offset RETURNING next_offset`, uuid.UUID(b.Topic), b.Partition).Scan(&next)
	if err != nil {
		return 0, fmt.Errorf("locking a partition's position: %w", err)
	}
	return next, nil
}

// count adds what of the clicks is for an endpoint. The endpoint's window is locked first,
// as by whoever sums up, so that a click is in one summary.
func count(ctx context.Context, tx pgx.Tx, e *endpoint.Endpoint, clicks []Click, wanted func(*endpoint.Endpoint, *Click) bool) ([]Counted, error) {
	numbers, last := map[uuid.UUID]int64{}, map[uuid.UUID]Click{}
	for i := range clicks {
		c := &clicks[i]
		if c.Workspace == e.WorkspaceID && !c.At.Before(e.ActiveFrom) && e.Filter.WantsClickOn(c.Host, c.Link) && wanted(e, c) {
			numbers[c.Link]++
			last[c.Link] = *c
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	summed := e.Filter.WantsType(event.ClicksSummary)
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook_click_windows AS w (endpoint_id, opened_at, due_at)
		SELECT id, CASE WHEN $2 THEN now() END, CASE WHEN $2 THEN now() + make_interval(secs => $3) END FROM webhook_endpoints WHERE id = $1
		ON CONFLICT (endpoint_id) DO UPDATE SET opened_at = coalesce(w.opened_at, excluded.opened_at), due_at = coalesce(w.due_at, excluded.due_at)`,
		e.ID, summed, e.SummaryEvery.Seconds())
	if err != nil {
		return nil, fmt.Errorf("opening a window: %w", err)
	}
	var counted []Counted
	links := slices.SortedFunc(maps.Keys(numbers), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, link := range links {
		n, c, unreported := numbers[link], last[link], int64(0)
		if summed {
			unreported = n
		}
		var total int64
		err := tx.QueryRow(ctx, `
			INSERT INTO webhook_click_counts AS c (endpoint_id, link_id, host, slug_key, total, unreported)
			SELECT id, $2, $3, $4, $5, $6 FROM webhook_endpoints WHERE id = $1
			ON CONFLICT (endpoint_id, link_id) DO UPDATE SET host = excluded.host, slug_key = excluded.slug_key,
				total = c.total + excluded.total, unreported = c.unreported + excluded.unreported
			RETURNING total`, e.ID, link, c.Host, c.SlugKey, n, unreported).Scan(&total)
		if err == pgx.ErrNoRows { //nolint:errorlint // pgx returns it bare
			return nil, nil // the endpoint was deleted meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("counting clicks: %w", err)
		}
		counted = append(counted, Counted{Endpoint: e, Click: c, Before: total - n, After: total})
	}
	return counted, nil
}

// summaryLinks is how many links are in one event: some 100 kB.
const summaryLinks = 500

// SumUp makes the summaries that are due, of at most limit endpoints, and queues them in
// the transaction that starts their counts anew.
func (s *Store) SumUp(ctx context.Context, limit int) (n int, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		type window struct {
			endpoint, workspace uuid.UUID
			from, to            time.Time
			number              int64
		}
		rows, err := tx.Query(ctx, `
			SELECT w.endpoint_id, e.workspace_id, w.opened_at, now(), w.summaries + 1 FROM webhook_click_windows w JOIN webhook_endpoints e ON e.id = w.endpoint_id
			WHERE w.due_at <= now() ORDER BY w.due_at LIMIT $1 FOR UPDATE OF w SKIP LOCKED`, limit)
		if err != nil {
			return fmt.Errorf("finding summaries that are due: %w", err)
		}
		var (
			due   []window
			w     window
			queue []Queued
		)
		if _, err := pgx.ForEachRow(rows, []any{&w.endpoint, &w.workspace, &w.from, &w.to, &w.number}, func() error {
			due = append(due, w)
			return nil
		}); err != nil {
			return fmt.Errorf("finding summaries that are due: %w", err)
		}
		for _, w := range due {
			links, err := takeUnreported(ctx, tx, w.endpoint)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE webhook_click_windows SET opened_at = NULL, due_at = NULL, summaries = $2 WHERE endpoint_id = $1`, w.endpoint, w.number); err != nil {
				return fmt.Errorf("closing a window: %w", err)
			}
			parts := slices.Collect(slices.Chunk(links, summaryLinks))
			for i, part := range parts {
				summary := event.ClickSummary{From: w.from.UTC(), To: w.to.UTC(), Links: part, Part: i + 1, Parts: len(parts)}
				for _, l := range part {
					summary.Clicks += l.Clicks
				}
				queue = append(queue, Queued{Endpoint: w.endpoint, Event: event.Summed(w.endpoint, w.workspace, w.number, summary)})
			}
		}
		n = len(due)
		return enqueue(ctx, tx, queue)
	})
	return n, err
}

// takeUnreported starts the counts of an endpoint anew and returns what they were, the
// most clicked link first.
func takeUnreported(ctx context.Context, tx pgx.Tx, id uuid.UUID) ([]event.LinkClicks, error) {
	rows, err := tx.Query(ctx, `
		WITH was AS (SELECT link_id, unreported FROM webhook_click_counts WHERE endpoint_id = $1 AND unreported > 0 FOR UPDATE)
		UPDATE webhook_click_counts c SET unreported = 0 FROM was WHERE c.endpoint_id = $1 AND c.link_id = was.link_id
		RETURNING c.link_id, c.host, c.slug_key, was.unreported, c.total`, id)
	if err != nil {
		return nil, fmt.Errorf("taking the counts: %w", err)
	}
	links, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.LinkClicks, error) {
		var l event.LinkClicks
		return l, row.Scan(&l.LinkID, &l.Domain, &l.Slug, &l.Clicks, &l.Total)
	})
	if err != nil {
		return nil, fmt.Errorf("taking the counts: %w", err)
	}
	slices.SortFunc(links, func(a, b event.LinkClicks) int {
		return cmp.Or(cmp.Compare(b.Clicks, a.Clicks), bytes.Compare(a.LinkID[:], b.LinkID[:]))
	})
	return links, nil
}
