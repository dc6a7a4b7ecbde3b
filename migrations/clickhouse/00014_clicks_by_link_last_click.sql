-- When the last click of each row came. Rows that were there before say the beginning
-- of their hour. The setting lets merges make projections (see the next file) anew.

-- +goose Up
ALTER TABLE clicks_by_link
    ADD COLUMN IF NOT EXISTS last_click SimpleAggregateFunction(max, DateTime64(3, 'UTC')) DEFAULT toDateTime64(hour, 3, 'UTC') CODEC(ZSTD),
    MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
