package query

import (
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// Dimension is something that clicks can be grouped and filtered by.
type Dimension string

// The closed list of dimensions, by their names in the API.
const (
	Link        Dimension = "link"
	Domain      Dimension = "domain" // a filter only
	Country     Dimension = "country"
	Region      Dimension = "region"
	City        Dimension = "city"
	Continent   Dimension = "continent"
	Device      Dimension = "device"
	OS          Dimension = "os"
	Browser     Dimension = "browser"
	Language    Dimension = "language"
	Referrer    Dimension = "referrer"
	UTMSource   Dimension = "utm_source"
	UTMMedium   Dimension = "utm_medium"
	UTMCampaign Dimension = "utm_campaign"
	UTMTerm     Dimension = "utm_term"
	UTMContent  Dimension = "utm_content"
	EdgeRegion  Dimension = "edge_region"
	Status      Dimension = "status"
	Bot         Dimension = "bot"
)

// column is the only way from a dimension to a name in SQL, and kind the type that
// its values are compared as.
func (d Dimension) column() (column, kind string) {
	const text = "String"
	switch d {
	case Link:
		return "link_id", "UUID"
	case Domain:
		return "host", text
	case Status:
		return "status", "UInt16"
	case Bot:
		return "bot", "Bool"
	case Country, Region, City, Continent, Device, OS, Browser, Language, Referrer,
		UTMSource, UTMMedium, UTMCampaign, UTMTerm, UTMContent, EdgeRegion:
		return string(d), text // their columns have the API's names
	default:
		panic("unknown dimension " + string(d))
	}
}

// text is the dimension's value in an answer.
func (d Dimension) text() string {
	column, _ := d.column()
	return "toString(" + column + ")"
}

// Bots says which clicks count.
type Bots string

// The closed list.
const (
	ExcludeBots Bots = "exclude"
	IncludeBots Bots = "include"
	OnlyBots    Bots = "only"
)

// counted is the condition of a click that counts.
func (b Bots) counted() string {
	switch b {
	case ExcludeBots:
		return "NOT bot"
	case IncludeBots:
		return "1"
	case OnlyBots:
		return "bot"
	default:
		panic("unknown choice of bots " + string(b))
	}
}

// Filter keeps the clicks whose dimension has the value. "" is the value of what is
// unknown. Values of Link are UUIDs, of Status numbers, of Bot true or false: the
// caller has checked that.
type Filter struct {
	Dimension Dimension
	Value     string
}

// Question is what all calls have in common.
type Question struct {
	Workspace uuid.UUID
	Period    Period
	Bots      Bots
	Filters   []Filter

	exact bool // ask the clicks themselves, also where sums could tell
}

// Counts answers a question. Clicks and UniqueVisitors are of the clicks that
// Bots lets count, BotClicks of the bots among all clicks that the filters keep.
//
// UniqueVisitors are exact for some thousands, then within a percent of the truth (see
// the rollups' migrations); where only the clicks themselves can answer they are exact.
//
// A visitor is recognised for one day of UTC, because the key that makes visitors
// out of addresses is thrown away: over several days a visitor counts once for each
// day on which it came.
type Counts struct {
	Clicks         uint64 `json:"clicks" doc:"Clicks; without bots unless bots=include or bots=only"`
	UniqueVisitors uint64 `json:"unique_visitors" doc:"Visitors among these clicks. A visitor is recognised by a keyed hash of address and user agent whose key is thrown away, so it counts once for each day (of UTC) on which it came"`
	BotClicks      uint64 `json:"bot_clicks" doc:"Clicks of bots with the same filters, whatever bots says"`
}

// sql is text that we wrote and values that go beside it as parameters: no value of
// a caller is ever part of the text.
type sql struct {
	text   strings.Builder
	values []any
	bound  map[string]bool
}

func (s *sql) bind(name string, value any) {
	if s.bound[name] {
		return // named twice in the text, with one value
	}
	if s.bound == nil {
		s.bound = map[string]bool{}
	}
	s.bound[name] = true
	s.values = append(s.values, clickhouse.Named(name, value))
}

// selectCounts begins a statement with the three counts, so named that no alias is a column.
func (q *Question) selectCounts(s *sql, group string) {
	counted := q.Bots.counted()
	s.text.WriteString("SELECT ")
	if group != "" {
		s.text.WriteString(group + " AS grouped, ")
	}
	s.text.WriteString("countIf(" + counted + ") AS counted_clicks, uniqExactIf(visitor, " + counted + ") AS counted_visitors, countIf(bot) AS counted_bots FROM clicks")
}

// where names the workspace first, always: it comes from the caller's token.
func (q *Question) where(s *sql) {
	s.text.WriteString(" WHERE workspace_id = {workspace:UUID}" +
		" AND ts >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Milli({to:Int64}, 'UTC')")
	s.bind("workspace", q.Workspace.String())
	s.bind("from", ceilMilli(q.Period.From))
	s.bind("to", ceilMilli(q.Period.To))
	for i, f := range q.Filters {
		column, kind := f.Dimension.column()
		name := "filter" + string(rune('a'+i))
		s.text.WriteString(" AND " + column + " = {" + name + ":" + kind + "}")
		s.bind(name, f.Value)
	}
}
