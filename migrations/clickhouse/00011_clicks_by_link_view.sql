-- Fills clicks_by_link. One pass over a block makes the sets of groups side by side.
-- The last one makes the receipts, one for each month in the block, from the insert's
-- token TOPIC/TOPIC-ID/PARTITION/FROM-TO; what has another token gets a receipt that
-- nobody asks for. A token with a fifth field is a repair of clicks alone, whose rows
-- the rollup may have: it has its own way in (clicks_repair).

-- +goose Up
CREATE MATERIALIZED VIEW clicks_by_link_view TO clicks_by_link AS
SELECT
    workspace_id,
    link_id,
    if(grouping(month) = 0, month, clock_hour) AS hour,
    bot,
    if(grouping(month) = 0, concat(splitByChar('/', getSetting('insert_deduplication_token'))[2], '/', splitByChar('/', getSetting('insert_deduplication_token'))[3]), toString(link_host)) AS host,
    if(grouping(month) = 0, 0, count()) AS clicks,
    if(grouping(month) = 0, arrayReduce('uniqCombinedState(17)', emptyArrayUInt64()), uniqCombinedState(17)(visitor)) AS visitors,
    if(grouping(month) = 0, toInt64OrZero(splitByChar('-', splitByChar('/', getSetting('insert_deduplication_token'))[4])[2]), 0) AS range_end
FROM
(
    SELECT
        workspace_id,
        link_id,
        bot,
        visitor,
        host AS link_host,
        toStartOfHour(toDateTime(ts, 'UTC')) AS clock_hour,
        toDateTime(toStartOfMonth(ts), 'UTC') AS month
    FROM clicks
    WHERE length(splitByChar('/', getSetting('insert_deduplication_token'))) < 5
)
GROUP BY GROUPING SETS ((workspace_id, link_id, clock_hour, bot, link_host), (workspace_id, clock_hour, bot), (month));
