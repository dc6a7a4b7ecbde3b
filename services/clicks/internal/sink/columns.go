package sink

import (
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/enrich"
)

// columns holds rows the way the driver wants them, one slice a column, so that
// a batch is handed over in as many calls as there are columns whatever its size. The
// slices are used again.
type columns struct {
	ts                             []time.Time
	clickID, workspaceID, linkID   []uuid.UUID
	linkVersion                    []uint64
	host, slug                     []string
	status                         []uint16
	edgeRegion, edge               []string
	visitor                        []uint64
	bot, clockAhead                []bool
	botKind                        []string
	country, region, city          []string
	continent, device, os, browser []string
	language                       []string
	referrer, refSource, refMedium []string
	utmSource, utmMedium           []string
	campaign, term, content        []string
	variant, rule                  []uint8
	source                         []string
}

func (c *columns) len() int { return len(c.ts) }

func (c *columns) append(r *enrich.Row) {
	c.ts = append(c.ts, time.UnixMilli(r.TimeUnixMilli).UTC())
	c.clickID = append(c.clickID, r.ClickID)
	c.workspaceID = append(c.workspaceID, r.WorkspaceID)
	c.linkID = append(c.linkID, r.LinkID)
	c.linkVersion = append(c.linkVersion, r.LinkVersion)
	c.host = append(c.host, r.Host)
	c.slug = append(c.slug, r.Slug)
	c.status = append(c.status, r.Status)
	c.edgeRegion = append(c.edgeRegion, r.EdgeRegion)
	c.edge = append(c.edge, r.Edge)
	c.visitor = append(c.visitor, r.Visitor)
	c.bot = append(c.bot, r.Bot)
	c.clockAhead = append(c.clockAhead, r.ClockAhead)
	c.botKind = append(c.botKind, r.BotKind)
	c.country = append(c.country, r.Place.Country)
	c.region = append(c.region, r.Place.Region)
	c.city = append(c.city, r.Place.City)
	c.continent = append(c.continent, r.Place.Continent)
	c.device = append(c.device, r.Device)
	c.os = append(c.os, r.OS)
	c.browser = append(c.browser, r.Browser)
	c.language = append(c.language, r.Language)
	c.referrer = append(c.referrer, r.Referrer)
	c.refSource = append(c.refSource, r.ReferrerSource)
	c.refMedium = append(c.refMedium, r.ReferrerMedium)
	c.utmSource = append(c.utmSource, r.Campaign.Source)
	c.utmMedium = append(c.utmMedium, r.Campaign.Medium)
	c.campaign = append(c.campaign, r.Campaign.Name)
	c.term = append(c.term, r.Campaign.Term)
	c.content = append(c.content, r.Campaign.Content)
	c.variant = append(c.variant, r.Variant)
	c.rule = append(c.rule, r.Rule)
	c.source = append(c.source, r.Source)
}

// reset empties the columns and keeps their memory.
func (c *columns) reset() {
	*c = columns{
		ts: c.ts[:0], clickID: c.clickID[:0], workspaceID: c.workspaceID[:0], linkID: c.linkID[:0],
		linkVersion: c.linkVersion[:0], host: c.host[:0], slug: c.slug[:0], status: c.status[:0],
		edgeRegion: c.edgeRegion[:0], edge: c.edge[:0], visitor: c.visitor[:0], bot: c.bot[:0], clockAhead: c.clockAhead[:0],
		botKind: c.botKind[:0], country: c.country[:0], region: c.region[:0], city: c.city[:0], continent: c.continent[:0],
		device: c.device[:0], os: c.os[:0], browser: c.browser[:0], language: c.language[:0],
		referrer: c.referrer[:0], refSource: c.refSource[:0], refMedium: c.refMedium[:0],
		utmSource: c.utmSource[:0], utmMedium: c.utmMedium[:0], campaign: c.campaign[:0], term: c.term[:0], content: c.content[:0],
		variant: c.variant[:0], rule: c.rule[:0], source: c.source[:0],
	}
}

// row is the i-th row again.
func (c *columns) row(i int) enrich.Row {
	return enrich.Row{
		TimeUnixMilli: c.ts[i].UnixMilli(), ClockAhead: c.clockAhead[i],
		ClickID: c.clickID[i], WorkspaceID: c.workspaceID[i], LinkID: c.linkID[i],
		LinkVersion: c.linkVersion[i], Host: c.host[i], Slug: c.slug[i], Status: c.status[i], EdgeRegion: c.edgeRegion[i],
		Edge: c.edge[i], Visitor: c.visitor[i], Bot: c.bot[i], BotKind: c.botKind[i],
		Place:  enrich.Place{Country: c.country[i], Region: c.region[i], City: c.city[i], Continent: c.continent[i]},
		Device: c.device[i], OS: c.os[i], Browser: c.browser[i], Language: c.language[i],
		Referrer: c.referrer[i], ReferrerSource: c.refSource[i], ReferrerMedium: c.refMedium[i],
		Campaign: enrich.Campaign{Source: c.utmSource[i], Medium: c.utmMedium[i], Name: c.campaign[i], Term: c.term[i], Content: c.content[i]},
		Variant:  c.variant[i], Rule: c.rule[i], Source: c.source[i],
	}
}

// month is one of the parts that a block is cut into.
type month struct {
	year  int
	month time.Month
}

func monthOf(ts time.Time) month { return month{ts.Year(), ts.Month()} }

// monthNumber reads ClickHouse's toYYYYMM.
func monthNumber(n uint32) month { return month{int(n / 100), time.Month(n % 100)} }

// months are those of the rows, each with the index of its last row.
func (c *columns) months() map[month]int {
	last := map[month]int{}
	for i, ts := range c.ts {
		last[monthOf(ts)] = i
	}
	return last
}

// of returns a copy with the rows of some months.
func (c *columns) of(months map[month]bool) *columns {
	out := &columns{}
	for i, ts := range c.ts {
		if months[monthOf(ts)] {
			row := c.row(i)
			out.append(&row)
		}
	}
	return out
}

// named is one column of the table.
type named struct {
	clickhouse.ColumnNameAndType
	values any
}

// list names the columns with their types, without which the driver would ask the
// server for them before every insert. They are those of the migrated table (a test
// holds them against it), except that over HTTP the server makes the dictionaries of
// LowCardinality itself: the driver's own take an allocation for every value, a third
// of what the ingester does. The native protocol goes by the server's types.
func (c *columns) list() []named {
	const (
		text  = "String"
		group = "String" // LowCardinality in the table
		id    = "UUID"
	)
	col := func(name, kind string, values any) named {
		return named{clickhouse.ColumnNameAndType{Name: name, Type: kind}, values}
	}
	return []named{
		col("ts", "DateTime64(3, 'UTC')", c.ts),
		col("click_id", id, c.clickID),
		col("workspace_id", id, c.workspaceID),
		col("link_id", id, c.linkID),
		col("link_version", "UInt64", c.linkVersion),
		col("host", group, c.host),
		col("slug", text, c.slug),
		col("status", "UInt16", c.status),
		col("edge_region", group, c.edgeRegion),
		col("edge", group, c.edge),
		col("visitor", "UInt64", c.visitor),
		col("bot", "Bool", c.bot),
		col("bot_kind", group, c.botKind),
		col("country", group, c.country),
		col("region", group, c.region),
		col("city", group, c.city),
		col("continent", group, c.continent),
		col("device", group, c.device),
		col("os", group, c.os),
		col("browser", group, c.browser),
		col("language", group, c.language),
		col("referrer", group, c.referrer),
		col("referrer_source", group, c.refSource),
		col("referrer_medium", group, c.refMedium),
		col("utm_source", group, c.utmSource),
		col("utm_medium", group, c.utmMedium),
		col("utm_campaign", group, c.campaign),
		col("utm_term", group, c.term),
		col("utm_content", group, c.content),
		col("variant", "UInt8", c.variant),
		col("rule", "UInt8", c.rule),
		col("source", group, c.source),
		col("clock_ahead", "Bool", c.clockAhead),
	}
}

// repairs lists what clicks_repair has of it, for a rollup.
func (c *columns) repairs(rollup string) []named {
	into := make([]string, c.len())
	for i := range into {
		into[i] = rollup
	}
	list := []named{{clickhouse.ColumnNameAndType{Name: "into", Type: "String"}, into}}
	for _, column := range c.list() {
		switch column.Name {
		case "click_id", "link_version", "slug", "edge", "variant", "rule", "clock_ahead": // no rollup has them
		default:
			list = append(list, column)
		}
	}
	return list
}
