-- Lets merges make projections (see the next file) anew.

-- +goose Up
ALTER TABLE clicks_by_value
    MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
