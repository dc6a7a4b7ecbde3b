-- Days that are over are answered from clicks_settled (see 00026). Most links have a few
-- clicks a day, so this projection had nearly as many rows as the hours that it sums, and
-- was the larger part of the table.

-- +goose Up
ALTER TABLE clicks_by_link
    DROP PROJECTION IF EXISTS by_day;
