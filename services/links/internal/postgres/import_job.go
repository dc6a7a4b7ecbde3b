package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/transfer"
)

const selectImport = `SELECT id, workspace_id, format, domain, on_conflict, dry_run, state, charset, ignored_columns, total,
	created, renamed, skipped, failed, created_at, updated_at, finished_at FROM import_jobs`

func scanImport(row pgx.CollectableRow) (transfer.Job, error) {
	var j transfer.Job
	err := row.Scan(&j.ID, &j.WorkspaceID, &j.Format, &j.Domain, &j.OnConflict, &j.DryRun, &j.State, &j.Charset, &j.Ignored, &j.Total,
		&j.Created, &j.Renamed, &j.Skipped, &j.Failed, &j.CreatedAt, &j.UpdatedAt, &j.FinishedAt)
	j.CreatedAt, j.UpdatedAt, j.FinishedAt = j.CreatedAt.UTC(), j.UpdatedAt.UTC(), utc(j.FinishedAt)
	return j, err
}

// notImport is what a statement about one job means by no row.
func notImport(err error, meaning error) error {
	if errors.Is(err, link.ErrNotFound) {
		return meaning
	}
	return err
}

// StartImport stores a job that is being uploaded, or finds one with its id that was
// uploaded before. It returns transfer.ErrTooMany, link.FieldErrors about its domain, or
// link.ErrUnavailable.
func (s *Store) StartImport(ctx context.Context, j *transfer.Job) (found bool, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		// One upload of a workspace begins at a time, or two would both find room.
		if _, err := tx.Exec(ctx, `SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE`, j.WorkspaceID); err != nil {
			return fmt.Errorf("locking the workspace: %w", err)
		}
		// An upload that broke off begins anew.
		if _, err := tx.Exec(ctx, `DELETE FROM import_jobs WHERE workspace_id = $1 AND id = $2 AND state = 'uploading'`, j.WorkspaceID, j.ID); err != nil {
			return fmt.Errorf("looking for an earlier try: %w", err)
		}
		var open int
		var known bool
		err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM import_jobs WHERE workspace_id = $1 AND state IN ('uploading', 'queued', 'running')),
			$2 = '' OR EXISTS (SELECT FROM domains WHERE host = $2 AND (workspace_id IS NULL OR workspace_id = $1)),
			EXISTS (SELECT FROM import_jobs WHERE workspace_id = $1 AND id = $3)`, j.WorkspaceID, j.Domain, j.ID).Scan(&open, &known, &found)
		switch {
		case err != nil:
			return fmt.Errorf("counting imports: %w", err)
		case found:
			return nil
		case !known:
			return link.FieldErrors{{Field: "domain", Code: link.CodeUnknownDomain, Detail: "there is no such domain in this workspace"}}
		case open >= transfer.MaxOpen:
			return transfer.ErrTooMany
		}
		_, err = tx.Exec(ctx, `INSERT INTO import_jobs (id, workspace_id, state, format, domain, on_conflict, dry_run) VALUES ($1, $2, 'uploading', $3, $4, $5, $6)`,
			j.ID, j.WorkspaceID, j.Format, j.Domain, j.OnConflict, j.DryRun)
		return err
	})
	return found, err
}

// AddRows stores a chunk of a job that is being uploaded.
func (s *Store) AddRows(ctx context.Context, id uuid.UUID, chunk int, rows []transfer.Row) error {
	body, err := transfer.EncodeRows(rows)
	if err != nil {
		return err
	}
	return s.inTx(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO import_chunks (job_id, chunk, body, size) VALUES ($1, $2, $3, $4)`, id, chunk, body, len(rows))
		batch.Queue(`UPDATE import_jobs SET total = total + $2, updated_at = clock_timestamp() WHERE id = $1`, id, len(rows))
		return tx.SendBatch(ctx, batch).Close()
	})
}

// QueueImport ends the upload of a job. It returns transfer.ErrLost.
func (s *Store) QueueImport(ctx context.Context, id uuid.UUID, f transfer.File) error {
	ignored := f.Ignored
	if ignored == nil {
		ignored = []string{}
	}
	return s.changeImport(ctx, transfer.ErrLost, `UPDATE import_jobs SET state = 'queued', format = $2, charset = $3, ignored_columns = $4,
		updated_at = clock_timestamp() WHERE id = $1 AND state = 'uploading'`, id, f.Format, f.Charset, ignored)
}

// DropImport deletes a job that is being uploaded, if it is still there.
func (s *Store) DropImport(ctx context.Context, id uuid.UUID) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM import_jobs WHERE id = $1 AND state IN ('uploading', 'cancelled')`, id)
	return translate(err)
}

// changeImport runs a statement that changes one job; none gives the error missing.
func (s *Store) changeImport(ctx context.Context, missing error, statement string, args ...any) error {
	tag, err := s.pool.Exec(ctx, statement, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return missing
	}
	return translate(err)
}

// Import returns a job of the workspace, transfer.ErrNotFound or link.ErrUnavailable.
func (s *Store) Import(ctx context.Context, workspace, id uuid.UUID) (*transfer.Job, error) {
	return s.oneImport(ctx, selectImport+` WHERE workspace_id = $1 AND id = $2`, workspace, id)
}

func (s *Store) oneImport(ctx context.Context, statement string, args ...any) (*transfer.Job, error) {
	rows, err := s.pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, translate(err)
	}
	j, err := pgx.CollectExactlyOneRow(rows, scanImport)
	if err != nil {
		return nil, notImport(translate(err), transfer.ErrNotFound)
	}
	return &j, nil
}

// Imports returns at most limit jobs of the workspace with ids before one, newest first.
func (s *Store) Imports(ctx context.Context, workspace, before uuid.UUID, limit int) ([]transfer.Job, error) {
	rows, err := s.pool.Query(ctx, selectImport+` WHERE workspace_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, workspace, before, limit)
	if err != nil {
		return nil, translate(err)
	}
	jobs, err := pgx.CollectRows(rows, scanImport)
	return jobs, translate(err)
}

// CancelImport ends an open job; rows that are not done never are. It waits for the
// transaction that is making some. It returns transfer.ErrNotFound.
func (s *Store) CancelImport(ctx context.Context, workspace, id uuid.UUID) error {
	err := s.inTx(ctx, func(tx pgx.Tx) error {
		var open bool
		err := tx.QueryRow(ctx, `SELECT finished_at IS NULL FROM import_jobs WHERE workspace_id = $1 AND id = $2 FOR UPDATE`, workspace, id).Scan(&open)
		if err != nil || !open {
			return err
		}
		return endImport(ctx, tx, id, transfer.Cancelled)
	})
	return notImport(err, transfer.ErrNotFound)
}

// endImport ends a job whose row the caller holds, and drops what is no report.
func endImport(ctx context.Context, tx pgx.Tx, id uuid.UUID, state transfer.State) error {
	batch := &pgx.Batch{}
	batch.Queue(`UPDATE import_jobs SET state = $2, worker = NULL, finished_at = clock_timestamp(), updated_at = clock_timestamp() WHERE id = $1`, id, state)
	batch.Queue(`UPDATE import_chunks SET body = '' WHERE job_id = $1 AND body <> ''`, id)
	batch.Queue(`DELETE FROM import_addresses WHERE job_id = $1`, id)
	return tx.SendBatch(ctx, batch).Close()
}

// reportChunks bounds how many chunks one question for a report returns: each has some
// tens of kilobytes.
const reportChunks = 20

// ImportReport returns the reports of chunks from one on, and the chunk after them, which
// is 0 when there is none that has a report.
func (s *Store) ImportReport(ctx context.Context, id uuid.UUID, from int) ([]string, int, error) {
	rows, err := s.pool.Query(ctx, `SELECT report FROM import_chunks WHERE job_id = $1 AND chunk >= $2 AND done > 0 ORDER BY chunk LIMIT $3`, id, from, reportChunks)
	if err != nil {
		return nil, 0, translate(err)
	}
	parts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, 0, translate(err)
	}
	if len(parts) < reportChunks {
		return parts, 0, nil
	}
	return parts, from + len(parts), nil // chunks are numbered without gaps, and done in order
}

// ForgetImports deletes jobs that ended longer ago than after, and uploads in which
// nothing has happened for as long as abandoned.
func (s *Store) ForgetImports(ctx context.Context, after, abandoned time.Duration) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM import_jobs WHERE id IN (
		SELECT id FROM import_jobs WHERE finished_at < clock_timestamp() - $1::interval
			OR state = 'uploading' AND updated_at < clock_timestamp() - $2::interval LIMIT 10)`, after, abandoned)
	return translate(err)
}
