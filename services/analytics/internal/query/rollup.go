package query

import (
	"slices"
	"strconv"
)

// rollup is a table of sums by the hour that can answer a question.
type rollup struct {
	table string
	bits  string // of its unique states: see the migrations
	group string // the column of what is grouped by, "" for nothing
	where []condition
}

// grouping is what is grouped by in a rollup and in the table of clicks, "" for nothing.
type grouping struct{ rollup, raw string }

// condition compares a column with a value.
type condition struct {
	text string // with {NAME:Type} where the value stands
	name string
	bind any
}

// noLink is the link of the rows that are for the whole workspace.
const noLink = "00000000-0000-0000-0000-000000000000"

// rollup returns the table that answers the question, grouped by a dimension or not,
// or nil when a filter crosses dimensions and only the clicks themselves know.
func (q *Question) rollup(by Dimension) *rollup {
	var values, places []Filter // filters by value, and by link or domain
	r := &rollup{}
	for _, f := range q.Filters {
		switch f.Dimension {
		case Link, Domain:
			places = append(places, f)
		case Bot:
			r.where = append(r.where, condition{"bot = {rollup_bot:Bool}", "rollup_bot", f.Value})
		default:
			values = append(values, f)
		}
	}
	byValue := by != "" && by != Link && by != Bot
	switch {
	case len(values) == 0 && !byValue:
		r.byLink(places, by)
	case len(places) > 0 || len(values) > 1:
		return nil
	case len(values) == 1 && byValue && by != values[0].Dimension, by == Link:
		return nil
	default:
		r.byValue(values, by)
	}
	if by != "" && r.group == "" {
		r.group = by.text()
	}
	return r
}

func (r *rollup) byLink(places []Filter, by Dimension) {
	r.table, r.bits = "clicks_by_link", "17"
	if len(places) == 0 && by != Link {
		r.where = append(r.where, condition{text: "link_id = '" + noLink + "'"})
		return
	}
	r.where = append(r.where, condition{text: "link_id != '" + noLink + "'"})
	for i, f := range places {
		column, kind := f.Dimension.column()
		name := "rollup" + string(rune('a'+i))
		r.where = append(r.where, condition{column + " = {" + name + ":" + kind + "}", name, f.Value})
	}
}

func (r *rollup) byValue(values []Filter, by Dimension) {
	r.table, r.bits = "clicks_by_value", "15"
	dimension := by
	for _, f := range values { // one at most
		dimension = f.Dimension
		value := f.Value
		if f.Dimension == Status { // a number, however it was written
			if n, err := strconv.ParseUint(value, 10, 16); err == nil {
				value = strconv.FormatUint(n, 10)
			}
		}
		r.where = append(r.where, condition{"value = {rollup_value:String}", "rollup_value", value})
	}
	r.where = append(r.where, condition{"dimension = {rollup_dimension:String}", "rollup_dimension", string(dimension)})
	if by == dimension {
		r.group = "value"
	}
}

// maxSplit bounds the hours of a question that are looked up click by click; a
// period of days has a handful even where clocks are half an hour off.
const maxSplit = 100

const hour = 3600 // seconds

// splitHours are the hours, by their start, in which the period begins or ends or a
// bucket ends: their sums would be of too much. It is nil and false when there are so
// many that sums do not help.
func splitHours(p Period, bounds []uint32) (out []uint32, ok bool) {
	add := func(unix int64, whole bool) {
		if start := uint32(unix - unix%hour); (unix%hour != 0 || !whole) && !slices.Contains(out, start) {
			out = append(out, start)
		}
	}
	add(p.From.Unix(), p.From.Nanosecond() == 0)
	add(p.To.Unix(), p.To.Nanosecond() == 0)
	for _, b := range bounds {
		add(int64(b), true)
		if len(out) > maxSplit {
			return nil, false
		}
	}
	return out, true
}

// selectRollup writes the three counts out of a rollup: whole hours from its sums, and
// split ones from the clicks, if there are any.
func (q *Question) selectRollup(s *sql, r *rollup, g grouping, split []uint32) {
	counted := q.Bots.counted()
	s.text.WriteString("SELECT ")
	if g.rollup != "" {
		s.text.WriteString("grouped, ")
	}
	s.text.WriteString("sumIf(n, " + counted + ") AS counted_clicks, uniqCombinedMergeIf(" + r.bits + ")(state, " + counted + ") AS counted_visitors, sumIf(n, bot) AS counted_bots FROM (SELECT ")
	if g.rollup != "" {
		s.text.WriteString(g.rollup + " AS grouped, ")
	}
	s.text.WriteString("bot, clicks AS n, visitors AS state FROM " + r.table + " WHERE workspace_id = {workspace:UUID}" +
		" AND hour >= toDateTime({first_hour:UInt32}, 'UTC') AND hour < toDateTime({end_hour:UInt32}, 'UTC')")
	s.bind("workspace", q.Workspace.String())
	from, to := q.Period.From.Unix(), q.Period.To.Unix()
	s.bind("first_hour", uint32(from-from%hour))
	s.bind("end_hour", uint32(to-to%hour)) // the last one is split unless to is whole
	for _, c := range r.where {
		s.text.WriteString(" AND " + c.text)
		if c.name != "" {
			s.bind(c.name, c.bind)
		}
	}
	if len(split) > 0 {
		s.bind("split", split)
		s.text.WriteString(" AND toUnixTimestamp(hour) NOT IN {split:Array(UInt32)} UNION ALL SELECT ")
		if g.raw != "" {
			s.text.WriteString(g.raw + " AS grouped, ")
		}
		s.text.WriteString("bot, count() AS n, uniqCombinedState(" + r.bits + ")(visitor) AS state FROM clicks")
		q.where(s)
		s.text.WriteString(" AND toUnixTimestamp(toStartOfHour(toDateTime(ts, 'UTC'))) IN {split:Array(UInt32)} GROUP BY ")
		if g.raw != "" {
			s.text.WriteString("grouped, ")
		}
		s.text.WriteString("bot")
	}
	s.text.WriteString(")")
}
