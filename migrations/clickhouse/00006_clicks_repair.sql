-- The way into one rollup alone. MergeTree writes an insert's token down before it
-- gives the part its name: a server that is killed in between drops the repeated
-- insert, and a table lacks what the others have. An ingester that repeats an insert
-- reads the receipts of each rollup afterwards, and sends what a rollup lacks through
-- this table, which keeps nothing; into names the rollup.

-- +goose Up
CREATE TABLE clicks_repair (
    into             LowCardinality(String),
    workspace_id     UUID,
    link_id          UUID,
    ts               DateTime64(3, 'UTC'),
    host             LowCardinality(String),
    visitor          UInt64,
    bot              Bool,
    country          LowCardinality(String),
    region           LowCardinality(String),
    city             LowCardinality(String),
    continent        LowCardinality(String),
    device           LowCardinality(String),
    os               LowCardinality(String),
    browser          LowCardinality(String),
    language         LowCardinality(String),
    referrer         LowCardinality(String),
    referrer_source  LowCardinality(String),
    referrer_medium  LowCardinality(String),
    utm_source       LowCardinality(String),
    utm_medium       LowCardinality(String),
    utm_campaign     LowCardinality(String),
    utm_term         LowCardinality(String),
    utm_content      LowCardinality(String),
    edge_region      LowCardinality(String),
    status           UInt16,
    bot_kind         LowCardinality(String),
    source           LowCardinality(String)
) ENGINE = Null;
