-- What an API key may use, and when it was used last. From here on key_hash and
-- token_hash hold an HMAC-SHA-256 under the service's own secret; rows with a plain
-- SHA-256 stay valid and are rehashed when they are used.

-- +goose Up
-- +goose StatementBegin
ALTER TABLE api_keys
    -- null: the installation's default limit
    ADD COLUMN rate_capacity          integer          CONSTRAINT api_keys_rate_capacity CHECK (rate_capacity > 0),
    ADD COLUMN rate_refill_per_second double precision CONSTRAINT api_keys_rate_refill CHECK (rate_refill_per_second > 0 AND rate_refill_per_second < 'Infinity'),
    -- to the minute or so: uses are collected and written together
    ADD COLUMN last_used_at           timestamptz,
    ADD CONSTRAINT api_keys_rate_whole CHECK ((rate_capacity IS NULL) = (rate_refill_per_second IS NULL)),
    ADD CONSTRAINT api_keys_name_length CHECK (char_length(name) BETWEEN 1 AND 200);
-- +goose StatementEnd
