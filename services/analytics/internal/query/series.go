package query

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Bucket is one bucket of a time series.
type Bucket struct {
	T time.Time `json:"t" doc:"When the bucket starts"`
	Counts
}

// Series returns the counts of every bucket, which are those of Buckets or of
// Aligned: in order, the first one beginning at or before the period.
func (c *ClickHouse) Series(ctx context.Context, q *Question, starts []time.Time) ([]Bucket, error) {
	out := make([]Bucket, len(starts))
	bounds := make([]uint32, len(starts))
	at := make(map[uint32]int, len(starts))
	for n, t := range starts {
		out[n].T = t.UTC()
		bounds[n] = uint32(t.Unix())
		at[bounds[n]] = n
	}
	if len(out) == 0 {
		return out, nil
	}
	if err := c.know(ctx, q, ""); err != nil {
		return nil, err
	}
	s := &sql{}
	s.bind("bounds", bounds)
	q.writeCounts(s, "", []key{bucketKey(grouped)}, bounds)
	err := c.each(ctx, s, func(rows driver.Rows) error {
		var bound uint32
		var counts Counts
		if err := rows.Scan(&bound, &counts.Clicks, &counts.UniqueVisitors, &counts.BotClicks); err != nil {
			return err
		}
		n, ok := at[bound]
		if !ok {
			return fmt.Errorf("the answer has a bucket at %d, which was not asked for", bound)
		}
		out[n].Counts = counts
		return nil
	})
	return out, err
}

// bucketKey is the bound at or before a click. The buckets are cut by Go's time zones
// alone: ClickHouse, which has a zone table of its own, only looks up between which
// bounds a click lies.
func bucketKey(name string) key {
	down := func(what string) string { return "roundDown(toUInt32(" + what + "), {bounds:Array(UInt32)})" }
	return key{name: name, day: down("toUInt32(toDate(hour)) * 86400"), hour: down("toUnixTimestamp(hour)"), raw: down("toUnixTimestamp(ts)"), settled: down("at")}
}

// Aligned are the buckets of the period before, one for each of the period's: each
// begins as long before its counterpart as the periods are apart, by the clock on the
// wall when the period was given in days. Where clocks change in one of the two, a
// bucket may be longer or shorter than its counterpart, or empty; none is left out and
// nothing is counted twice.
func Aligned(p Period, starts []time.Time) (Period, []time.Time) {
	before := p.Previous()
	out := make([]time.Time, len(starts))
	for i, t := range starts {
		if p.Days > 0 {
			out[i] = daysEarlier(t.In(p.Zone), p.Days)
		} else {
			out[i] = t.Add(p.From.Sub(p.To))
		}
		// The first bucket may begin before the period, and no other.
		if i > 0 && out[i].Before(before.From) {
			out[i] = before.From
		}
		if i > 0 && out[i].Before(out[i-1]) {
			out[i] = out[i-1]
		}
	}
	return before, out
}

func daysEarlier(t time.Time, days int) time.Time {
	date := DateOf(t).Add(-days)
	if t.Equal(DateOf(t).Start(t.Location())) {
		return date.Start(t.Location()) // also where the day does not begin at midnight
	}
	return time.Date(date.Year, date.Month, date.Day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}
