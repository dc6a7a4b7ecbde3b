-- Sums by the day and by the month, in the rollup's own parts, so that nothing can
-- disagree. No visitor is recognised from one day of UTC to the next, so the visitors of
-- a period are the sum of those of its days, and only days that the period cuts are
-- asked for by the hour.

-- +goose Up
ALTER TABLE clicks_by_link
    ADD PROJECTION IF NOT EXISTS by_day (
        SELECT workspace_id, link_id, toDate(hour), bot, host, sum(clicks), uniqCombinedMerge(17)(visitors)
        GROUP BY workspace_id, link_id, toDate(hour), bot, host),
    ADD PROJECTION IF NOT EXISTS by_month (
        SELECT workspace_id, link_id, toStartOfMonth(hour), bot, host, sum(clicks), max(last_click), min(hour)
        GROUP BY workspace_id, link_id, toStartOfMonth(hour), bot, host);
