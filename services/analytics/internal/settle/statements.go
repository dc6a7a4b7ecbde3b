package settle

import "strings"

const secondsOfDay = 24 * 60 * 60

// pending selects the days, the newest first, that have no settlement of as many clicks in
// some workspace, and how many clicks they have in those.
const pending = `SELECT day, sum(n) FROM (
    SELECT workspace_id, toUInt32(toDate(hour)) AS day, sum(clicks) AS n FROM clicks_by_link
    WHERE link_id = '00000000-0000-0000-0000-000000000000' AND workspace_id != '00000000-0000-0000-0000-000000000000' AND toDate(hour) < toDate({today:UInt32})
    GROUP BY workspace_id, day
) AS counted
LEFT ANTI JOIN (SELECT DISTINCT workspace_id, toUInt32(day) AS day, clicks AS n FROM clicks_settled_days) AS settled USING (workspace_id, day, n)
GROUP BY day ORDER BY day DESC`

// retired selects the months of clicks_by_value, as 202611, that ended before the oldest
// day whose hours are kept, and whose days are all settled.
const retired = `SELECT DISTINCT toUInt32(partition) AS month FROM system.parts
WHERE active AND database = currentDatabase() AND table = 'clicks_by_value'
    AND addMonths(toDate(concat(partition, '01'), 'UTC'), 1) <= toDate({oldest:UInt32})
    AND month NOT IN (
        SELECT toYYYYMM(toDate(day)) FROM (
            SELECT workspace_id, toUInt32(toDate(hour)) AS day, sum(clicks) AS n FROM clicks_by_link
            WHERE link_id = '00000000-0000-0000-0000-000000000000' AND workspace_id != '00000000-0000-0000-0000-000000000000'
            GROUP BY workspace_id, day
        ) AS counted
        LEFT ANTI JOIN (SELECT DISTINCT workspace_id, toUInt32(day) AS day, clicks AS n FROM clicks_settled_days) AS settled USING (workspace_id, day, n))`

// ofDays keeps the clicks of the days. The first and the last are for the table's index.
const ofDays = ` WHERE ts >= toDateTime64(toDate({first:UInt32}), 3, 'UTC') AND ts < toDateTime64(toDate({last:UInt32}) + 1, 3, 'UTC')
    AND toUInt32(toDate(ts, 'UTC')) IN {days:Array(UInt32)}`

// settledNow keeps the numbers of the days that were written under the settlement.
const settledNow = ` day >= toDate({first:UInt32}) AND day <= toDate({last:UInt32}) AND toUInt32(day) IN {days:Array(UInt32)} AND settlement = {settlement:UInt64}`

// totals fills clicks_settled. Each visitor of a scope has a row with the hours in which
// it clicked, and of those the arrays are made.
const totals = `INSERT INTO clicks_settled (workspace_id, scope, name, day, bot, settlement, clicks, visitors, detailed, hours, hour_clicks, hour_visitors, hour_first, hour_last)
SELECT workspace_id, scope, name, day, bot, {settlement:UInt64}, length(groupArrayArray(clicked) AS all_clicked), count(),
    scope = '' OR sum(sum(length(clicked))) OVER (PARTITION BY workspace_id, day, scope, name) >= {detailed:UInt32},
    arraySort(arrayDistinct(all_clicked)) AS hours,
    arrayMap(h -> toUInt32(countEqual(all_clicked, h)), hours),
    arrayMap(h -> toUInt32(countEqual(groupArrayArray(arrayDistinct(clicked)), h)), hours),
    arrayMap(h -> toUInt32(countEqual(groupArray(arrayMin(clicked)), h)), hours),
    arrayMap(h -> toUInt32(countEqual(groupArray(arrayMax(clicked)), h)), hours)
FROM (
    SELECT workspace_id, toDate(ts, 'UTC') AS day, bot, visitor,
        multiIf(grouping(link_id) = 0, 'link', grouping(host) = 0, 'domain', grouping(utm_campaign) = 0, 'utm_campaign', '') AS scope,
        multiIf(grouping(link_id) = 0, toString(link_id), grouping(host) = 0, toString(host), grouping(utm_campaign) = 0, toString(utm_campaign), '') AS name,
        groupArray(toUInt8(toHour(ts, 'UTC'))) AS clicked
    FROM clicks` + ofDays + `
    GROUP BY GROUPING SETS ((workspace_id, day, bot, visitor), (workspace_id, day, host, bot, visitor), (workspace_id, day, utm_campaign, bot, visitor), (workspace_id, day, link_id, bot, visitor))
)
GROUP BY workspace_id, scope, name, day, bot`

// marks says of which days workspaces have all numbers: both tables are of as many clicks,
// so both are of the same ones. What was written twice is not marked either.
const marks = `INSERT INTO clicks_settled_days (workspace_id, day, settlement, clicks)
SELECT workspace_id, day, {settlement:UInt64}, n FROM (
    SELECT workspace_id, day, sum(clicks) AS n FROM clicks_settled
    WHERE scope = '' AND name = '' AND` + settledNow + ` GROUP BY workspace_id, day
) AS totals INNER JOIN (
    SELECT workspace_id, day, sum(clicks) AS n FROM clicks_settled_values
    WHERE scope = '' AND name = '' AND dimension = 'status' AND` + settledNow + ` GROUP BY workspace_id, day
) AS details USING (workspace_id, day, n)`

// dimensions have columns of their names in clicks.
func dimensions() []string {
	return []string{
		"country", "region", "city", "continent", "device", "os", "browser", "language", "referrer", "referrer_source",
		"referrer_medium", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "edge_region", "status", "bot_kind", "source",
	}
}

// values fills clicks_settled_values. A click is there once for each detailed scope that
// it is in. Scopes and values are grouped by as hashes of 64 bits and named afterwards, which takes half the time of grouping by text.
func values() string {
	var names, hashes, columns, sets, texts strings.Builder
	for i, d := range dimensions() {
		if i > 0 {
			sets.WriteString(", ")
			texts.WriteString(", ")
		}
		names.WriteString("grouping(hash_" + d + ") = 0, '" + d + "', ")
		hashes.WriteString("grouping(hash_" + d + ") = 0, hash_" + d + ", ")
		columns.WriteString(", cityHash64(" + text(d) + ") AS hash_" + d)
		sets.WriteString("(scoped, bot, hash_" + d + ")")
		texts.WriteString("toString(" + d + ")")
	}
	const scopes = `(
    SELECT DISTINCT cityHash64(workspace_id, day, toString(scope), name) AS scoped, workspace_id, day, scope, name FROM clicks_settled
    WHERE` + settledNow + ` AND detailed)`
	return `INSERT INTO clicks_settled_values (workspace_id, scope, name, dimension, value, day, bot, settlement, clicks, visitors)
SELECT workspace_id, scope, name, dimension, value, day, bot, {settlement:UInt64}, n, u
FROM (
    SELECT scoped, bot, multiIf(` + names.String() + `'') AS dimension, multiIf(` + hashes.String() + `0) AS hash, count() AS n, uniqExact(visitor) AS u
    FROM (
        SELECT scoped, bot, visitor` + columns.String() + `
        FROM clicks
        ARRAY JOIN [cityHash64(workspace_id, toDate(ts, 'UTC'), '', ''), cityHash64(workspace_id, toDate(ts, 'UTC'), 'domain', toString(host)),
            cityHash64(workspace_id, toDate(ts, 'UTC'), 'utm_campaign', toString(utm_campaign)), cityHash64(workspace_id, toDate(ts, 'UTC'), 'link', toString(link_id))] AS scoped` + ofDays + `
            AND scoped GLOBAL IN (SELECT scoped FROM ` + scopes + `)
    )
    GROUP BY GROUPING SETS (` + sets.String() + `)
) AS counted
INNER JOIN ` + scopes + ` AS scopes USING (scoped)
INNER JOIN (SELECT DISTINCT cityHash64(value) AS hash, value FROM (SELECT arrayJoin([` + texts.String() + `]) AS value FROM clicks` + ofDays + `)) AS texts USING (hash)`
}

// text is a dimension's column as text; most are dictionaries, which are hashed once for
// each word.
func text(dimension string) string {
	if dimension == "status" {
		return "toString(status)"
	}
	return dimension
}
