// Package madeup makes clicks inside ClickHouse, many and like real ones.
//
// It promises clicks whose popularity follows Zipf's law in workspaces, links, places
// and referrers, which rise and fall with the hour of the day, and whose visitors keep
// their place, device and browser; they go through the same table and views as those of
// visitors. It refuses nothing and is for databases that are thrown away.
package madeup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Workspaces share the clicks; the first one gets ln 2 / ln Workspaces of them.
	Workspaces = 10
	// Links of each workspace; the first one gets ln 2 / ln Links of its clicks.
	Links = 10_000
	// PerDay is how many clicks a day has, and maxDays how far back they go: what is made
	// is as dense as it would be with a hundred million in a year.
	PerDay  = 100_000_000 / 365
	maxDays = 365
	// block is how many clicks are inserted at once: what makes a part.
	block = 1_000_000
	// inserts at the same time: twice as many as processors, because one that writes leaves
	// its processor to another.
	inserts = 4
)

// Database is where the clicks go.
type Database struct {
	Address, Name string
	// Workspace is the id of the first, the largest one.
	Workspace string
	// Now is when the last click is.
	Now time.Time
}

// Exec runs a statement.
func (d Database) Exec(ctx context.Context, statement string, settings url.Values) error {
	_, err := d.Query(ctx, statement, settings)
	return err
}

// Query runs a statement and returns its answer as tab-separated text.
func (d Database) Query(ctx context.Context, statement string, settings url.Values) (string, error) {
	if settings == nil {
		settings = url.Values{}
	}
	settings.Set("database", d.Name)
	settings.Set("default_format", "TSV")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Address+"/?"+settings.Encode(), strings.NewReader(statement))
	if err != nil {
		return "", fmt.Errorf("building the request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking ClickHouse: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", answer.StatusCode)
	}
	if err != nil {
		return "", fmt.Errorf("asking ClickHouse: %w: %.500s", err, text)
	}
	return strings.TrimSpace(string(text)), nil
}

// Days is how far back so many clicks go.
func Days(clicks int) int { return min(max(clicks/PerDay, 1), maxDays) }

// MakeLinks fills the table of links.
func (d Database) MakeLinks(ctx context.Context) error {
	return d.Exec(ctx, fmt.Sprintf(`INSERT INTO links (workspace_id, link_id, revision, deleted, host, slug, title, destination, tags, archived, created_at)
SELECT %s, %s, number + 1, false, %s, concat('s', toString(rank)), concat('Link number ', toString(rank)), concat('https://www.example.com/landing/', toString(rank)),
	arrayDistinct([concat('tag-', toString(rank %% 50)), concat('team-', toString(rank %% 7))]), rank %% 20 = 19, toDateTime64('2025-01-01 00:00:00', 3, 'UTC') + toIntervalMinute(number)
FROM (SELECT number, intDiv(number, %d) AS workspace, number %% %d AS rank FROM numbers(%d))`,
		d.workspaceOf("workspace"), linkOf, hostOf, Links, Links, Workspaces*Links), nil)
}

// MakeClicks inserts so many clicks, the oldest first, and tells how many there are.
func (d Database) MakeClicks(ctx context.Context, n int, progress func(done int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		next, done atomic.Int64
		wg         sync.WaitGroup
	)
	for range inserts {
		wg.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(block)) - block
				if from >= n {
					return
				}
				count := min(block, n-from)
				err := d.Exec(ctx, d.clicks(from, count, n), url.Values{
					"insert_deduplicate": {"0"}, "max_threads": {"1"}, "max_insert_threads": {"1"}, "max_partitions_per_insert_block": {"0"},
					"max_block_size": {"65536"}, "min_insert_block_size_rows": {strconv.Itoa(block)}, "min_insert_block_size_bytes": {"0"},
				})
				if err != nil {
					cancel(err)
					return
				}
				progress(int(done.Add(int64(count))))
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// workspaceOf and linkOf are ids out of numbers; every link is of one workspace.
func (d Database) workspaceOf(number string) string {
	return fmt.Sprintf("if(%s = 0, toUUID('%s'), reinterpret(toUInt128(%s) * 7919 + 1000003, 'UUID'))", number, d.Workspace, number)
}

const (
	linkOf = "reinterpret(bitShiftLeft(toUInt128(rank + 1), 64) + workspace * 1000003 + 17, 'UUID')"
	hostOf = "['go.test', 'links.example', 'x.example'][1 + rank % 3]"
)

// LinkID is the id of a link of the first workspace, from 0, the most popular.
func (d Database) LinkID(ctx context.Context, rank int) (string, error) {
	return d.Query(ctx, fmt.Sprintf("SELECT %s FROM (SELECT toUInt64(%d) AS rank, toUInt64(0) AS workspace)", linkOf, rank), nil)
}

// zipf draws a number from 0 to n-1, each so often as 1 / (number + 1), from 32 bits.
func zipf(bits string, n int) string {
	return fmt.Sprintf("toUInt64(exp(%s / 4294967296. * log(%d.)) - 1)", bits, n+1)
}

// clicks is the statement that makes clicks from, of n in all.
func (d Database) clicks(from, count, n int) string {
	days := Days(n)
	begin := d.Now.AddDate(0, 0, 1-days).Truncate(24 * time.Hour)
	// Twice as many by day as by night: the hour is drawn by these weights.
	hours := "[0,1,2,3,4,5,6,6,7,7,8,8,8,9,9,9,10,10,10,11,11,11,12,12,12,13,13,13,14,14,14,15,15,15,16,16,16,17,17,17,18,18,18,19,19,19,20,20,20,21,21,22,22,23]"
	return fmt.Sprintf(`INSERT INTO clicks (ts, click_id, workspace_id, link_id, link_version, host, slug, status, edge_region, edge, visitor, bot, bot_kind,
	country, region, city, continent, device, os, browser, language, referrer, referrer_source, referrer_medium,
	utm_source, utm_medium, utm_campaign, utm_term, utm_content, variant, rule, source)
SELECT
	ts, generateUUIDv7(number), %[1]s, %[2]s, 1, %[3]s, concat('s', toString(rank)), if(r4 %% 50 = 0, 301, 302), ['fra', 'ash', 'sgp'][1 + place %% 3], concat(['fra', 'ash', 'sgp'][1 + place %% 3], '-0'),
	visitor, bot, if(bot, ['search-engine', 'social-preview', 'ai-crawler', 'http-library'][1 + who %% 4], ''),
	concat(char(65 + country %% 26), char(65 + intDiv(country, 26))), concat('Region ', toString(country), '-', toString(who %% 8)),
	concat('City ', toString(country), '-', toString(who %% 8), '-', toString(intDiv(who, 8) %% 5)), ['EU', 'NA', 'AS', 'SA', 'AF', 'OC'][1 + country %% 6],
	['mobile', 'desktop', 'mobile', 'tablet', 'desktop', 'mobile', 'mobile', 'tv'][1 + who %% 8], ['iOS', 'Windows', 'Android', 'iOS', 'macOS', 'Android', 'iOS', 'Linux'][1 + who %% 8],
	['Safari', 'Chrome', 'Chrome', 'Safari', 'Firefox', 'Instagram', 'Facebook', 'Edge', 'Samsung Browser', 'Chrome', 'Safari', 'LinkedIn'][1 + intDiv(who, 8) %% 12],
	['en', 'de', 'fr', 'es', 'pt', 'ja', 'it', 'nl', 'pl', 'tr', 'ko', 'zh'][1 + %[8]s],
	if(referrer < 200, '', concat('site-', toString(referrer), '.example.com')), if(referrer < 200, '', concat('Site ', toString(referrer %% 300))),
	if(referrer < 200, '', ['search', 'social', 'referral', 'email', 'ai', 'paid'][1 + referrer %% 6]),
	if(campaigned, ['newsletter', 'google', 'facebook', 'linkedin', 'x', 'partner'][1 + rank %% 6], ''), if(campaigned, ['email', 'cpc', 'social', 'display'][1 + rank %% 4], ''),
	if(campaigned, concat('campaign-', toString(rank %% 300)), ''), if(campaigned AND rank %% 5 = 0, concat('term ', toString(rank %% 100)), ''), if(campaigned AND rank %% 3 = 0, concat('content ', toString(rank %% 200)), ''),
	if(rank %% 10 = 0, 1 + who %% 2, 0), if(rank %% 15 = 0, who %% 3, 0), if(r4 %% 30 = 1, 'qr', '')
FROM (
	SELECT *, sipHash64(toDate(ts), workspace, person) AS visitor, person %% 8 = 0 AS bot, rank %% 5 < 2 AS campaigned,
		toUInt64(sipHash64(person)) AS who, %[9]s AS country, country AS place
	FROM (
		SELECT number, %[4]s AS workspace, %[5]s AS rank, %[10]s AS referrer, rand(4) AS r4, rand(5) %% 250000 AS person,
			toDateTime64('%[6]s', 3, 'UTC') + toIntervalDay(toUInt64(number / %[7]d. * %[11]d)) + toIntervalHour(%[12]s[1 + rand(6) %% length(%[12]s)]) + toIntervalMillisecond(rand(7) %% 3600000) AS ts
		FROM numbers(%[13]d, %[14]d)))`,
		d.workspaceOf("workspace"), linkOf, hostOf, zipf("rand(1)", Workspaces), zipf("rand(2)", Links), begin.Format(time.DateTime), n,
		zipf("toUInt32(who)", 11), zipf("toUInt32(sipHash64(person, 1))", 220), zipf("rand(3)", 3000), days, hours, from, count)
}
