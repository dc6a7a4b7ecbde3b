package query

import (
	"context"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Group is one value of a dimension.
type Group struct {
	Value string `json:"value" doc:"The value; empty when it is unknown"`
	Counts
}

// Breakdown returns the values of a dimension with the most clicks first, at most
// limit of them. Values without a click that counts are left out.
func (c *ClickHouse) Breakdown(ctx context.Context, q *Question, by Dimension, limit int) ([]Group, error) {
	out := []Group{}
	err := c.EachGroup(ctx, q, by, limit, func(g Group) error {
		out = append(out, g)
		return nil
	})
	return out, err
}

// maxTop bounds the values whose visitors are asked for by name.
const maxTop = 100

// EachGroup is Breakdown for more values than should be held in memory.
func (c *ClickHouse) EachGroup(ctx context.Context, q *Question, by Dimension, limit int, take func(Group) error) error {
	if err := c.know(ctx, q, by); err != nil {
		return err
	}
	r := q.rollup(by)
	sums := r != nil && !q.exact && !q.retired(r, q.Period.From.Unix()/secondsOfDay)
	if limit <= maxTop && sums && by != Tag && !q.quick(by) {
		top, err := c.top(ctx, q, by, limit)
		if err != nil || len(top) == 0 {
			return err
		}
		// A filter of the same dimension asks the same rollup.
		of := *q
		of.Filters = append(slices.Clone(q.Filters), Filter{Dimension: by, Values: top})
		q = &of
	}
	s := &sql{}
	q.writeCounts(s, by, []key{q.valueKey(by)}, nil)
	s.write(" HAVING counted_clicks > 0 ORDER BY counted_clicks DESC, grouped LIMIT {rows:UInt32}")
	s.bind("rows", limit)
	return c.each(ctx, s, func(rows driver.Rows) error {
		var g Group
		if err := rows.Scan(&g.Value, &g.Clicks, &g.UniqueVisitors, &g.BotClicks); err != nil {
			return err
		}
		return take(g)
	})
}

// maxUnsettled is how many days that are not settled are asked for the visitors of every
// value: fewer than it takes to find out first which values have the most clicks.
const maxUnsettled = 4

// quick says that nearly all days are settled, and of values: of links there are too many.
func (q *Question) quick(by Dimension) bool {
	t := q.settled(by)
	return t != nil && t.table == settledValues && q.unsettled() <= maxUnsettled
}

// top returns the values with the most clicks. Of a dimension with many values most have
// few, and the visitors of those need not be merged.
func (c *ClickHouse) top(ctx context.Context, q *Question, by Dimension, limit int) ([]string, error) {
	s := &sql{}
	q.writeClicks(s, by, q.valueKey(by))
	s.write(" HAVING counted_clicks > 0 ORDER BY counted_clicks DESC, grouped LIMIT {rows:UInt32}")
	s.bind("rows", limit)
	var out []string
	err := c.each(ctx, s, func(rows driver.Rows) error {
		var (
			value  string
			clicks uint64
		)
		if err := rows.Scan(&value, &clicks); err != nil {
			return err
		}
		out = append(out, value)
		return nil
	})
	return out, err
}

// valueKey is the value of a dimension.
func (q *Question) valueKey(by Dimension) key {
	k := key{name: grouped, day: by.text(), hour: by.text(), raw: by.text()}
	if r := q.rollup(by); r != nil {
		k.day, k.hour = r.group, r.group
	}
	if t := q.settled(by); t != nil {
		k.settled = t.group
	}
	return k
}
