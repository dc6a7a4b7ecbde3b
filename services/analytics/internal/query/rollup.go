package query

// rollup is a table of sums by the hour that can answer a question.
type rollup struct {
	table string
	bits  string // of its unique states: see the migrations
	group string // what is grouped by, "" for nothing
	// where is added to the statement by whoever writes it, so that values are bound in
	// the order of the text.
	where []func(s *sql) string
}

// The rollups: of links, and of dimensions' values.
const (
	linkHours  = "clicks_by_link"
	valueHours = "clicks_by_value"
)

// noLink is the link of the rows that are for the whole workspace.
const noLink = "00000000-0000-0000-0000-000000000000"

func literal(text string) func(*sql) string { return func(*sql) string { return text } }

// Summed says whether sums answer the question by a dimension, or by "" for none, and
// not the clicks themselves.
func (q *Question) Summed(by Dimension) bool { return q.rollup(by) != nil }

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
	case dimension == "" && len(links) == 0 && !by.ofLink():
		// The whole workspace: people have one value of it. Its states are a quarter of
		// those of clicks_by_link, and merging a year of those takes longer than a chart may.
		r.byValue(BotKind, nil, by)
	case dimension == "":
		r.byLink(links)
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

func (r *rollup) byLink(links []Filter) {
	r.table, r.bits = linkHours, "17"
	r.where = append(r.where, literal("link_id != '"+noLink+"'"))
	for _, f := range links {
		r.where = append(r.where, f.condition)
	}
}

func (r *rollup) byValue(dimension Dimension, values []Filter, by Dimension) {
	r.table, r.bits = valueHours, "15"
	r.where = append(r.where, func(s *sql) string { return "dimension = " + s.value("String", string(dimension)) })
	for _, f := range values {
		r.where = append(r.where, func(s *sql) string { return s.among("value", "String", f.asStored(), f.Not) })
	}
	if by == dimension {
		r.group = "value"
	}
}
