-- +goose NO TRANSACTION
-- What a link costs that is made together with others.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE outbox
    -- how many records the payload holds: with more than one it is a sequence of
    -- LinkChanged, each behind its length, and each the first record of its link. A relay of the release
    -- before cannot read such a row, and leaves it for the next one
    ADD COLUMN changes integer NOT NULL DEFAULT 1 CONSTRAINT outbox_changes_positive CHECK (changes > 0),
    -- read once and deleted: not worth compressing
    ALTER COLUMN payload SET STORAGE EXTERNAL;

-- A foreign key asks two questions for every row, which was a sixth of what an insert takes. These triggers promise
-- the same, with one question for each statement, and the same locks: whoever adds links holds the rows of
-- their domains and workspaces against deletion until it commits; whoever deletes one of those looks for links
-- when it has the row, in a snapshot that is taken then (not so under REPEATABLE READ, which nothing here deletes in).
CREATE FUNCTION check_link_parents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM domains WHERE id IN (SELECT domain_id FROM fresh) FOR KEY SHARE;
    PERFORM FROM workspaces WHERE id IN (SELECT workspace_id FROM fresh) FOR KEY SHARE;
    IF EXISTS (SELECT FROM fresh AS f WHERE NOT EXISTS (SELECT FROM domains AS d WHERE d.id = f.domain_id)) THEN
        RAISE foreign_key_violation USING MESSAGE = 'a link needs a domain', TABLE = 'links', CONSTRAINT = 'links_domain_fkey';
    END IF;
    IF EXISTS (SELECT FROM fresh AS f WHERE NOT EXISTS (SELECT FROM workspaces AS w WHERE w.id = f.workspace_id)) THEN
        RAISE foreign_key_violation USING MESSAGE = 'a link needs a workspace', TABLE = 'links', CONSTRAINT = 'links_workspace_fkey';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER links_parents_insert AFTER INSERT ON links REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION check_link_parents();
CREATE TRIGGER links_parents_update AFTER UPDATE ON links REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION check_link_parents();

CREATE FUNCTION check_parent_without_links() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'domains' AND EXISTS (SELECT FROM links WHERE domain_id = OLD.id) THEN
        RAISE foreign_key_violation USING MESSAGE = 'the domain has links', TABLE = 'links', CONSTRAINT = 'links_domain_fkey';
    END IF;
    IF TG_TABLE_NAME = 'workspaces' AND EXISTS (SELECT FROM links WHERE workspace_id = OLD.id) THEN
        RAISE foreign_key_violation USING MESSAGE = 'the workspace has links', TABLE = 'links', CONSTRAINT = 'links_workspace_fkey';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER domains_links_delete AFTER DELETE ON domains FOR EACH ROW EXECUTE FUNCTION check_parent_without_links();
CREATE TRIGGER domains_links_update AFTER UPDATE OF id ON domains FOR EACH ROW WHEN (OLD.id <> NEW.id) EXECUTE FUNCTION check_parent_without_links();
CREATE TRIGGER workspaces_links_delete AFTER DELETE ON workspaces FOR EACH ROW EXECUTE FUNCTION check_parent_without_links();
CREATE TRIGGER workspaces_links_update AFTER UPDATE OF id ON workspaces FOR EACH ROW WHEN (OLD.id <> NEW.id) EXECUTE FUNCTION check_parent_without_links();
ALTER TABLE links DROP CONSTRAINT links_workspace_fkey, DROP CONSTRAINT links_domain_fkey;
-- +goose StatementEnd

-- A piece of text is found by the pieces of four characters of many links together: which of them it is in is looked up in
-- the links themselves. An index entry for each trigram of each link was half of what an insert takes.
-- +goose StatementBegin
CREATE TABLE link_texts (
    id    bigint    GENERATED ALWAYS AS IDENTITY CONSTRAINT link_texts_pkey PRIMARY KEY,
    -- every piece of the texts that were read, see package gram of the links service
    grams integer[] NOT NULL
);
ALTER TABLE link_texts ALTER COLUMN grams SET STORAGE EXTERNAL;
CREATE INDEX link_texts_grams_idx ON link_texts USING gin (grams);

-- Tells the planner how common a text is, as the index did.
CREATE STATISTICS links_text_statistics ON (title || E'\n' || slug || E'\n' || destination) FROM links;

-- Where the link's text has been read; null while nobody has, so it has to be looked at.
ALTER TABLE links ADD COLUMN text_id bigint;

-- Whatever changes the text (an earlier release, a person) makes it unread.
CREATE FUNCTION forget_link_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.text_id := NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER links_text_changed BEFORE UPDATE OF title, slug, destination ON links FOR EACH ROW
    WHEN ((OLD.title, OLD.slug, OLD.destination) IS DISTINCT FROM (NEW.title, NEW.slug, NEW.destination))
    EXECUTE FUNCTION forget_link_text();
-- +goose StatementEnd
CREATE INDEX CONCURRENTLY links_text_idx ON links (text_id) WHERE text_id IS NOT NULL;
CREATE INDEX CONCURRENTLY links_unread_idx ON links (workspace_id, created_at DESC, id DESC) WHERE text_id IS NULL;
DROP INDEX CONCURRENTLY links_search_idx;
