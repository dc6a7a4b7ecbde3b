-- What the links service knows of edges, and what it asks of them: purges and pre-warms.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE edges (
    -- one process; a restart makes another
    instance   uuid        CONSTRAINT edges_pkey PRIMARY KEY,
    name       text        NOT NULL,
    region     text        NOT NULL,
    -- by this database's clock, like all times here
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL
) WITH (fillfactor = 50); -- seen_at changes every second: room to do it in place

CREATE TABLE edge_commands (
    id         bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT edge_commands_pkey PRIMARY KEY,
    kind       text        NOT NULL CONSTRAINT edge_commands_kind CHECK (kind IN ('purge', 'prewarm')),
    -- Command in protobuf, without its id
    payload    bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX edge_commands_created_at_idx ON edge_commands (created_at);

CREATE TABLE edge_confirmations (
    command_id   bigint  NOT NULL CONSTRAINT edge_confirmations_command_fkey REFERENCES edge_commands (id) ON DELETE CASCADE,
    instance     uuid    NOT NULL,
    name         text    NOT NULL,
    region       text    NOT NULL,
    -- the edge was live when the command was given: whoever gave it waits for it
    expected     boolean NOT NULL,
    confirmed_at timestamptz,
    memory_done  boolean NOT NULL DEFAULT false,
    redis_done   boolean NOT NULL DEFAULT false,
    CONSTRAINT edge_confirmations_pkey PRIMARY KEY (command_id, instance)
);

-- Addresses that links have left, by being moved or deleted: caches may hold copies
-- there for as long as they keep anything.
CREATE TABLE left_addresses (
    link_id      uuid        NOT NULL,
    workspace_id uuid        NOT NULL CONSTRAINT left_addresses_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    host         text        NOT NULL,
    slug         text        NOT NULL,
    slug_key     text        NOT NULL,
    -- the link's, after the change that took it away
    version      bigint      NOT NULL,
    revision     bigint      NOT NULL,
    left_at      timestamptz NOT NULL,
    CONSTRAINT left_addresses_pkey PRIMARY KEY (link_id, revision)
);
CREATE INDEX left_addresses_address_idx ON left_addresses (host, slug_key, revision DESC);
CREATE INDEX left_addresses_left_at_idx ON left_addresses (left_at);

-- Token buckets in whole numbers: a token is 1,000,000, and a rate of n tokens a
-- second adds n each microsecond.
CREATE TABLE workspace_limits (
    workspace_id uuid    NOT NULL CONSTRAINT workspace_limits_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    policy       text    NOT NULL,
    level        bigint  NOT NULL,
    -- microseconds since 1970
    level_at     bigint  NOT NULL,
    allowed      boolean NOT NULL,
    CONSTRAINT workspace_limits_pkey PRIMARY KEY (workspace_id, policy)
);
-- +goose StatementEnd
