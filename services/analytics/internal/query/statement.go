package query

import "strings"

// key is a column that is grouped by: what it is in a rollup's days (where there is
// toDate(hour) and no hour), in its hours, in the table of clicks, and in settled days
// (where at is the second in which a day, or a part of it, begins).
type key struct{ name, day, hour, raw, settled string }

// grouped is the only key of a time series or a breakdown.
const grouped = "grouped"

// names lists the keys for SELECT or GROUP BY, with a comma behind each.
func names(keys []key) string {
	var out strings.Builder
	for _, k := range keys {
		out.WriteString(k.name + ", ")
	}
	return out.String()
}

// expressions lists what the keys are, with their names.
func expressions(keys []key, of func(key) string) string {
	var out strings.Builder
	for _, k := range keys {
		out.WriteString(of(k) + " AS " + k.name + ", ")
	}
	return out.String()
}

func (k key) ofDay() string  { return k.day }
func (k key) ofHour() string { return k.hour }
func (k key) ofRaw() string  { return k.raw }

// writeCounts writes the statement that selects the keys and the three counts
// counted_clicks, counted_visitors and counted_bots, up to and with its GROUP BY.
func (q *Question) writeCounts(s *sql, by Dimension, keys []key, bounds []uint32) {
	if q.writeSettled(s, by, keys, bounds) {
		return
	}
	if r := q.rollup(by); r != nil && !q.exact && !q.retired(r, q.Period.From.Unix()/secondsOfDay) {
		if c, ok := cutsOf(q.Period, bounds); ok {
			w := &rollupWriter{q: q, s: s, r: r, by: by, keys: keys, cuts: c}
			w.write()
			return
		}
	}
	counted := q.Bots.counted()
	s.write("SELECT ", expressions(keys, key.ofRaw), "countIf(", counted, ") AS counted_clicks, uniqCombinedIf(17)(visitor, ", counted,
		") AS counted_visitors, countIf(bot) AS counted_bots FROM ", joined("clicks", by))
	q.where(s)
	s.groupBy(names(keys), "")
}

// groupBy writes the GROUP BY of keys with a comma behind each, and one more.
func (s *sql) groupBy(keys, more string) {
	if keys == "" && more == "" {
		return
	}
	s.write(" GROUP BY ")
	if more == "" {
		s.write(keys[:len(keys)-len(", ")])
		return
	}
	s.write(keys, more)
}

// rollupWriter writes a statement over a rollup. Its parts are: whole days of UTC,
// from their hours; days that the period or a bucket cuts, by the
// hour; hours that are cut, click by click. No visitor is recognised from one day to the
// next, so visitors are counted for each day and added.
type rollupWriter struct {
	q    *Question
	s    *sql
	r    *rollup
	by   Dimension
	keys []key
	cuts cuts
	// only, when it is not nil, are the whole days that are asked for.
	only []uint32
}

func (w *rollupWriter) write() {
	s := w.s
	s.bind("workspace", w.q.Workspace.String())
	w.q.writeSums(s, w.keys)
	// The kinds are people, bots, and everybody: a visitor may be both, when a browser
	// fetches in advance, and counts once where both count.
	kinds := []string{"toUInt8(bot)"}
	if w.q.Bots == IncludeBots {
		kinds = []string{"toUInt8(2)", "toUInt8(1)"}
	}
	first := true
	for _, kind := range kinds {
		for _, part := range w.parts() {
			if !first {
				s.write(" UNION ALL ")
			}
			first = false
			part(kind)
		}
	}
	s.write(")")
	s.groupBy(names(w.keys), "")
}

// writeSums writes the beginning of a statement, up to the parts.
func (q *Question) writeSums(s *sql, keys []key) {
	people, bots := "kind = 0", "kind = 1"
	counted := map[Bots]string{ExcludeBots: people, OnlyBots: bots, IncludeBots: "kind = 2"}[q.Bots]
	s.write("SELECT ", names(keys), "sumIf(n, ", counted, ") AS counted_clicks, sumIf(u, ", counted, ") AS counted_visitors, sumIf(n, ", bots, ") AS counted_bots FROM (")
}

func (w *rollupWriter) parts() []func(kind string) {
	var out []func(string)
	if w.cuts.hasWhole {
		out = append(out, w.days)
	}
	if len(w.cuts.days) > 0 {
		out = append(out, w.hours)
	}
	return out
}

// kindOf says which condition keeps the rows of a kind, and what tells kinds apart that come together.
func kindOf(kind string) (condition, group string) {
	switch kind {
	case "toUInt8(bot)":
		return "1", ", bot"
	case "toUInt8(1)":
		return "bot", ""
	default:
		return "1", ""
	}
}

// days selects whole days.
func (w *rollupWriter) days(kind string) {
	condition, group := kindOf(kind)
	w.s.write("SELECT ", expressions(w.keys, key.ofDay), kind, " AS kind, sum(clicks) AS n, uniqCombinedMerge(", w.r.bits, ")(visitors) AS u FROM ", joined(w.r.table, w.by))
	w.whereDays(condition)
	w.s.groupBy(names(w.keys), "toDate(hour)"+group)
}

// hours selects the days that are cut.
func (w *rollupWriter) hours(kind string) {
	condition, group := kindOf(kind)
	s := w.s
	s.write("SELECT ", names(w.keys), kind, " AS kind, sum(clicks_of_hour) AS n, uniqCombinedMerge(", w.r.bits, ")(visitors_of_hour) AS u FROM (SELECT ",
		expressions(w.keys, key.ofHour), "toDate(hour) AS day, bot, clicks AS clicks_of_hour, visitors AS visitors_of_hour FROM ", joined(w.r.table, w.by))
	w.whereHours(condition)
	if len(w.cuts.hours) > 0 {
		s.write(" UNION ALL SELECT ", expressions(w.keys, key.ofRaw), "toDate(ts, 'UTC') AS day, bot, count() AS clicks_of_hour, uniqCombinedState(", w.r.bits, ")(visitor) AS visitors_of_hour FROM ", joined("clicks", w.by))
		w.whereRaw(condition)
		s.groupBy(names(w.keys), "day, bot")
	}
	s.write(")")
	s.groupBy(names(w.keys), "day"+group)
}

// whereDays keeps the whole days.
func (w *rollupWriter) whereDays(condition string) {
	s := w.s
	s.bind("first_day", uint32(w.cuts.firstDay))
	s.bind("end_day", uint32(w.cuts.endDay))
	s.write(" WHERE workspace_id = {workspace:UUID} AND ", condition,
		" AND toDate(hour) >= toDate({first_day:UInt32}) AND toDate(hour) < toDate({end_day:UInt32})")
	w.where()
	switch {
	case w.only != nil:
		s.bind("whole_days", w.only)
		s.write(" AND toUInt32(toDate(hour)) IN {whole_days:Array(UInt32)}")
	case len(w.cuts.days) > 0:
		s.bind("cut_days", w.cuts.days)
		s.write(" AND toUInt32(toDate(hour)) NOT IN {cut_days:Array(UInt32)}")
	}
}

// whereHours keeps the whole hours of days that are cut.
func (w *rollupWriter) whereHours(condition string) {
	s := w.s
	from, to := w.q.Period.From.Unix(), w.q.Period.To.Unix()
	s.bind("first_hour", uint32(from-from%hour))
	s.bind("end_hour", uint32(to-to%hour)) // the last one is cut unless to is whole
	s.bind("cut_days", w.cuts.days)
	s.write(" WHERE workspace_id = {workspace:UUID} AND ", condition,
		" AND hour >= toDateTime({first_hour:UInt32}, 'UTC') AND hour < toDateTime({end_hour:UInt32}, 'UTC') AND toUInt32(toDate(hour)) IN {cut_days:Array(UInt32)}")
	w.where()
	if len(w.cuts.hours) > 0 {
		s.bind("cut_hours", w.cuts.hours)
		s.write(" AND toUnixTimestamp(hour) NOT IN {cut_hours:Array(UInt32)}")
	}
}

// whereRaw keeps the clicks of hours that are cut.
func (w *rollupWriter) whereRaw(condition string) {
	w.q.where(w.s)
	w.s.bind("cut_hours", w.cuts.hours)
	w.s.write(" AND ", condition, " AND toUnixTimestamp(toStartOfHour(toDateTime(ts, 'UTC'))) IN {cut_hours:Array(UInt32)}")
}

func (w *rollupWriter) where() {
	for _, condition := range w.r.where {
		w.s.write(" AND ", condition(w.s))
	}
}

// writeClicks writes the statement that selects the keys and counted_clicks alone, up to
// and with its GROUP BY. It is what an order is found by: states are not read.
func (q *Question) writeClicks(s *sql, by Dimension, k key) {
	r := q.rollup(by)
	c, ok := cutsOf(q.Period, nil)
	if r == nil || q.exact || !ok || q.retired(r, q.Period.From.Unix()/secondsOfDay) {
		s.write("SELECT ", expressions([]key{k}, key.ofRaw), "countIf(", q.Bots.counted(), ") AS counted_clicks FROM ", joined("clicks", by))
		q.where(s)
		s.groupBy(k.name+", ", "")
		return
	}
	w := &rollupWriter{q: q, s: s, r: r, by: by, keys: []key{k}, cuts: c}
	s.bind("workspace", q.Workspace.String())
	s.write("SELECT ", k.name, ", sum(n) AS counted_clicks FROM (")
	var parts []func()
	if len(c.months) > 0 {
		parts = append(parts, w.monthClicks)
	}
	if c.hasWhole {
		parts = append(parts, w.dayClicks)
	}
	if len(c.days) > 0 {
		parts = append(parts, w.hourClicks)
	}
	if len(c.hours) > 0 {
		parts = append(parts, w.rawClicks)
	}
	for i, part := range parts {
		if i > 0 {
			s.write(" UNION ALL ")
		}
		part()
	}
	s.write(")")
	s.groupBy(k.name+", ", "")
}

func (w *rollupWriter) monthClicks() {
	w.s.bind("months", w.cuts.months)
	w.s.write("SELECT ", expressions(w.keys, key.ofDay), "sum(clicks) AS n FROM ", joined(w.r.table, w.by), " WHERE workspace_id = {workspace:UUID} AND ", w.q.Bots.counted(),
		" AND toYYYYMM(toStartOfMonth(hour)) IN {months:Array(UInt32)}")
	w.where()
	w.s.groupBy(names(w.keys), "")
}

func (w *rollupWriter) dayClicks() {
	w.s.write("SELECT ", expressions(w.keys, key.ofDay), "sum(clicks) AS n FROM ", joined(w.r.table, w.by))
	w.whereDays(w.q.Bots.counted())
	if len(w.cuts.months) > 0 {
		w.s.write(" AND toYYYYMM(toDate(hour)) NOT IN {months:Array(UInt32)}")
	}
	w.s.groupBy(names(w.keys), "")
}

func (w *rollupWriter) hourClicks() {
	w.s.write("SELECT ", expressions(w.keys, key.ofHour), "sum(clicks) AS n FROM ", joined(w.r.table, w.by))
	w.whereHours(w.q.Bots.counted())
	w.s.groupBy(names(w.keys), "")
}

func (w *rollupWriter) rawClicks() {
	w.s.write("SELECT ", expressions(w.keys, key.ofRaw), "count() AS n FROM ", joined("clicks", w.by))
	w.whereRaw(w.q.Bots.counted())
	w.s.groupBy(names(w.keys), "")
}
