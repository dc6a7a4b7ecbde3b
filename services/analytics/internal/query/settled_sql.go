package query

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// settledWriter writes the parts of a statement that are answered by days in numbers.
// Each selects the keys, kind, n and u, as the parts of a rollupWriter do.
type settledWriter struct {
	q      *Question
	s      *sql
	t      *settled
	keys   []key
	shares shares
}

func (k key) ofSettled() string { return k.settled }

// parts are those that there are days for.
func (w *settledWriter) parts() []func() {
	var out []func()
	add := func(days map[uint64][]uint32, part func(when func() string)) {
		if len(days) > 0 {
			out = append(out, func() { part(func() string { return w.among("toUInt32(day)", days) }) })
		}
	}
	if len(w.shares.months) > 0 {
		out = append(out, w.months)
	}
	add(w.shares.whole, w.whole)
	add(w.shares.halves, w.halves)
	add(w.shares.hourly, w.hourly)
	return out
}

// among keeps days, or months, together with the settlement that holds for each.
func (w *settledWriter) among(column string, days map[uint64][]uint32) string {
	var out []string
	for _, settlement := range slices.Sorted(maps.Keys(days)) {
		name := "days" + strconv.Itoa(len(w.s.values))
		w.s.bind(name, days[settlement])
		out = append(out, "settlement = "+strconv.FormatUint(settlement, 10)+" AND "+column+" IN {"+name+":Array(UInt32)}")
	}
	return " AND (" + strings.Join(out, " OR ") + ")"
}

// between bounds the days, for the table's index.
func (w *settledWriter) between(days map[uint64][]uint32) string {
	first, last := uint32(1<<16-1), uint32(0)
	for _, list := range days {
		first, last = min(first, slices.Min(list)), max(last, slices.Max(list))
	}
	return " AND day >= toDate(" + strconv.FormatUint(uint64(first), 10) + ") AND day <= toDate(" + strconv.FormatUint(uint64(last), 10) + ")"
}

// months selects what the projection by month has, and groups by no more.
func (w *settledWriter) months() {
	w.s.write("SELECT ", expressions(w.keys, key.ofSettled), "toUInt8(bot) AS kind, sum(clicks) AS n, sum(visitors) AS u FROM ", w.t.table, w.t.conditions(w.s),
		w.among("toYYYYMM(toStartOfMonth(day))", w.shares.months))
	w.s.groupBy(names(w.keys), "bot")
}

func (w *settledWriter) whole(when func() string) {
	w.s.write("SELECT ", expressions(w.keys, key.ofSettled), "kind, sum(clicks_of_day) AS n, sum(visitors_of_day) AS u FROM (SELECT ", w.columns(),
		"toUInt8(bot) AS kind, toUInt32(day) * 86400 AS at, clicks AS clicks_of_day, visitors AS visitors_of_day FROM ", w.t.table, w.t.conditions(w.s), w.between(w.shares.whole), when(), ")")
	w.s.groupBy(names(w.keys), "kind")
}

// halves selects the two parts of days that are cut once. Who came before the cut is who
// came for the first time before it, who came after it is who came for the last time after.
func (w *settledWriter) halves(when func() string) {
	w.s.bind("halved_days", w.shares.cut)
	w.s.bind("halved_at", w.shares.hours)
	w.s.write("SELECT ", expressions(w.keys, key.ofSettled), "kind, sum(clicks_of_half) AS n, sum(visitors_of_half) AS u FROM (SELECT ", w.columns(),
		"toUInt8(bot) AS kind, transform(toUInt32(day), {halved_days:Array(UInt32)}, {halved_at:Array(UInt32)}, toUInt32(0)) AS cut, arrayJoin([false, true]) AS late,"+
			" toUInt32(day) * 86400 + if(late, cut * 3600, 0) AS at,"+
			" arraySum((x, h) -> if((h >= cut) = late, x, 0), hour_clicks, hours) AS clicks_of_half,"+
			" arraySum((first, last, h) -> if((h >= cut) = late, if(late, last, first), 0), hour_first, hour_last, hours) AS visitors_of_half FROM ",
		w.t.table, w.t.conditions(w.s), w.between(w.shares.halves), when(), ")", w.during())
	w.s.groupBy(names(w.keys), "kind")
}

func (w *settledWriter) hourly(when func() string) {
	w.s.write("SELECT ", expressions(w.keys, key.ofSettled), "kind, sum(clicks_of_hour) AS n, sum(visitors_of_hour) AS u FROM (SELECT ", w.columns(),
		"toUInt8(bot) AS kind, toUInt32(day) * 86400 + toUInt32(h) * 3600 AS at, c AS clicks_of_hour, v AS visitors_of_hour FROM ",
		w.t.table, " ARRAY JOIN hours AS h, hour_clicks AS c, hour_visitors AS v", w.t.conditions(w.s), w.between(w.shares.hourly), when(), ")", w.during())
	w.s.groupBy(names(w.keys), "kind")
}

// during leaves out the parts of days that are not of the period.
func (w *settledWriter) during() string {
	w.s.bind("from_second", uint32(w.q.Period.From.Unix()))
	w.s.bind("to_second", uint32(w.q.Period.To.Unix()))
	return " WHERE at >= {from_second:UInt32} AND at < {to_second:UInt32}"
}

// columns are those that keys may be made of.
func (w *settledWriter) columns() string {
	if w.t.group == "" {
		return ""
	}
	return w.t.group + ", "
}

// writeSettled writes what writeCounts does, with the days that are settled in numbers and
// only the others from hours, or from clicks. It is false, and writes nothing, where
// there are no such days.
func (q *Question) writeSettled(s *sql, by Dimension, keys []key, bounds []uint32) bool {
	t := q.settled(by)
	if t == nil || q.known == nil {
		return false
	}
	r := q.rollup(by)
	c := cutsAll(q.Period, bounds)
	w := &settledWriter{q: q, s: s, t: t, keys: keys, shares: q.known.share(q.Period, c, t, len(bounds) == 0)}
	parts := w.parts()
	if len(parts) == 0 {
		return false
	}
	s.bind("workspace", q.Workspace.String())
	q.writeSums(s, keys)
	rest := w.shares.rest
	switch {
	case len(w.shares.days) == 0 && len(rest.days) == 0:
	case r != nil && len(rest.hours) <= maxCutHours && !q.retired(r, w.shares.oldest()) && !q.spread(r):
		rw := &rollupWriter{q: q, s: s, r: r, by: by, keys: keys, cuts: rest, only: w.shares.days}
		for _, part := range rw.parts() {
			parts = append(parts, func() { part("toUInt8(bot)") })
		}
	default:
		parts = append(parts, w.clicks)
	}
	for i, part := range parts {
		if i > 0 {
			s.write(" UNION ALL ")
		}
		part()
	}
	s.write(")")
	s.groupBy(names(keys), "")
	return true
}

// oldest is the first of the days that are left.
func (s *shares) oldest() int64 {
	return int64(slices.Min(slices.Concat(s.days, s.rest.days)))
}

// clicks selects the days that are left from the clicks themselves. A visitor of two days
// has two numbers, so no day need be told from the other.
func (w *settledWriter) clicks() {
	w.s.write("SELECT ", expressions(w.keys, key.ofRaw), "toUInt8(bot) AS kind, count() AS n, uniqCombined(17)(visitor) AS u FROM clicks")
	w.q.where(w.s)
	w.s.write(" AND (", spans(slices.Concat(w.shares.days, w.shares.rest.days)), ")")
	w.s.groupBy(names(w.keys), "bot")
}

// spread says that the rows of a question are those of very many links, between which the
// rollup's states of hours are more to read than the clicks of some days.
func (q *Question) spread(r *rollup) bool {
	return r.table == linkHours && slices.ContainsFunc(q.Filters, func(f Filter) bool { return f.Dimension == Domain })
}

// spans keeps the clicks of days, by the times between which runs of them lie: the table's index
// knows the times of its granules.
func spans(days []uint32) string {
	slices.Sort(days)
	at := func(day uint32) string {
		return "toDateTime64(toDate(" + strconv.FormatUint(uint64(day), 10) + "), 3, 'UTC')"
	}
	var out []string
	for i, first := 0, 0; i < len(days); i++ {
		if i+1 < len(days) && days[i+1] == days[i]+1 {
			continue
		}
		out = append(out, "ts >= "+at(days[first])+" AND ts < "+at(days[i]+1))
		first = i + 1
	}
	return strings.Join(out, " OR ")
}
