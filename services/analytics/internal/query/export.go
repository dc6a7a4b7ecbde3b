package query

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// exportPage is how many clicks are asked for at once: what is in memory at most, here
// and in the server, which may collect an answer before it sends it.
const exportPage = 20_000

// Click is one click of an export.
type Click struct {
	At                                  time.Time
	ID, LinkID                          uuid.UUID
	Host, Slug                          string
	Status                              uint16
	EdgeRegion                          string
	Visitor                             uint64
	Bot                                 bool
	BotKind                             string
	Country, Region, City, Continent    string
	Device, OS, Browser, Language       string
	Referrer, ReferrerSource, RefMedium string
	UTMSource, UTMMedium, UTMCampaign   string
	UTMTerm, UTMContent                 string
	Variant, Rule                       uint8
	Source                              string
}

// EachClick hands over every click that counts: links one after the other, each in the
// order of time. It ends when take returns an error, which it returns. It asks page by
// page, so a click that comes while it goes on may be in it or not; none is in it twice.
func (c *ClickHouse) EachClick(ctx context.Context, q *Question, take func(*Click) error) error {
	var k Click
	for after := (*Click)(nil); ; {
		n := 0
		s := &sql{}
		q.writeExport(s, after)
		err := c.each(ctx, s, func(rows driver.Rows) error {
			n++
			if err := rows.Scan(&k.At, &k.ID, &k.LinkID, &k.Host, &k.Slug, &k.Status, &k.EdgeRegion, &k.Visitor, &k.Bot, &k.BotKind, &k.Country, &k.Region,
				&k.City, &k.Continent, &k.Device, &k.OS, &k.Browser, &k.Language, &k.Referrer, &k.ReferrerSource, &k.RefMedium,
				&k.UTMSource, &k.UTMMedium, &k.UTMCampaign, &k.UTMTerm, &k.UTMContent, &k.Variant, &k.Rule, &k.Source); err != nil {
				return err
			}
			return take(&k)
		})
		if err != nil || n < exportPage {
			return err
		}
		last := k
		after = &last
	}
}

func (q *Question) writeExport(s *sql, after *Click) {
	s.write("SELECT ts, click_id, link_id, host, slug, status, edge_region, visitor, bot, bot_kind, country, region, city, continent, device, os, browser, language, " +
		"referrer, referrer_source, referrer_medium, utm_source, utm_medium, utm_campaign, utm_term, utm_content, variant, rule, source FROM clicks")
	q.where(s)
	s.write(" AND ", q.Bots.counted())
	if after != nil {
		// Not as a comparison of tuples, for which no index is used.
		s.write(" AND (link_id > {after_link:UUID} OR (link_id = {after_link:UUID} AND (ts > fromUnixTimestamp64Milli({after_ts:Int64}, 'UTC')" +
			" OR (ts = fromUnixTimestamp64Milli({after_ts:Int64}, 'UTC') AND click_id > {after_click:UUID}))))")
		s.bind("after_link", after.LinkID.String())
		s.bind("after_ts", after.At.UnixMilli())
		s.bind("after_click", after.ID.String())
	}
	s.write(" ORDER BY link_id, ts, click_id LIMIT {page:UInt32}")
	s.bind("page", exportPage)
}
