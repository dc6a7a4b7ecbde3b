-- Sums by the day, as in clicks_by_link.

-- +goose Up
ALTER TABLE clicks_by_value
    ADD PROJECTION IF NOT EXISTS by_day (
        SELECT workspace_id, dimension, toDate(hour), bot, value, sum(clicks), uniqCombinedMerge(15)(visitors)
        GROUP BY workspace_id, dimension, toDate(hour), bot, value);
