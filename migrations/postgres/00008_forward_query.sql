-- What becomes of the query that a visitor brings along.

-- +goose Up
-- A constant default does not rewrite the table; the previous release goes on working.
ALTER TABLE links ADD COLUMN forward_query text NOT NULL DEFAULT 'off'
    CONSTRAINT links_forward_query CHECK (forward_query IN ('off', 'add', 'visitor_wins', 'owner_wins'));
