package query

import "slices"

// rollup is a table of sums by the hour that can answer a question.
type rollup struct {
	table string
	bits  string // of its unique states: see the migrations
	group string // the column of what is grouped by, "" for nothing
	// where is added to the statement by whoever writes it, so that values are bound in
	// the order of the text.
	where []func(s *sql) string
}

// grouping is what is grouped by in a rollup and in the table of clicks, "" for nothing.
type grouping struct{ rollup, raw string }

// noLink is the link of the rows that are for the whole workspace.
const noLink = "00000000-0000-0000-0000-000000000000"

func literal(text string) func(*sql) string { return func(*sql) string { return text } }

// rollup returns the table that answers the question, grouped by a dimension or not,
// or nil when a filter crosses dimensions and only the clicks themselves know.
func (q *Question) rollup(by Dimension) *rollup {
	var values, links []Filter // filters by value, and by what is known of a link
	r := &rollup{}
	for _, f := range q.Filters {
		switch {
		case f.Dimension.ofLink():
			links = append(links, f)
		case f.Dimension == Bot:
			r.where = append(r.where, f.condition)
		case f.Dimension.rolledUp():
			values = append(values, f)
		default:
			return nil
		}
	}
	dimension := Dimension("") // the one whose values are summed
	if by != "" && by != Bot && !by.ofLink() {
		if dimension = by; !by.rolledUp() {
			return nil
		}
	}
	for _, f := range values {
		if dimension == "" {
			dimension = f.Dimension
		}
		if f.Dimension != dimension {
			return nil
		}
	}
	switch {
	case dimension == "":
		r.byLink(links, by)
	case len(links) > 0 || by.ofLink():
		return nil
	default:
		r.byValue(dimension, values, by)
	}
	if by != "" && r.group == "" {
		r.group = by.text()
	}
	return r
}

func (r *rollup) byLink(links []Filter, by Dimension) {
	r.table, r.bits = "clicks_by_link", "17"
	if len(links) == 0 && !by.ofLink() {
		r.where = append(r.where, literal("link_id = '"+noLink+"'"))
		return
	}
	r.where = append(r.where, literal("link_id != '"+noLink+"'"))
	for _, f := range links {
		r.where = append(r.where, f.condition)
	}
}

func (r *rollup) byValue(dimension Dimension, values []Filter, by Dimension) {
	r.table, r.bits = "clicks_by_value", "15"
	r.where = append(r.where, func(s *sql) string { return "dimension = " + s.value("String", string(dimension)) })
	for _, f := range values {
		r.where = append(r.where, func(s *sql) string { return s.among("value", "String", f.asStored(), f.Not) })
	}
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
func (q *Question) selectRollup(s *sql, r *rollup, by Dimension, g grouping, split []uint32) {
	counted := q.Bots.counted()
	s.write("SELECT ")
	if g.rollup != "" {
		s.write("grouped, ")
	}
	s.write("sumIf(n, ", counted, ") AS counted_clicks, uniqCombinedMergeIf(", r.bits, ")(state, ", counted, ") AS counted_visitors, sumIf(n, bot) AS counted_bots FROM (SELECT ")
	if g.rollup != "" {
		s.write(g.rollup, " AS grouped, ")
	}
	s.write("bot, clicks AS n, visitors AS state FROM ", joined(r.table, by), " WHERE workspace_id = {workspace:UUID}"+
		" AND hour >= toDateTime({first_hour:UInt32}, 'UTC') AND hour < toDateTime({end_hour:UInt32}, 'UTC')")
	s.bind("workspace", q.Workspace.String())
	from, to := q.Period.From.Unix(), q.Period.To.Unix()
	s.bind("first_hour", uint32(from-from%hour))
	s.bind("end_hour", uint32(to-to%hour)) // the last one is split unless to is whole
	for _, condition := range r.where {
		s.write(" AND ", condition(s))
	}
	if len(split) > 0 {
		s.bind("split", split)
		s.write(" AND toUnixTimestamp(hour) NOT IN {split:Array(UInt32)} UNION ALL SELECT ")
		if g.raw != "" {
			s.write(g.raw, " AS grouped, ")
		}
		s.write("bot, count() AS n, uniqCombinedState(", r.bits, ")(visitor) AS state FROM ", joined("clicks", by))
		q.where(s)
		s.write(" AND toUnixTimestamp(toStartOfHour(toDateTime(ts, 'UTC'))) IN {split:Array(UInt32)} GROUP BY ")
		if g.raw != "" {
			s.write("grouped, ")
		}
		s.write("bot")
	}
	s.write(")")
}
