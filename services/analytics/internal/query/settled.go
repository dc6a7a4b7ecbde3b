package query

import (
	"slices"
	"strings"
	"time"
)

// settled is a table of days that are over, in numbers, which can answer a question for
// such days (see migrations/clickhouse/00025_clicks_settled_days.sql). A visitor counts
// once for each day, so its numbers are added and nothing is merged.
type settled struct {
	table string
	scope Dimension // "" is the whole workspace
	name  string    // of the scope, when there is one
	// where is added to the statement by whoever writes it.
	where []func(s *sql) string
	group string // what is grouped by, "" for nothing
	hours bool   // it knows the hours of a day
	// details says that the table leaves small days of the scope out.
	details bool
}

const (
	settledTotals = "clicks_settled"
	settledValues = "clicks_settled_values"
)

// settled returns the table that answers the question for days that are over, grouped by
// a dimension or not, or nil when there is none.
func (q *Question) settled(by Dimension) *settled {
	if q.exact || q.Bots == IncludeBots { // who is a visitor and a bot on one day counts once
		return nil
	}
	t := &settled{table: settledTotals, hours: true}
	var scopes, values []Filter
	for _, f := range q.Filters {
		switch f.Dimension {
		case Bot:
			t.where = append(t.where, f.condition)
		case by:
			values = append(values, f)
		default:
			scopes = append(scopes, f)
		}
	}
	if len(scopes) > 1 || len(scopes) == 1 && (scopes[0].Not || len(scopes[0].Values) != 1) {
		return nil
	}
	if len(scopes) == 1 {
		t.scope, t.name = scopes[0].Dimension, scopes[0].asStored()[0]
	}
	scoped := t.scope == "" || t.scope.hasScope()
	switch {
	case by == "" && scoped:
		t.within(t.name)
	case by == "" && t.scope.rolledUp(): // one value is a scope without hours
		t.ofValues(t.scope)
		t.where = append(t.where, func(s *sql) string { return "value = " + s.value("String", t.name) })
		t.scope = ""
		t.within("")
	case (by == Link || by == Domain) && t.scope == "":
		t.scope, t.group = by, "name"
		t.where = append(t.where, func(s *sql) string { return "scope = " + s.value("String", string(by)) })
		t.among("name", values)
	case by != "" && by != Bot && !by.ofLink() && by.rolledUp() && scoped:
		t.ofValues(by)
		t.within(t.name)
		t.group, t.details = "value", t.scope != ""
		t.among("value", values)
	default:
		return nil
	}
	return t
}

// hasScope says that clicks_settled has days of its values.
func (d Dimension) hasScope() bool { return d == Link || d == Domain || d == UTMCampaign }

func (t *settled) within(name string) {
	scope := t.scope
	t.where = append(t.where, func(s *sql) string {
		return "scope = " + s.value("String", string(scope)) + " AND name = " + s.value("String", name)
	})
}

func (t *settled) ofValues(of Dimension) {
	t.table, t.hours = settledValues, false
	t.where = append(t.where, func(s *sql) string { return "dimension = " + s.value("String", string(of)) })
}

func (t *settled) among(column string, filters []Filter) {
	for _, f := range filters {
		t.where = append(t.where, func(s *sql) string { return s.among(column, "String", f.asStored(), f.Not) })
	}
}

// HoursKept is for how many days the hours of clicks_by_value are asked. What is older is
// asked of days in numbers or of the clicks themselves, and may be removed.
const HoursKept = 92

// retired says that the rollup does not have the hours of a day any more.
func (q *Question) retired(r *rollup, day int64) bool {
	return r.table == valueHours && day < q.oldest
}

// shares says which days of a question are answered from where.
type shares struct {
	whole  map[uint64][]uint32 // whole days by their settlement
	months map[uint64][]uint32 // whole months, as 202611, all of whose days have that settlement
	halves map[uint64][]uint32 // days that are cut once, at an hour
	hourly map[uint64][]uint32 // days that are cut at each hour
	hours  []uint32            // at which each of cutDays is cut
	cut    []uint32

	rest cuts     // what is left for hours, and for clicks: days has cut ones
	days []uint32 // the whole days that are left
}

// share splits the days of a question with these cuts. Months are of use to a question
// without buckets.
func (k *known) share(p Period, c cuts, t *settled, months bool) shares {
	out := shares{whole: map[uint64][]uint32{}, months: map[uint64][]uint32{}, halves: map[uint64][]uint32{}, hourly: map[uint64][]uint32{}, rest: c}
	out.rest.days, out.rest.months = nil, nil
	byMonth := map[uint32]map[uint64][]uint32{}
	for _, day := range k.inOrder() {
		settlement := k.days[day]
		n := uint32(day)
		switch {
		case day < p.From.Unix()/secondsOfDay || day*secondsOfDay >= p.To.Unix():
		case !slices.Contains(c.days, n):
			if settlement == 0 {
				out.days = append(out.days, n)
				continue
			}
			at := time.Unix(day*secondsOfDay, 0).UTC()
			month := uint32(at.Year()*100 + int(at.Month()))
			if byMonth[month] == nil {
				byMonth[month] = map[uint64][]uint32{}
			}
			byMonth[month][settlement] = append(byMonth[month][settlement], n)
		case settlement != 0 && t.hours && len(c.at[n]) == 1 && c.at[n][0]%hour == 0:
			out.halves[settlement] = append(out.halves[settlement], n)
			out.cut, out.hours = append(out.cut, n), append(out.hours, uint32(c.at[n][0]/hour))
		case settlement != 0 && t.hours && c.hourly(n):
			out.hourly[settlement] = append(out.hourly[settlement], n)
		default:
			out.rest.days = append(out.rest.days, n)
		}
	}
	for month, by := range byMonth {
		for settlement, days := range by {
			if months && t.table == settledValues && len(by) == 1 && slices.Contains(c.months, month) && k.wholly(days, settlement) {
				out.months[settlement] = append(out.months[settlement], month)
				continue
			}
			out.whole[settlement] = append(out.whole[settlement], days...)
		}
	}
	out.rest.hours = slices.DeleteFunc(slices.Clone(c.hours), func(h uint32) bool { return !slices.Contains(out.rest.days, h/secondsOfDay) })
	out.rest.hasWhole = len(out.days) > 0
	return out
}

// conditions are those of the table, without time.
func (t *settled) conditions(s *sql) string {
	var out strings.Builder
	out.WriteString(" WHERE workspace_id = {workspace:UUID}")
	for _, condition := range t.where {
		out.WriteString(" AND " + condition(s))
	}
	return out.String()
}
