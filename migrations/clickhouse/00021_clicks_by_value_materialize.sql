-- The same for clicks_by_value.

-- +goose Up
ALTER TABLE clicks_by_value
    MATERIALIZE PROJECTION by_day,
    MATERIALIZE PROJECTION by_month;
