-- The campaign is mostly that of the link, and clicks of one link lie together: most
-- granules have one campaign, and a question about a campaign skips those of the others.
-- The domain is the link's, too.

-- +goose Up
ALTER TABLE clicks
    ADD INDEX IF NOT EXISTS by_campaign utm_campaign TYPE set(8) GRANULARITY 1,
    ADD INDEX IF NOT EXISTS by_host host TYPE set(4) GRANULARITY 1;
