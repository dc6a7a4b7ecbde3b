package query

import (
	"errors"
	"time"
)

// Interval is the width of a time series' buckets, by the clock on the wall of
// the asked zone.
type Interval string

// The closed list of intervals. A week begins on Monday.
const (
	Minute Interval = "minute"
	Hour   Interval = "hour"
	Day    Interval = "day"
	Week   Interval = "week"
	Month  Interval = "month"
)

// MaxBuckets bounds a time series: three and a half days of minutes, half a year
// of hours. No chart shows more.
const MaxBuckets = 5000

// ErrTooManyBuckets says that the period holds more than MaxBuckets intervals.
var ErrTooManyBuckets = errors.New("too many buckets")

// Buckets returns the start of every bucket that the period touches, in order. The
// first one starts at or before the period does. Where clocks are put forward or
// back a day has 23 or 25 hours, and an hour (where they move by 30 minutes) has
// 30 minutes: a bucket never mixes two readings of the clock, and no two buckets
// overlap.
func Buckets(p Period, i Interval) ([]time.Time, error) {
	var out []time.Time
	for t := i.floor(p.From.In(p.Zone)); t.Before(p.To); t = i.next(t) {
		if len(out) == MaxBuckets {
			return nil, ErrTooManyBuckets
		}
		out = append(out, t)
	}
	return out, nil
}

// floor is the start of the bucket that t is in.
func (i Interval) floor(t time.Time) time.Time {
	switch i {
	case Minute:
		return floorClock(t, time.Minute)
	case Hour:
		return floorClock(t, time.Hour)
	case Day:
		return startOfDay(t.Year(), t.Month(), t.Day(), t.Location())
	case Week:
		sinceMonday := (int(t.Weekday()) + 6) % 7
		return startOfDay(t.Year(), t.Month(), t.Day()-sinceMonday, t.Location())
	case Month:
		return startOfDay(t.Year(), t.Month(), 1, t.Location())
	default:
		panic("unknown interval " + string(i))
	}
}

// next is the start of the bucket after the one that starts at t.
func (i Interval) next(t time.Time) time.Time {
	switch i {
	case Minute:
		return nextClock(t, time.Minute)
	case Hour:
		return nextClock(t, time.Hour)
	case Day:
		return laterDay(t, 0, 1)
	case Week:
		return laterDay(t, 0, 7)
	case Month:
		return laterDay(t, 1, 0)
	default:
		panic("unknown interval " + string(i))
	}
}

// laterDay is the start of the day that is so many months and days later, or of the
// first one after it that exists: Samoa once left a day out.
func laterDay(t time.Time, months, days int) time.Time {
	for extra := 0; ; extra++ {
		next := startOfDay(t.Year(), t.Month()+time.Month(months), t.Day()+days+extra, t.Location())
		if next.After(t) {
			return next
		}
	}
}

// floorClock cuts the reading of the clock to whole units, not going back over a
// change of the clock.
func floorClock(t time.Time, unit time.Duration) time.Time {
	_, offset := t.Zone()
	start := t.Add(-sinceUnit(t, offset, unit))
	if changed, _ := t.ZoneBounds(); !changed.IsZero() && changed.After(start) {
		return changed
	}
	return start
}

func nextClock(t time.Time, unit time.Duration) time.Time {
	_, offset := t.Zone()
	next := t.Add(unit - sinceUnit(t, offset, unit))
	if _, change := t.ZoneBounds(); !change.IsZero() && change.Before(next) {
		return change
	}
	return next
}

func sinceUnit(t time.Time, offset int, unit time.Duration) time.Duration {
	local := t.Unix() + int64(offset)
	seconds := int64(unit / time.Second)
	since := (local%seconds + seconds) % seconds
	return time.Duration(since)*time.Second + time.Duration(t.Nanosecond())
}

// startOfDay is the first instant of a day. That is not always midnight: where
// clocks are put forward at midnight the day begins at one, and where they are put
// back over midnight it occurs twice.
func startOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, zone)
	wanted := time.Date(year, month, day, 12, 0, 0, 0, time.UTC) // normalises day 32 and the like
	if dayNumber(midnight) < dayNumber(wanted) {
		// Midnight does not exist and the library chose the reading before the change.
		_, changed := midnight.ZoneBounds()
		return changed
	}
	changed, _ := midnight.ZoneBounds()
	if changed.IsZero() {
		return midnight
	}
	_, before := changed.Add(-time.Nanosecond).Zone()
	first := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Add(-time.Duration(before) * time.Second).In(zone)
	if first.Before(changed) && dayNumber(first) == dayNumber(wanted) {
		return first // the same midnight, before the clock was put back over it
	}
	return midnight
}

// dayNumber orders the days that a clock shows.
func dayNumber(t time.Time) int {
	year, month, day := t.Date()
	return (year*100+int(month))*100 + day
}
