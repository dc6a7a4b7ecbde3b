package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/transfer"
)

// ClaimImport gives a job that nobody works on to a worker until the lease is over: the
// one that has waited longest. It returns nil when there is none.
func (s *Store) ClaimImport(ctx context.Context, worker uuid.UUID, lease time.Duration) (*transfer.Job, error) {
	// A job whose rows are being made is locked, so it is passed over even when the lease
	// ended during that.
	j, err := s.oneImport(ctx, `UPDATE import_jobs SET state = 'running', worker = $1, lease_until = clock_timestamp() + $2::interval
		WHERE id = (SELECT id FROM import_jobs WHERE state IN ('queued', 'running') AND lease_until < clock_timestamp()
			ORDER BY worked_at LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING id, workspace_id, format, domain, on_conflict, dry_run, state, charset, ignored_columns, total,
			created, renamed, skipped, failed, created_at, updated_at, finished_at`, worker, lease)
	if errors.Is(err, transfer.ErrNotFound) {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	return j, err
}

// ReleaseImport lets others have a job that a worker holds.
func (s *Store) ReleaseImport(ctx context.Context, id, worker uuid.UUID) error {
	return s.changeImport(ctx, transfer.ErrLost, `UPDATE import_jobs SET worker = NULL, lease_until = '-infinity', worked_at = clock_timestamp()
		WHERE id = $1 AND worker = $2 AND state = 'running'`, id, worker)
}

// NextRows returns rows of a job that are not done, in the file's order; nil when all are.
func (s *Store) NextRows(ctx context.Context, id uuid.UUID) (*transfer.Part, error) {
	var p transfer.Part
	var body string
	err := s.pool.QueryRow(ctx, `SELECT chunk, done, size, body FROM import_chunks WHERE job_id = $1 AND done < size ORDER BY chunk LIMIT 1`, id).
		Scan(&p.Chunk, &p.Done, &p.Size, &body)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil //nolint:nilnil // all are done
	case err != nil:
		return nil, translate(err)
	case body == "":
		return nil, transfer.ErrLost // cancelled meanwhile
	}
	if p.Rows, err = transfer.DecodeRows(body); err != nil {
		return nil, err
	}
	p.Rows = p.Rows[p.Done:]
	return &p, nil
}

// FinishImport ends a job whose rows are all done.
func (s *Store) FinishImport(ctx context.Context, id, worker uuid.UUID) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if err := holdImport(ctx, tx, id, worker); err != nil {
			return err
		}
		return endImport(ctx, tx, id, transfer.Done)
	})
}

// holdImport locks a job's row if it is the worker's. Whoever holds it is the only one who
// makes rows of the job, whatever the leases say.
func holdImport(ctx context.Context, tx pgx.Tx, id, worker uuid.UUID) error {
	err := tx.QueryRow(ctx, `SELECT FROM import_jobs WHERE id = $1 AND worker = $2 AND state = 'running' FOR UPDATE`, id, worker).Scan()
	if errors.Is(err, pgx.ErrNoRows) {
		return transfer.ErrLost
	}
	return err
}

// MakeRows makes the links of rows and notes that the rows are done, in one transaction.
// It takes the job's row first and then locks as any making of links does; nobody who
// holds an address waits for a job. When settle fails, its error comes back and nothing
// is made.
func (s *Store) MakeRows(ctx context.Context, j *transfer.Job, worker uuid.UUID, lease time.Duration, chunk int,
	rows []link.New, settle func([]link.Outcome) (transfer.Progress, error),
) error {
	select {
	case s.bulk <- struct{}{}:
		defer func() { <-s.bulk }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", link.ErrUnavailable, ctx.Err())
	}
	outcomes := make([]link.Outcome, len(rows))
	drafts := make([]*draft, len(rows))
	for i := range rows {
		drafts[i] = &draft{New: rows[i], outcome: &outcomes[i]}
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		if err := holdImport(ctx, tx, j.ID, worker); err != nil {
			return err
		}
		if err := s.makeRowsIn(ctx, tx, j, drafts); err != nil {
			return err
		}
		p, err := settle(outcomes)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE import_chunks SET done = done + $3, report = report || $4, body = CASE WHEN done + $3 < size THEN body ELSE '' END
			WHERE job_id = $1 AND chunk = $2`, j.ID, chunk, p.Rows, p.Report)
		batch.Queue(`UPDATE import_jobs SET created = created + $2, renamed = renamed + $3, skipped = skipped + $4, failed = failed + $5,
			lease_until = clock_timestamp() + $6::interval, updated_at = clock_timestamp() WHERE id = $1`,
			j.ID, p.Created, p.Renamed, p.Skipped, p.Failed, lease)
		return tx.SendBatch(ctx, batch).Close()
	})
}

func (s *Store) makeRowsIn(ctx context.Context, tx pgx.Tx, j *transfer.Job, drafts []*draft) error {
	switch {
	case len(drafts) == 0:
		return nil
	case j.DryRun:
		return s.tryRowsIn(ctx, tx, j.ID, drafts)
	}
	again, err := s.makeIn(ctx, tx, drafts)
	if err == nil && len(again) > 0 {
		err = transfer.ErrAgain // generated slugs that were taken
	}
	return err
}

// tryRowsIn writes what makeIn would, as far as can be told without making anything: it
// remembers the addresses for the rows that come after.
func (s *Store) tryRowsIn(ctx context.Context, tx pgx.Tx, job uuid.UUID, drafts []*draft) error {
	known, err := s.domainsOf(ctx, tx, drafts)
	if err != nil {
		return err
	}
	var domainIDs [][16]byte
	var keys []string
	var sound []*draft
	for _, d := range drafts {
		*d.outcome = link.Outcome{}
		if d.outcome.Err = s.prepare(d, known); d.outcome.Err == nil {
			sound = append(sound, d)
			domainIDs, keys = append(domainIDs, d.link.Domain.ID), append(keys, d.link.SlugKey)
		}
	}
	if err := oneLookEach(ctx, tx); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `SELECT EXISTS (SELECT FROM links l WHERE l.domain_id = a.domain_id AND l.slug_key = a.slug_key)
			OR EXISTS (SELECT FROM import_addresses i WHERE i.job_id = $1 AND i.domain_id = a.domain_id AND i.slug_key = a.slug_key)
		FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS a (domain_id, slug_key, n) ORDER BY a.n`, job, domainIDs, keys)
	if err != nil {
		return fmt.Errorf("looking for addresses: %w", err)
	}
	taken, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	if err != nil {
		return fmt.Errorf("looking for addresses: %w", err)
	}
	here := map[slot]bool{}
	for i, d := range sound {
		at := slotOf(d.link)
		if taken[i] || here[at] {
			d.outcome.Err = link.ErrSlugTaken
			continue
		}
		here[at] = true
		d.outcome.Link = d.link
	}
	_, err = tx.Exec(ctx, `INSERT INTO import_addresses (job_id, domain_id, slug_key) SELECT $1, a.domain_id, a.slug_key
		FROM unnest($2::uuid[], $3::text[]) AS a (domain_id, slug_key) ON CONFLICT DO NOTHING`, job, domainIDs, keys)
	return err
}

// Occupants says what lives at addresses, in their order; with a job also what its earlier
// rows would have taken.
func (s *Store) Occupants(ctx context.Context, job uuid.UUID, places []transfer.Place) ([]transfer.Occupant, error) {
	hosts, keys, folded := make([]string, len(places)), make([]string, len(places)), make([]string, len(places))
	for i, p := range places {
		hosts[i], keys[i], folded[i] = p.Host, address.SlugKey(p.Slug), address.FoldedSlugKey(p.Slug)
	}
	var there []transfer.Occupant
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		if err := oneLookEach(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectOccupants, job, hosts, keys, folded)
		if err != nil {
			return fmt.Errorf("looking for addresses: %w", err)
		}
		there, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (o transfer.Occupant, err error) {
			return o, row.Scan(&o.Key, &o.Taken)
		})
		return err
	})
	return there, err
}

const selectOccupants = `SELECT coalesce(d.id::text || '/' || k.slug_key, ''),
			d.id IS NOT NULL AND (EXISTS (SELECT FROM links l WHERE l.domain_id = d.id AND l.slug_key = k.slug_key)
				OR EXISTS (SELECT FROM import_addresses i WHERE i.job_id = $1 AND i.domain_id = d.id AND i.slug_key = k.slug_key))
		FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS a (host, slug_key, folded, n)
		LEFT JOIN domains d ON d.host = a.host
		CROSS JOIN LATERAL (SELECT CASE WHEN d.case_sensitive THEN a.slug_key ELSE a.folded END AS slug_key) k
		ORDER BY a.n`

// oneLookEach keeps the server from reading the whole table of links for some hundred
// addresses, with a plan that it made when the table was small; see lockAndLook.
func oneLookEach(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SET LOCAL enable_seqscan = off`)
	return err
}
