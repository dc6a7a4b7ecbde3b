-- What a domain says beyond its links, and the table of domains that edges hold.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE domains
    -- where / leads; empty for a neutral page
    ADD COLUMN home_url     text        NOT NULL DEFAULT '' CONSTRAINT domains_home_url_length CHECK (octet_length(home_url) <= 24000),
    -- where an unknown slug leads, and an expired link without a fallback of its own; empty for nowhere
    ADD COLUMN fallback_url text        NOT NULL DEFAULT '' CONSTRAINT domains_fallback_url_length CHECK (octet_length(fallback_url) <= 24000),
    -- counts this domain's changes from 1
    ADD COLUMN version      bigint      NOT NULL DEFAULT 1 CONSTRAINT domains_version_positive CHECK (version > 0),
    ADD COLUMN updated_at   timestamptz NOT NULL DEFAULT now();
CREATE INDEX domains_workspace_created_idx ON domains (workspace_id, created_at DESC, id DESC);

-- One row: counts the changes of the whole table. Not a sequence: whoever changes a
-- domain holds this row until the commit, so that a higher revision is the later state.
CREATE TABLE domains_revision (
    one      boolean NOT NULL DEFAULT true CONSTRAINT domains_revision_pkey PRIMARY KEY CONSTRAINT domains_revision_one CHECK (one),
    revision bigint  NOT NULL
);
INSERT INTO domains_revision (revision) VALUES (1);

-- A trigger, so that a change by hand reaches the edges, too.
CREATE FUNCTION note_domains_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE domains_revision SET revision = revision + 1;
    PERFORM pg_notify('edge_domains', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER domains_changed AFTER INSERT OR UPDATE OR DELETE ON domains FOR EACH STATEMENT EXECUTE FUNCTION note_domains_changed();
-- +goose StatementEnd
