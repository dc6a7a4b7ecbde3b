-- Sums by the day, as in clicks_by_link, and of clicks alone by the month: which values
-- have the most is found there, and only their visitors are merged.

-- +goose Up
ALTER TABLE clicks_by_value
    ADD PROJECTION IF NOT EXISTS by_day (
        SELECT workspace_id, dimension, bot, value, toDate(hour), sum(clicks), uniqCombinedMerge(15)(visitors)
        GROUP BY workspace_id, dimension, bot, value, toDate(hour)),
    ADD PROJECTION IF NOT EXISTS by_month (
        SELECT workspace_id, dimension, toStartOfMonth(hour), bot, value, sum(clicks)
        GROUP BY workspace_id, dimension, toStartOfMonth(hour), bot, value);
