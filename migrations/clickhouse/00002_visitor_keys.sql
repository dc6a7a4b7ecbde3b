-- The secret of each day that turns address and user agent into a visitor's
-- number, shared by all ingesters so that they agree. Thrown away two days after
-- its day, when clicks that were held up have come in: each key is a part of its
-- own, dropped whole within an hour. The deduplication window makes storing a key
-- first come, first served: every ingester inserts under the day's token, and
-- only one insert has an effect.

-- +goose Up
CREATE TABLE visitor_keys (
    day Date,
    key String
) ENGINE = MergeTree
PARTITION BY day
ORDER BY day
TTL day + INTERVAL 3 DAY
SETTINGS non_replicated_deduplication_window = 100, ttl_only_drop_parts = 1, merge_with_ttl_timeout = 3600;
