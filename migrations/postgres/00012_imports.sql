-- Imports: jobs that make links from a file, and the file's rows until they are made.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE import_jobs (
    id              uuid        CONSTRAINT import_jobs_pkey PRIMARY KEY,
    workspace_id    uuid        NOT NULL CONSTRAINT import_jobs_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    state           text        NOT NULL CONSTRAINT import_jobs_state CHECK (state IN ('uploading', 'queued', 'running', 'done', 'cancelled')),
    format          text        NOT NULL,
    charset         text        NOT NULL DEFAULT '',
    -- host that all links are made on; empty for what the rows say
    domain          text        NOT NULL DEFAULT '',
    on_conflict     text        NOT NULL CONSTRAINT import_jobs_on_conflict CHECK (on_conflict IN ('skip', 'fail', 'rename')),
    dry_run         boolean     NOT NULL,
    ignored_columns text[]      NOT NULL DEFAULT '{}',
    -- rows of the file, and what became of those that are done
    total           bigint      NOT NULL DEFAULT 0,
    created         bigint      NOT NULL DEFAULT 0,
    renamed         bigint      NOT NULL DEFAULT 0,
    skipped         bigint      NOT NULL DEFAULT 0,
    failed          bigint      NOT NULL DEFAULT 0,
    -- who works on it, and until when nobody else may begin to
    worker          uuid,
    lease_until     timestamptz NOT NULL DEFAULT '-infinity',
    -- jobs take turns: the one that has waited longest is next
    worked_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at     timestamptz
);
CREATE INDEX import_jobs_open_idx ON import_jobs (worked_at) WHERE state IN ('uploading', 'queued', 'running');
CREATE INDEX import_jobs_workspace_idx ON import_jobs (workspace_id, id);
CREATE INDEX import_jobs_finished_idx ON import_jobs (finished_at) WHERE finished_at IS NOT NULL;

-- Some hundred rows of the file each. A row of a table for each would be a million.
CREATE TABLE import_chunks (
    job_id uuid    NOT NULL CONSTRAINT import_chunks_job_fkey REFERENCES import_jobs (id) ON DELETE CASCADE,
    chunk  integer NOT NULL,
    -- rows as JSON; emptied when they are done
    body   text    NOT NULL,
    size   integer NOT NULL CONSTRAINT import_chunks_size CHECK (size > 0),
    -- how many of them are done: it moves in the transaction that makes their links
    done   integer NOT NULL DEFAULT 0 CONSTRAINT import_chunks_done CHECK (done BETWEEN 0 AND size),
    -- what became of those, as lines of CSV
    report text    NOT NULL DEFAULT '',
    CONSTRAINT import_chunks_pkey PRIMARY KEY (job_id, chunk)
);
CREATE INDEX import_chunks_open_idx ON import_chunks (job_id, chunk) WHERE done < size;

-- Addresses that earlier rows of a dry run would have taken.
CREATE TABLE import_addresses (
    job_id    uuid NOT NULL CONSTRAINT import_addresses_job_fkey REFERENCES import_jobs (id) ON DELETE CASCADE,
    domain_id uuid NOT NULL,
    slug_key  text NOT NULL,
    CONSTRAINT import_addresses_pkey PRIMARY KEY (job_id, domain_id, slug_key)
);
-- +goose StatementEnd
