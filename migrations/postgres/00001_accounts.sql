-- Who may do what: workspaces, their users and API keys, dashboard sessions.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE workspaces (
    id         uuid        CONSTRAINT workspaces_pkey PRIMARY KEY,
    name       text        NOT NULL CONSTRAINT workspaces_name_length CHECK (char_length(name) BETWEEN 1 AND 200),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
    id            uuid        CONSTRAINT users_pkey PRIMARY KEY,
    email         text        NOT NULL CONSTRAINT users_email_lower CHECK (email = lower(email)),
    -- argon2id in PHC form
    password_hash text        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT users_email_key UNIQUE (email)
);

CREATE TABLE memberships (
    workspace_id uuid NOT NULL CONSTRAINT memberships_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      uuid NOT NULL CONSTRAINT memberships_user_fkey REFERENCES users (id) ON DELETE CASCADE,
    role         text NOT NULL CONSTRAINT memberships_role CHECK (role IN ('owner', 'editor', 'viewer')),
    CONSTRAINT memberships_pkey PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX memberships_user_idx ON memberships (user_id);

CREATE TABLE sessions (
    -- SHA-256 of the token: a leaked dump opens nothing
    token_hash   bytea       CONSTRAINT sessions_pkey PRIMARY KEY,
    user_id      uuid        NOT NULL CONSTRAINT sessions_user_fkey REFERENCES users (id) ON DELETE CASCADE,
    workspace_id uuid        NOT NULL CONSTRAINT sessions_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL
);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

CREATE TABLE api_keys (
    id           uuid        CONSTRAINT api_keys_pkey PRIMARY KEY,
    workspace_id uuid        NOT NULL CONSTRAINT api_keys_workspace_fkey REFERENCES workspaces (id) ON DELETE CASCADE,
    name         text        NOT NULL,
    -- the first characters, to recognise a key by
    prefix       text        NOT NULL,
    -- SHA-256 of the key: it has 256 random bits, so a slow hash would add nothing
    key_hash     bytea       NOT NULL,
    scopes       text[]      NOT NULL CONSTRAINT api_keys_scopes CHECK (scopes <@ ARRAY['links:read', 'links:write', 'analytics:read', 'admin']),
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz,
    CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash)
);
CREATE INDEX api_keys_workspace_idx ON api_keys (workspace_id, created_at);
-- +goose StatementEnd
