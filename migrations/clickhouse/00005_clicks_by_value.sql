-- Clicks of each workspace, hour and value of each dimension, bots apart: what a
-- breakdown without filter needs. Unique visitors are exact up to 4,096 in a state,
-- then within 0.6 % in two of three cases: with the 17 bits of clicks_by_link this
-- table had twice the size. The rows of the workspace zero are receipts, as in
-- clicks_by_link, with the partition in value.

-- +goose Up
CREATE TABLE clicks_by_value (
    workspace_id  UUID CODEC(ZSTD),
    dimension     LowCardinality(String) CODEC(ZSTD),
    hour          DateTime('UTC') CODEC(Delta, ZSTD),
    bot           Bool CODEC(ZSTD),
    value         String CODEC(ZSTD),
    clicks        SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD),
    visitors      AggregateFunction(uniqCombined(15), UInt64),
    range_end     SimpleAggregateFunction(max, Int64) CODEC(ZSTD)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (workspace_id, dimension, hour, bot, value)
SETTINGS non_replicated_deduplication_window = 100000;
