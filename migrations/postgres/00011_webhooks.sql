-- Webhooks: where a workspace wants to be told what happens to its links, what is to be
-- told, and what came of it.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE webhook_endpoints (
    id               uuid        CONSTRAINT webhook_endpoints_pkey PRIMARY KEY,
    workspace_id     uuid        NOT NULL CONSTRAINT webhook_endpoints_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    url              text        NOT NULL CONSTRAINT webhook_endpoints_url_length CHECK (octet_length(url) BETWEEN 1 AND 4000),
    description      text        NOT NULL DEFAULT '' CONSTRAINT webhook_endpoints_description_length CHECK (char_length(description) <= 500),
    -- what it wants to hear of; an empty filter lets everything pass
    event_types      text[]      NOT NULL CONSTRAINT webhook_endpoints_event_types CHECK (cardinality(event_types) BETWEEN 1 AND 20),
    domains          text[]      NOT NULL DEFAULT '{}',
    tags             text[]      NOT NULL DEFAULT '{}',
    link_ids         uuid[]      NOT NULL DEFAULT '{}',
    -- numbers of clicks, ascending, that are told once for each link
    thresholds       bigint[]    NOT NULL DEFAULT '{}',
    summary_seconds  integer     NOT NULL CONSTRAINT webhook_endpoints_summary_seconds CHECK (summary_seconds BETWEEN 1 AND 86400),
    enabled          boolean     NOT NULL DEFAULT true,
    -- why and since when it is not enabled
    disabled_reason  text        CONSTRAINT webhook_endpoints_disabled_reason CHECK (disabled_reason IN ('request', 'gone', 'failing', 'queue_full')),
    disabled_at      timestamptz,
    -- what happened before is not for this endpoint
    active_from      timestamptz NOT NULL,
    -- since when no attempt has succeeded; null when the last one did
    failing_since    timestamptz,
    -- sealed under the service's own key: a leaked dump signs nothing
    secret           bytea       NOT NULL,
    previous_secret  bytea,
    previous_until   timestamptz,
    -- counts its changes from 1
    version          bigint      NOT NULL DEFAULT 1 CONSTRAINT webhook_endpoints_version_positive CHECK (version > 0),
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CONSTRAINT webhook_endpoints_disabled CHECK (enabled = (disabled_reason IS NULL) AND enabled = (disabled_at IS NULL)),
    CONSTRAINT webhook_endpoints_previous CHECK ((previous_secret IS NULL) = (previous_until IS NULL))
);
CREATE INDEX webhook_endpoints_workspace_idx ON webhook_endpoints (workspace_id, created_at DESC, id DESC);

-- One row: counts the changes of the table, so that readers who hold it in memory ask for
-- one number. Not a sequence: a higher number is the later state.
CREATE TABLE webhook_endpoints_revision (
    one      boolean NOT NULL DEFAULT true CONSTRAINT webhook_endpoints_revision_pkey PRIMARY KEY CONSTRAINT webhook_endpoints_revision_one CHECK (one),
    revision bigint  NOT NULL
);
INSERT INTO webhook_endpoints_revision (revision) VALUES (1);
CREATE FUNCTION note_webhook_endpoints_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhook_endpoints_revision SET revision = revision + 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER webhook_endpoints_changed
    AFTER INSERT OR DELETE OR UPDATE OF event_types, domains, tags, link_ids, thresholds, summary_seconds, enabled, active_from
    ON webhook_endpoints FOR EACH STATEMENT EXECUTE FUNCTION note_webhook_endpoints_changed();

CREATE TABLE webhook_deliveries (
    id               uuid        CONSTRAINT webhook_deliveries_pkey PRIMARY KEY,
    -- the order in which an endpoint's events were queued
    seq              bigint      GENERATED ALWAYS AS IDENTITY,
    endpoint_id      uuid        NOT NULL CONSTRAINT webhook_deliveries_endpoint_fkey REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    -- the webhook-id header: the same whenever and however often the event is told
    event_id         text        NOT NULL,
    event_type       text        NOT NULL,
    link_id          uuid,
    -- what comes one after the other: the link, or something of its own
    order_key        uuid        NOT NULL,
    -- the body, byte for byte
    payload          text        NOT NULL,
    state            text        NOT NULL DEFAULT 'pending' CONSTRAINT webhook_deliveries_state CHECK (state IN ('pending', 'delivered', 'failed')),
    -- why it failed for good
    failure          text        CONSTRAINT webhook_deliveries_failure CHECK (failure IN ('given_up', 'gone', 'endpoint_disabled')),
    attempts         integer     NOT NULL DEFAULT 0,
    -- since it was queued, or replayed last
    round_attempts   integer     NOT NULL DEFAULT 0,
    round_started_at timestamptz,
    -- counts the claims: whoever has an older one may not write the outcome
    claim            bigint      NOT NULL DEFAULT 0,
    -- when it is due, or when its claim ends; null while it waits for the one before it
    next_attempt_at  timestamptz,
    created_at       timestamptz NOT NULL,
    finished_at      timestamptz,
    CONSTRAINT webhook_deliveries_endpoint_event_key UNIQUE (endpoint_id, event_id),
    CONSTRAINT webhook_deliveries_finished CHECK ((state = 'pending') = (finished_at IS NULL)),
    CONSTRAINT webhook_deliveries_failed CHECK ((state = 'failed') = (failure IS NOT NULL))
);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, next_attempt_at) WHERE state = 'pending' AND next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_waiting_idx ON webhook_deliveries (endpoint_id, order_key, seq) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_log_idx ON webhook_deliveries (endpoint_id, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_finished_idx ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL;

CREATE FUNCTION notify_webhook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('webhook_deliveries', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER webhook_deliveries_notify AFTER INSERT ON webhook_deliveries FOR EACH STATEMENT EXECUTE FUNCTION notify_webhook_deliveries();

CREATE TABLE webhook_attempts (
    delivery_id uuid        NOT NULL CONSTRAINT webhook_attempts_delivery_fkey REFERENCES webhook_deliveries (id) ON DELETE CASCADE,
    number      integer     NOT NULL,
    started_at  timestamptz NOT NULL,
    duration_ms integer     NOT NULL,
    -- null when nobody answered
    status      smallint,
    -- why nobody answered; empty when somebody did
    error       text        NOT NULL DEFAULT '',
    -- the beginning of the answer
    response    text        NOT NULL DEFAULT '',
    CONSTRAINT webhook_attempts_pkey PRIMARY KEY (delivery_id, number)
);

-- When links expire: one row for each link that does or has, so that it is told once.
CREATE TABLE webhook_expiries (
    link_id      uuid        CONSTRAINT webhook_expiries_pkey PRIMARY KEY,
    workspace_id uuid        NOT NULL,
    host         text        NOT NULL,
    slug_key     text        NOT NULL,
    expires_at   timestamptz NOT NULL,
    revision     bigint      NOT NULL,
    -- expires_at, or the change that set it to a moment in the past
    happens_at   timestamptz NOT NULL,
    -- when to look; infinity when it was told
    due_at       timestamptz NOT NULL
);
CREATE INDEX webhook_expiries_due_idx ON webhook_expiries (due_at) WHERE due_at < 'infinity';

-- How far the clicks of a partition are counted. The topic's id is there because offsets
-- begin anew when a topic is made anew.
CREATE TABLE webhook_click_positions (
    topic_id    uuid    NOT NULL,
    partition   integer NOT NULL,
    next_offset bigint  NOT NULL,
    CONSTRAINT webhook_click_positions_pkey PRIMARY KEY (topic_id, partition)
);

-- One row for each endpoint that counts clicks. Whoever counts or sums up for an endpoint
-- holds it.
CREATE TABLE webhook_click_windows (
    endpoint_id uuid        CONSTRAINT webhook_click_windows_pkey PRIMARY KEY CONSTRAINT webhook_click_windows_endpoint_fkey REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    -- the open window; null when no click has come since the last summary
    opened_at   timestamptz,
    due_at      timestamptz,
    -- counts the summaries
    summaries   bigint      NOT NULL DEFAULT 0
);
CREATE INDEX webhook_click_windows_due_idx ON webhook_click_windows (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE webhook_click_counts (
    endpoint_id uuid   NOT NULL CONSTRAINT webhook_click_counts_endpoint_fkey REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    link_id     uuid   NOT NULL,
    -- the link's address when it was clicked last
    host        text   NOT NULL,
    slug_key    text   NOT NULL,
    -- since the endpoint was made, while it was enabled
    total       bigint NOT NULL,
    -- since the last summary
    unreported  bigint NOT NULL,
    CONSTRAINT webhook_click_counts_pkey PRIMARY KEY (endpoint_id, link_id)
);
CREATE INDEX webhook_click_counts_unreported_idx ON webhook_click_counts (endpoint_id) WHERE unreported > 0;
-- +goose StatementEnd
