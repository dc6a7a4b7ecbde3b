package query

import (
	"context"

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

// EachGroup is Breakdown for more values than should be held in memory.
func (c *ClickHouse) EachGroup(ctx context.Context, q *Question, by Dimension, limit int, take func(Group) error) error {
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

// valueKey is the value of a dimension.
func (q *Question) valueKey(by Dimension) key {
	k := key{name: grouped, day: by.text(), hour: by.text(), raw: by.text()}
	if r := q.rollup(by); r != nil {
		k.day, k.hour = r.group, r.group
	}
	return k
}
