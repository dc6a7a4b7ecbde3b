-- Domains, links, and the outbox that carries every change of a link to the changelog.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE domains (
    id             uuid        CONSTRAINT domains_pkey PRIMARY KEY,
    -- the workspace that owns the domain; null means that every workspace may use it
    workspace_id   uuid        CONSTRAINT domains_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    -- lower case, punycode, without port
    host           text        NOT NULL CONSTRAINT domains_host_lower CHECK (host = lower(host) AND host <> ''),
    case_sensitive boolean     NOT NULL DEFAULT true,
    created_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT domains_host_key UNIQUE (host)
);

-- One sequence for all addresses: what caches compare. A value is taken only
-- after the locks of all addresses that the transaction touches are held, so
-- that it grows per address in commit order. See services/README.md, I1.
CREATE SEQUENCE link_revision_seq AS bigint;

CREATE TABLE links (
    id           uuid        CONSTRAINT links_pkey PRIMARY KEY,
    workspace_id uuid        NOT NULL CONSTRAINT links_workspace_fkey REFERENCES workspaces (id),
    domain_id    uuid        NOT NULL CONSTRAINT links_domain_fkey REFERENCES domains (id),
    -- as written
    slug         text        NOT NULL,
    -- as looked up
    slug_key     text        NOT NULL,
    destination  text        NOT NULL CONSTRAINT links_destination_length CHECK (octet_length(destination) BETWEEN 1 AND 24000),
    title        text        NOT NULL DEFAULT '',
    notes        text        NOT NULL DEFAULT '',
    tags         text[]      NOT NULL DEFAULT '{}',
    status_code  smallint    NOT NULL DEFAULT 302 CONSTRAINT links_status_code CHECK (status_code IN (301, 302, 307, 308)),
    starts_at    timestamptz,
    expires_at   timestamptz,
    fallback_url text        NOT NULL DEFAULT '',
    archived     boolean     NOT NULL DEFAULT false,
    -- counts this link's mutations from 1
    version      bigint      NOT NULL CONSTRAINT links_version_positive CHECK (version > 0),
    -- from link_revision_seq, at the last mutation
    revision     bigint      NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT links_domain_slug_key UNIQUE (domain_id, slug_key)
);
-- The list: newest first, ids are UUIDv7 and break ties.
CREATE INDEX links_workspace_created_idx ON links (workspace_id, created_at DESC, id DESC);
CREATE INDEX links_tags_idx ON links USING gin (tags);

CREATE TABLE outbox (
    -- taken after the link's row is locked, so it follows commit order per link
    id            bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT outbox_pkey PRIMARY KEY,
    link_id       uuid        NOT NULL,
    -- LinkChanged in protobuf; null is the tombstone that follows a deletion
    payload       bytea,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- a tombstone waits here for its grace period
    publish_after timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX outbox_publish_after_idx ON outbox (publish_after, id);

CREATE FUNCTION notify_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('outbox', '');
    RETURN NULL;
END
$$;
-- Once per statement, delivered at commit: it wakes the relay; polling is the net.
CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION notify_outbox();
-- +goose StatementEnd
