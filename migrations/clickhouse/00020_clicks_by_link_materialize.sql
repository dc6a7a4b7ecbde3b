-- Projections of the rows that were there before. It goes on in the background; until
-- it is done the rows themselves are read.

-- +goose Up
ALTER TABLE clicks_by_link
    MATERIALIZE PROJECTION by_day,
    MATERIALIZE PROJECTION by_month;
