-- What a link does beyond leading to one place, and whether a domain shows previews.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE links
    -- switched off by its owner
    ADD COLUMN disabled         boolean NOT NULL DEFAULT false,
    -- redirects in all; null for no limit
    ADD COLUMN max_clicks       bigint CONSTRAINT links_max_clicks CHECK (max_clicks > 0),
    -- the version at which the link got a limit while it had none: edges count from there
    ADD COLUMN max_clicks_since bigint,
    -- argon2id in PHC form; null for a link without password. It never leaves the service.
    ADD COLUMN password_hash    text,
    -- made anew with each password: what edges sign the cookie of an unlocked link with
    ADD COLUMN unlock_key       bytea,
    -- rules, variants, split, utm, preview and forward_path, as far as a link has them; null
    -- for none. One column, because most links have none, and all are read and written together.
    ADD COLUMN options          jsonb CONSTRAINT links_options_object CHECK (jsonb_typeof(options) = 'object'),
    ADD CONSTRAINT links_max_clicks_whole CHECK ((max_clicks IS NULL) = (max_clicks_since IS NULL)),
    ADD CONSTRAINT links_password_whole CHECK ((password_hash IS NULL) = (unlock_key IS NULL));

ALTER TABLE domains
    -- whether a + behind a slug shows where the link leads
    ADD COLUMN preview_pages    boolean NOT NULL DEFAULT true;
-- +goose StatementEnd
