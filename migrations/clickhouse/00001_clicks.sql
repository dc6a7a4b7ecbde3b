-- One row per click. Rows of one link lie together, in time order, because that
-- is what every question asks for. The deduplication window remembers the tokens
-- of the last inserts, so that an insert repeated after an unknown outcome adds
-- nothing. Twelve partitions with two inserts a second each fill 100,000 in more
-- than an hour, and an unknown outcome is settled within a minute or two: when the
-- ingester tries again, or when another takes over its partition.

-- +goose Up
CREATE TABLE clicks (
    ts            DateTime64(3, 'UTC') CODEC(Delta, ZSTD),
    click_id      UUID,
    workspace_id  UUID,
    link_id       UUID,
    link_version  UInt64,
    host          LowCardinality(String),
    slug          String,
    status        UInt16,
    edge_region   LowCardinality(String),
    edge          LowCardinality(String),
    visitor       UInt64,
    bot           Bool,
    country       LowCardinality(String),
    region        LowCardinality(String),
    city          LowCardinality(String),
    continent     LowCardinality(String),
    device        LowCardinality(String),
    os            LowCardinality(String),
    browser       LowCardinality(String),
    language      LowCardinality(String),
    referrer      LowCardinality(String),
    utm_source    LowCardinality(String),
    utm_medium    LowCardinality(String),
    utm_campaign  LowCardinality(String),
    utm_term      LowCardinality(String),
    utm_content   LowCardinality(String)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (workspace_id, link_id, ts)
SETTINGS non_replicated_deduplication_window = 100000;
