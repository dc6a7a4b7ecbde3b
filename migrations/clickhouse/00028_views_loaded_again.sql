-- The two views whose query was changed, loaded again. Until its view is loaded anew (a
-- restart, otherwise), ClickHouse (26.7) gives blocks of a view after MODIFY QUERY other
-- ids for the same token than it does afterwards: a range that was inserted before a
-- restart and again after it was in clicks_by_link twice. So no later file may use MODIFY
-- QUERY without this.
--
-- Stop the ingesters in an orderly way before this file: what they insert while a view is
-- away is not in its table, and what was inserted in parts is not recognised.

-- +goose Up
DETACH TABLE IF EXISTS clicks_by_link_view SYNC;
ATTACH TABLE IF NOT EXISTS clicks_by_link_view;
DETACH TABLE IF EXISTS clicks_by_link_repair_view SYNC;
ATTACH TABLE IF NOT EXISTS clicks_by_link_repair_view;
