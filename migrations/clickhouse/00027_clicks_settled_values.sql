-- Finished days of each value of each dimension, in a whole workspace and in what else is
-- detailed: scope and name as in clicks_settled. What has few clicks a day would have
-- nearly as many rows here as it has clicks, and those are quick to ask. Months are sums
-- in the same parts.

-- +goose Up
CREATE TABLE clicks_settled_values (
    workspace_id  UUID CODEC(ZSTD),
    scope         LowCardinality(String) CODEC(ZSTD),
    name          String CODEC(ZSTD),
    dimension     LowCardinality(String) CODEC(ZSTD),
    value         String CODEC(ZSTD),
    day           Date CODEC(Delta, ZSTD),
    bot           Bool CODEC(ZSTD),
    settlement    UInt64 CODEC(ZSTD),
    clicks        UInt64 CODEC(T64, ZSTD),
    visitors      UInt64 CODEC(T64, ZSTD),
    PROJECTION by_month (
        SELECT workspace_id, scope, name, dimension, value, bot, settlement, toStartOfMonth(day), sum(clicks), sum(visitors)
        GROUP BY workspace_id, scope, name, dimension, value, bot, settlement, toStartOfMonth(day))
) ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (workspace_id, scope, name, dimension, value, day, bot);
