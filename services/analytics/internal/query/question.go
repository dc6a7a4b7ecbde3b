package query

import (
	"slices"
	"strconv"

	"github.com/google/uuid"
)

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

// Filter keeps the clicks whose dimension has one of the values, or with Not those
// that have none of them. "" is the value of what is unknown. Values of Link are
// UUIDs, of Status, Variant and Rule numbers, of Bot true or false: the caller has
// checked that.
type Filter struct {
	Dimension Dimension
	Values    []string
	Not       bool
}

// Question is what all calls have in common.
type Question struct {
	Workspace uuid.UUID
	Period    Period
	Bots      Bots
	Filters   []Filter // all of them hold

	exact bool   // ask the clicks themselves, also where sums could tell
	known *known // which days are settled, once that was asked
	// oldest is the first day, by its number, of which the values' hours are kept.
	oldest int64
}

// AsksForTags says whether the answer depends on what is known of links.
func (q *Question) AsksForTags() bool {
	return slices.ContainsFunc(q.Filters, func(f Filter) bool { return f.Dimension == Tag })
}

// Counts answers a question. Clicks and UniqueVisitors are of the clicks that
// Bots lets count, BotClicks of the bots among all clicks that the filters keep.
//
// UniqueVisitors are exact for some thousands, then within a percent of the truth (see
// the rollups' migrations).
//
// A visitor is recognised for one day of UTC, because the key that makes visitors
// out of addresses is thrown away: over several days a visitor counts once for each
// day on which it came.
type Counts struct {
	Clicks         uint64 `json:"clicks" doc:"Clicks; without bots unless bots=include or bots=only"`
	UniqueVisitors uint64 `json:"unique_visitors" doc:"Visitors among these clicks. A visitor is recognised by a keyed hash of address and user agent whose key is thrown away, so it counts once for each day (of UTC) on which it came"`
	BotClicks      uint64 `json:"bot_clicks" doc:"Clicks of bots with the same filters, whatever bots says"`
}

// where names the workspace first, always: it comes from the caller's token.
func (q *Question) where(s *sql) {
	s.write(" WHERE workspace_id = {workspace:UUID}" +
		" AND ts >= fromUnixTimestamp64Milli({from:Int64}, 'UTC') AND ts < fromUnixTimestamp64Milli({to:Int64}, 'UTC')")
	s.bind("workspace", q.Workspace.String())
	s.bind("from", ceilMilli(q.Period.From))
	s.bind("to", ceilMilli(q.Period.To))
	for _, f := range q.Filters {
		s.write(" AND ", f.condition(s))
	}
}

// condition is the filter where each dimension has a column of its own.
func (f Filter) condition(s *sql) string {
	column, kind := f.Dimension.column()
	if f.Dimension == Tag {
		not := ""
		if f.Not {
			not = "NOT "
		}
		return "link_id " + not + "IN (SELECT link_id FROM links FINAL WHERE workspace_id = {workspace:UUID} AND NOT deleted AND arrayExists(tag -> " +
			s.among("tag", kind, f.Values, false) + ", tags))"
	}
	return s.among(column, kind, f.Values, f.Not)
}

// asStored are the values as clicks_by_value has them: numbers in one way of writing.
func (f Filter) asStored() []string {
	if f.Dimension != Status {
		return f.Values
	}
	out := make([]string, len(f.Values))
	for i, v := range f.Values {
		out[i] = v
		if n, err := strconv.ParseUint(v, 10, 16); err == nil {
			out[i] = strconv.FormatUint(n, 10)
		}
	}
	return out
}

// joined is the table with a row for each tag of a click's link, where tags are
// grouped by: a click of a link with two tags counts for both.
func joined(table string, by Dimension) string {
	if by != Tag {
		return table
	}
	return table + " INNER JOIN (SELECT link_id, arrayJoin(tags) AS tag FROM links FINAL WHERE workspace_id = {workspace:UUID} AND NOT deleted) AS tagged USING (link_id)"
}
