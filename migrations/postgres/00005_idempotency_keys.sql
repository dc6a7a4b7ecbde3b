-- Answers to POST requests that named an Idempotency-Key, for a day.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE idempotency_keys (
    workspace_id  uuid        NOT NULL CONSTRAINT idempotency_keys_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    -- SHA-256 of the caller's key, so that this table does not hold what opens the answers
    key_hash      bytea       NOT NULL,
    -- SHA-256 of method, path, query and body
    request_hash  bytea       NOT NULL,
    -- what the ids of the things that the request makes are derived from: a try
    -- whose outcome nobody saw is repeated with the same ids and finds what it made
    seed          uuid        NOT NULL,
    -- which try holds the row; a try whose turn is over may not store its answer
    turn          bigint      NOT NULL DEFAULT 1,
    -- until then one try is under way; after it another may begin
    claimed_until timestamptz NOT NULL,
    -- sealed with a key derived from the service's secret and the caller's key; null until there is one
    answer        bytea,
    expires_at    timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (workspace_id, key_hash)
);
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);
-- +goose StatementEnd
