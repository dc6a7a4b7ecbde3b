-- What each link is, as the changelog's last record of it said: what clicks are
-- filtered by that clicks do not hold (tags), and what a list of links is sorted and
-- searched by. The analytics service writes it. A record that comes twice, or after a
-- newer one, does no harm: the highest revision of a link stays.

-- +goose Up
CREATE TABLE links (
    workspace_id  UUID CODEC(ZSTD),
    link_id       UUID CODEC(ZSTD),
    revision      UInt64 CODEC(ZSTD),
    deleted       Bool CODEC(ZSTD),
    host          LowCardinality(String) CODEC(ZSTD),
    slug          String CODEC(ZSTD),
    title         String CODEC(ZSTD),
    destination   String CODEC(ZSTD),
    tags          Array(LowCardinality(String)) CODEC(ZSTD),
    archived      Bool CODEC(ZSTD),
    created_at    DateTime64(3, 'UTC') CODEC(ZSTD)
) ENGINE = ReplacingMergeTree(revision)
ORDER BY (workspace_id, link_id);
