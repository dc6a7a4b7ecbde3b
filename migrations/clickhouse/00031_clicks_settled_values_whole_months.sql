-- See 00028.

-- +goose Up
ALTER TABLE clicks_settled_values
    MODIFY SETTING min_age_to_force_merge_seconds = 600, min_age_to_force_merge_on_partition_only = 1;
