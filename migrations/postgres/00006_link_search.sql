-- +goose NO TRANSACTION
-- Indexes for finding links by a piece of text, and by their destination.

-- +goose Up
CREATE EXTENSION IF NOT EXISTS pg_trgm;
-- The text is the one that Store.List compares with ILIKE: the two have to be
-- the same expression.
CREATE INDEX CONCURRENTLY links_search_idx ON links USING gin ((title || E'\n' || slug || E'\n' || destination) gin_trgm_ops);
-- A destination is too long for a B-tree; its hash is not.
CREATE INDEX CONCURRENTLY links_destination_idx ON links (workspace_id, hashtextextended(destination, 0));
-- The list of what is archived, which most links are not.
CREATE INDEX CONCURRENTLY links_archived_idx ON links (workspace_id, created_at DESC, id DESC) WHERE archived;
