-- Days that are over, in numbers. A visitor is recognised for one day of UTC, so how many
-- visitors a finished day had is a number that later days only add to: no state has to be
-- kept or merged. Such numbers are taken from the clicks of a day, all at once, under an
-- id (settlement), into this table and the two after it.
--
-- A row here says that the numbers of a settlement for a workspace and a day are all
-- there, and how many clicks they are of. They hold as long as clicks_by_link has as many
-- for that day: clicks are only ever added, so as many are the same ones. A click that
-- comes late makes the numbers void until the day is settled again; until then, and for
-- days that are not over, the hours are asked.

-- +goose Up
CREATE TABLE clicks_settled_days (
    workspace_id  UUID CODEC(ZSTD),
    day           Date CODEC(Delta, ZSTD),
    settlement    UInt64 CODEC(ZSTD),
    clicks        UInt64 CODEC(T64, ZSTD)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (workspace_id, day)
SETTINGS index_granularity = 1024;
