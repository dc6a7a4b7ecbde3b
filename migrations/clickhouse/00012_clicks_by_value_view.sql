-- Fills clicks_by_value: one set of groups for each dimension, and the receipts. With
-- the dimensions as rows (ARRAY JOIN) instead of sets the insert took half as long again.
--
-- What it costs, on two cores, as CPU of the server for a click of a million that are
-- inserted in blocks of up to 100,000: clicks alone 2.5 microseconds, with clicks_by_link
-- 3.5, with both 6.6. Half of the last step is writing and merging the states.

-- +goose Up
CREATE MATERIALIZED VIEW clicks_by_value_view TO clicks_by_value AS
SELECT
    workspace_id,
    multiIf(
        grouping(country) = 0, 'country',
        grouping(region) = 0, 'region',
        grouping(city) = 0, 'city',
        grouping(continent) = 0, 'continent',
        grouping(device) = 0, 'device',
        grouping(os) = 0, 'os',
        grouping(browser) = 0, 'browser',
        grouping(language) = 0, 'language',
        grouping(referrer) = 0, 'referrer',
        grouping(referrer_source) = 0, 'referrer_source',
        grouping(referrer_medium) = 0, 'referrer_medium',
        grouping(utm_source) = 0, 'utm_source',
        grouping(utm_medium) = 0, 'utm_medium',
        grouping(utm_campaign) = 0, 'utm_campaign',
        grouping(utm_term) = 0, 'utm_term',
        grouping(utm_content) = 0, 'utm_content',
        grouping(edge_region) = 0, 'edge_region',
        grouping(status) = 0, 'status',
        grouping(bot_kind) = 0, 'bot_kind',
        grouping(source) = 0, 'source',
        '') AS dimension,
    if(grouping(month) = 0, month, clock_hour) AS hour,
    bot,
    multiIf(
        grouping(country) = 0, toString(country),
        grouping(region) = 0, toString(region),
        grouping(city) = 0, toString(city),
        grouping(continent) = 0, toString(continent),
        grouping(device) = 0, toString(device),
        grouping(os) = 0, toString(os),
        grouping(browser) = 0, toString(browser),
        grouping(language) = 0, toString(language),
        grouping(referrer) = 0, toString(referrer),
        grouping(referrer_source) = 0, toString(referrer_source),
        grouping(referrer_medium) = 0, toString(referrer_medium),
        grouping(utm_source) = 0, toString(utm_source),
        grouping(utm_medium) = 0, toString(utm_medium),
        grouping(utm_campaign) = 0, toString(utm_campaign),
        grouping(utm_term) = 0, toString(utm_term),
        grouping(utm_content) = 0, toString(utm_content),
        grouping(edge_region) = 0, toString(edge_region),
        grouping(status) = 0, toString(status),
        grouping(bot_kind) = 0, toString(bot_kind),
        grouping(source) = 0, toString(source),
        concat(splitByChar('/', getSetting('insert_deduplication_token'))[2], '/', splitByChar('/', getSetting('insert_deduplication_token'))[3])) AS value,
    if(grouping(month) = 0, 0, count()) AS clicks,
    if(grouping(month) = 0, arrayReduce('uniqCombinedState(15)', emptyArrayUInt64()), uniqCombinedState(15)(visitor)) AS visitors,
    if(grouping(month) = 0, toInt64OrZero(splitByChar('-', splitByChar('/', getSetting('insert_deduplication_token'))[4])[2]), 0) AS range_end
FROM
(
    SELECT
        workspace_id,
        bot,
        visitor,
        toStartOfHour(toDateTime(ts, 'UTC')) AS clock_hour,
        toDateTime(toStartOfMonth(ts), 'UTC') AS month,
        country,
        region,
        city,
        continent,
        device,
        os,
        browser,
        language,
        referrer,
        referrer_source,
        referrer_medium,
        utm_source,
        utm_medium,
        utm_campaign,
        utm_term,
        utm_content,
        edge_region,
        status,
        bot_kind,
        source
    FROM clicks
    WHERE length(splitByChar('/', getSetting('insert_deduplication_token'))) < 5
)
GROUP BY GROUPING SETS (
    (workspace_id, clock_hour, bot, country),
    (workspace_id, clock_hour, bot, region),
    (workspace_id, clock_hour, bot, city),
    (workspace_id, clock_hour, bot, continent),
    (workspace_id, clock_hour, bot, device),
    (workspace_id, clock_hour, bot, os),
    (workspace_id, clock_hour, bot, browser),
    (workspace_id, clock_hour, bot, language),
    (workspace_id, clock_hour, bot, referrer),
    (workspace_id, clock_hour, bot, referrer_source),
    (workspace_id, clock_hour, bot, referrer_medium),
    (workspace_id, clock_hour, bot, utm_source),
    (workspace_id, clock_hour, bot, utm_medium),
    (workspace_id, clock_hour, bot, utm_campaign),
    (workspace_id, clock_hour, bot, utm_term),
    (workspace_id, clock_hour, bot, utm_content),
    (workspace_id, clock_hour, bot, edge_region),
    (workspace_id, clock_hour, bot, status),
    (workspace_id, clock_hour, bot, bot_kind),
    (workspace_id, clock_hour, bot, source),
    (month));
