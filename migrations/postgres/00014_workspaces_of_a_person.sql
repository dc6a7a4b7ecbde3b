-- People in several workspaces, and the campaign templates of a workspace. An email is no proof of who somebody is
-- (nothing is ever mailed), so it no longer names one account: see services/adr/0018.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE users
    -- made by the operator: a further bootstrap with the email adds to this account, and never to one that a workspace made
    ADD COLUMN bootstrapped boolean NOT NULL DEFAULT false,
    -- when its person chose the password; null while whoever made the account may still know it
    ADD COLUMN claimed_at   timestamptz,
    ADD CONSTRAINT users_id_email_key UNIQUE (id, email);

-- Until now both rows of a bootstrap took the time of one transaction; a user whom a workspace added has that of a request.
UPDATE users u SET bootstrapped = true
WHERE EXISTS (SELECT FROM memberships m JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = u.id AND w.created_at = u.created_at);

ALTER TABLE memberships
    -- what the workspace calls the member: it stays when the account behind it becomes another
    ADD COLUMN id         uuid,
    ADD COLUMN email      text,
    ADD COLUMN created_at timestamptz NOT NULL DEFAULT now(),
    -- when the workspace was opened last: log-ins lead back there
    ADD COLUMN opened_at  timestamptz;

UPDATE memberships m SET id = u.id, email = u.email, created_at = u.created_at FROM users u WHERE u.id = m.user_id;

-- For whoever adds a member and does not say these, as the release before.
CREATE FUNCTION complete_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := coalesce(NEW.id, NEW.user_id);
    NEW.email := coalesce(NEW.email, (SELECT u.email FROM users u WHERE u.id = NEW.user_id));
    RETURN NEW;
END
$$;
CREATE TRIGGER memberships_complete BEFORE INSERT ON memberships FOR EACH ROW EXECUTE FUNCTION complete_membership();

ALTER TABLE memberships
    ALTER COLUMN id SET NOT NULL,
    ALTER COLUMN email SET NOT NULL,
    DROP CONSTRAINT memberships_user_fkey,
    ADD CONSTRAINT memberships_user_fkey FOREIGN KEY (user_id, email) REFERENCES users (id, email) ON DELETE CASCADE,
    ADD CONSTRAINT memberships_id_key UNIQUE (workspace_id, id),
    -- within a workspace an email is one member
    ADD CONSTRAINT memberships_email_key UNIQUE (workspace_id, email);

ALTER TABLE users DROP CONSTRAINT users_email_key;
CREATE INDEX users_email_idx ON users (email);
CREATE UNIQUE INDEX users_bootstrapped_email_key ON users (email) WHERE bootstrapped;

CREATE TABLE utm_templates (
    id           uuid        CONSTRAINT utm_templates_pkey PRIMARY KEY,
    workspace_id uuid        NOT NULL CONSTRAINT utm_templates_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    name         text        NOT NULL CONSTRAINT utm_templates_name_length CHECK (char_length(name) BETWEEN 1 AND 100),
    source       text        NOT NULL DEFAULT '',
    medium       text        NOT NULL DEFAULT '',
    campaign     text        NOT NULL DEFAULT '',
    term         text        NOT NULL DEFAULT '',
    content      text        NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT utm_templates_name_key UNIQUE (workspace_id, name),
    CONSTRAINT utm_templates_not_empty CHECK (concat(source, medium, campaign, term, content) <> '')
);
CREATE INDEX utm_templates_workspace_idx ON utm_templates (workspace_id, created_at DESC, id DESC);
-- +goose StatementEnd
