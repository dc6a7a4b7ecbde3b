-- Where in a trace a change is, for the few changes that are followed.

-- +goose Up
-- No default and no index: nothing is rewritten, and the previous release goes on working.
ALTER TABLE outbox ADD COLUMN traceparent text CONSTRAINT outbox_traceparent_short CHECK (octet_length(traceparent) <= 64);
