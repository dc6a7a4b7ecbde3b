package query

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Totals are the counts since the beginning.
type Totals struct {
	Counts
	FirstClickAt *time.Time `json:"first_click_at" doc:"The hour of UTC in which the first click came that counts; null when there is none"`
	LastClickAt  *time.Time `json:"last_click_at" doc:"When the last click came that counts; null when there is none"`
}

// Always is the time in which clicks are accepted.
func Always() Period {
	return Period{From: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), Zone: time.UTC}
}

// Totals returns the counts of all clicks; the question's period is not looked at.
func (c *ClickHouse) Totals(ctx context.Context, asked *Question) (Totals, error) {
	q := *asked
	q.Period = Always()
	counts, err := c.Summary(ctx, &q)
	out := Totals{Counts: counts}
	if err != nil || counts.Clicks == 0 {
		return out, err
	}
	var first, last time.Time
	s := &sql{}
	q.writeEnds(s)
	err = c.each(ctx, s, func(rows driver.Rows) error { return rows.Scan(&first, &last) })
	if err != nil {
		return out, err
	}
	if first.Unix() > 0 {
		first = first.Truncate(time.Hour).UTC()
		last = last.UTC()
		out.FirstClickAt, out.LastClickAt = &first, &last
	}
	return out, nil
}

// writeEnds selects when the first and the last click came. The values' rollup does not
// know them but for their hour or day: there the clicks of that time are looked at.
func (q *Question) writeEnds(s *sql) {
	s.bind("workspace", q.Workspace.String())
	counted := q.Bots.counted()
	r := q.rollup("")
	switch {
	case r == nil || q.exact:
		s.write("SELECT toDateTime64(min(ts), 3, 'UTC'), max(ts) FROM clicks")
		q.where(s)
		s.write(" AND ", counted)
	case len(q.Filters) == 0: // the rows of the whole workspace
		s.write("SELECT toDateTime64(min(hour), 3, 'UTC'), max(last_click) FROM clicks_by_link WHERE workspace_id = {workspace:UUID} AND link_id = '", noLink, "' AND ", counted)
	case r.table == "clicks_by_link":
		// As the projection by month has it.
		s.write("SELECT toDateTime64(min(hour), 3, 'UTC'), max(last_click) FROM clicks_by_link WHERE workspace_id = {workspace:UUID} AND ", counted)
		for _, condition := range r.where {
			s.write(" AND ", condition(s))
		}
	default:
		from := func(what, table, where string) {
			s.write("SELECT ", what, " FROM ", table, " WHERE workspace_id = {workspace:UUID}", where, " AND ", counted)
			for _, condition := range r.where {
				s.write(" AND ", condition(s))
			}
		}
		// Hours that are not kept any more are of days that are settled.
		s.write("WITH (SELECT min(day) FROM (")
		from("min(day) AS day", settledValues, " AND scope = '' AND name = ''")
		s.write(" HAVING count() > 0 UNION ALL ")
		from("min(toDate(hour)) AS day", valueHours, "")
		s.write(" HAVING count() > 0)) AS first_day, (")
		from("max(hour)", valueHours, "")
		s.write(") AS last_hour SELECT min(first), max(last) FROM (SELECT min(toDateTime64(ts, 3, 'UTC')) AS first, max(ts) AS last FROM clicks")
		q.where(s)
		s.write(" AND ", counted, " AND ts < first_day + 1 HAVING count() > 0 UNION ALL SELECT min(toDateTime64(ts, 3, 'UTC')) AS first, max(ts) AS last FROM clicks")
		q.where(s)
		s.write(" AND ", counted, " AND ts >= last_hour HAVING count() > 0)")
	}
}
