-- clicks_by_link_view with last_click. What is in a block is what it was: an insert that
-- is made again after this migration has the same token and the same rows.

-- +goose Up
ALTER TABLE clicks_by_link_view MODIFY QUERY
SELECT
    workspace_id,
    link_id,
    if(grouping(month) = 0, month, clock_hour) AS hour,
    bot,
    if(grouping(month) = 0, concat(splitByChar('/', getSetting('insert_deduplication_token'))[2], '/', splitByChar('/', getSetting('insert_deduplication_token'))[3]), toString(link_host)) AS host,
    if(grouping(month) = 0, 0, count()) AS clicks,
    if(grouping(month) = 0, arrayReduce('uniqCombinedState(17)', emptyArrayUInt64()), uniqCombinedState(17)(visitor)) AS visitors,
    if(grouping(month) = 0, toInt64OrZero(splitByChar('-', splitByChar('/', getSetting('insert_deduplication_token'))[4])[2]), 0) AS range_end,
    max(clicked_at) AS last_click
FROM
(
    SELECT
        workspace_id,
        link_id,
        bot,
        visitor,
        host AS link_host,
        ts AS clicked_at,
        toStartOfHour(toDateTime(ts, 'UTC')) AS clock_hour,
        toDateTime(toStartOfMonth(ts), 'UTC') AS month
    FROM clicks
    WHERE length(splitByChar('/', getSetting('insert_deduplication_token'))) < 5
)
GROUP BY GROUPING SETS ((workspace_id, link_id, clock_hour, bot, link_host), (workspace_id, clock_hour, bot), (month));
