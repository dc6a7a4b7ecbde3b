package query

import (
	"slices"
	"time"
)

// maxCutHours bounds the hours of a question that are looked up click by click; a
// period of days has a handful even where clocks are half an hour off.
const maxCutHours = 100

const (
	hour         = 3600 // seconds
	secondsOfDay = 24 * hour
)

// cuts says which sums of a rollup can be used for a period and its buckets.
type cuts struct {
	firstDay, endDay int64    // the days of UTC that the period has whole, by their number since 1970
	hasWhole         bool     // there are such days which no bucket cuts
	days             []uint32 // the days, by their number, that the period or a bucket cuts
	hours            []uint32 // the hours, by their start, that they cut
	months           []uint32 // the months, as 202611, of which every day is whole

	// at says where a day is cut, in seconds since it began, in order.
	at map[uint32][]int64
	p  Period
}

// cutsOf is false when so many hours are cut that sums do not help.
func cutsOf(p Period, bounds []uint32) (cuts, bool) {
	c := cutsAll(p, bounds)
	return c, len(c.hours) <= maxCutHours
}

// cutsAll says what is cut. Days and hours that nobody asks about may be among it.
func cutsAll(p Period, bounds []uint32) cuts {
	c := cuts{firstDay: ceilDiv(p.From.Unix(), secondsOfDay), endDay: p.To.Unix() / secondsOfDay}
	if p.From.Nanosecond() > 0 && p.From.Unix()%secondsOfDay == 0 {
		c.firstDay++
	}
	c.p, c.at = p, map[uint32][]int64{}
	days, hours := map[uint32]bool{}, map[uint32]bool{}
	add := func(unix int64, whole bool) {
		if unix%secondsOfDay != 0 || !whole {
			day, at := uint32(unix/secondsOfDay), unix%secondsOfDay
			if !whole && at%hour == 0 {
				at++ // within this second, and so within an hour
			}
			days[day] = true
			c.at[day] = append(c.at[day], at)
		}
		if unix%hour != 0 || !whole {
			hours[uint32(unix-unix%hour)] = true
		}
	}
	add(p.From.Unix(), p.From.Nanosecond() == 0)
	add(p.To.Unix(), p.To.Nanosecond() == 0)
	for _, b := range bounds {
		if unix := int64(b); unix > p.From.Unix() && unix < p.To.Unix() {
			add(unix, true)
		}
	}
	for d := range days {
		c.days = append(c.days, d)
	}
	for h := range hours {
		c.hours = append(c.hours, h)
	}
	for d := range c.at {
		slices.Sort(c.at[d])
		c.at[d] = slices.Compact(c.at[d])
	}
	slices.Sort(c.days)
	slices.Sort(c.hours)
	cutWhole := int64(0)
	for _, d := range c.days {
		if int64(d) >= c.firstDay && int64(d) < c.endDay {
			cutWhole++
		}
	}
	c.hasWhole = c.endDay-c.firstDay > cutWhole
	c.months = c.wholeMonths()
	return c
}

// wholeMonths lists the months whose days are all whole.
func (c *cuts) wholeMonths() []uint32 {
	var out []uint32
	first := time.Unix(c.firstDay*secondsOfDay, 0).UTC()
	for m := time.Date(first.Year(), first.Month(), 1, 0, 0, 0, 0, time.UTC); ; m = m.AddDate(0, 1, 0) {
		begin, end := m.Unix()/secondsOfDay, m.AddDate(0, 1, 0).Unix()/secondsOfDay
		if begin >= c.endDay {
			return out
		}
		cut := slices.ContainsFunc(c.days, func(d uint32) bool { return int64(d) >= begin && int64(d) < end })
		if begin >= c.firstDay && end <= c.endDay && !cut {
			out = append(out, uint32(m.Year()*100+int(m.Month())))
		}
	}
}

// hourly says that what the period has of a day is cut into single hours.
func (c *cuts) hourly(day uint32) bool {
	begin := int64(0)
	for _, end := range append(slices.Clone(c.at[day]), secondsOfDay) {
		from := int64(day)*secondsOfDay + begin
		asked := from >= c.p.From.Unix() && from < c.p.To.Unix()
		if begin%hour != 0 || end%hour != 0 || asked && end-begin != hour {
			return false
		}
		begin = end
	}
	return true
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
