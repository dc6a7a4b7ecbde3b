-- The clicks that were there before clicks_by_value. No ingester may run until the
-- migration is through: what one inserted now would be in here and in the view. The
-- token makes it safe to run this again after it was interrupted, because the order
-- and the threads make the same blocks.

-- +goose Up
INSERT INTO clicks_repair (into, workspace_id, link_id, ts, host, visitor, bot, country, region, city, continent, device, os, browser, language, referrer, referrer_source, referrer_medium, utm_source, utm_medium, utm_campaign, utm_term, utm_content, edge_region, status, bot_kind, source)
SELECT 'clicks_by_value', workspace_id, link_id, ts, host, visitor, bot, country, region, city, continent, device, os, browser, language, referrer, referrer_source, referrer_medium, utm_source, utm_medium, utm_campaign, utm_term, utm_content, edge_region, status, bot_kind, source
FROM clicks
ORDER BY workspace_id, link_id, ts
SETTINGS insert_deduplication_token = 'backfill', deduplicate_blocks_in_dependent_materialized_views = 1,
    max_insert_threads = 1, min_insert_block_size_rows = 1000000, min_insert_block_size_bytes = 0, max_partitions_per_insert_block = 0;
