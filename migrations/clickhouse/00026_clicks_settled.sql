-- Finished days of a scope, which is a whole workspace (scope and name are empty), a link,
-- a domain or a campaign (named in name). What happened in the hours of UTC of the day is in arrays of one
-- length. hour_visitors came in the hour, hour_first for the first time that day, and
-- hour_last for the last time: the visitors before an hour are the sum of hour_first before
-- it, those from an hour on the sum of hour_last, so a day that a zone cuts in two needs no
-- states either. What has clicks enough to be detailed is in clicks_settled_values, too.

-- +goose Up
CREATE TABLE clicks_settled (
    workspace_id   UUID CODEC(ZSTD),
    scope          LowCardinality(String) CODEC(ZSTD),
    name           String CODEC(ZSTD),
    day            Date CODEC(Delta, ZSTD),
    bot            Bool CODEC(ZSTD),
    settlement     UInt64 CODEC(ZSTD),
    clicks         UInt64 CODEC(T64, ZSTD),
    visitors       UInt64 CODEC(T64, ZSTD),
    detailed       Bool CODEC(ZSTD),
    hours          Array(UInt8) CODEC(ZSTD),
    hour_clicks    Array(UInt32) CODEC(ZSTD),
    hour_visitors  Array(UInt32) CODEC(ZSTD),
    hour_first     Array(UInt32) CODEC(ZSTD),
    hour_last      Array(UInt32) CODEC(ZSTD)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (workspace_id, scope, name, day, bot)
SETTINGS index_granularity = 1024;
