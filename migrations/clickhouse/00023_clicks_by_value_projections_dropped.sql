-- Days that are over are answered from clicks_settled_values (see 00027), where their
-- visitors are numbers. The states by the day, which the projection had once more, were
-- the larger half of the table (52 of 94 bytes a click) and of what an insert into it
-- costs, and a year of them took longer to merge than a chart may. Days that are not over
-- are few, and are merged from their hours.

-- +goose Up
ALTER TABLE clicks_by_value
    DROP PROJECTION IF EXISTS by_day,
    DROP PROJECTION IF EXISTS by_month;
