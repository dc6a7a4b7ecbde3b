-- Clicks of each link and hour, bots apart. The rows with the link zero (and no
-- host) are those of the whole workspace. Unique visitors are states that merge over
-- hours and links; exact up to 16,384 visitors in a state, then within 0.3 % of the
-- truth in two of three cases.
--
-- The rows of the workspace zero are the views' receipts: for each month and partition
-- of the clicks topic (in host), range_end is where the last insert into this table
-- ended. A part is written whole or not at all, so an ingester that does not know how
-- an insert ended reads there whether this table has it: see clicks_repair.

-- +goose Up
CREATE TABLE clicks_by_link (
    workspace_id  UUID CODEC(ZSTD),
    link_id       UUID CODEC(ZSTD),
    hour          DateTime('UTC') CODEC(Delta, ZSTD),
    bot           Bool CODEC(ZSTD),
    host          LowCardinality(String) CODEC(ZSTD),
    clicks        SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD),
    visitors      AggregateFunction(uniqCombined(17), UInt64),
    range_end     SimpleAggregateFunction(max, Int64) CODEC(ZSTD)
) ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (workspace_id, link_id, hour, bot, host)
SETTINGS non_replicated_deduplication_window = 100000;
