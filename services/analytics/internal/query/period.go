package query

import "time"

// Period is the time that is asked about: From inclusive, To exclusive.
type Period struct {
	From, To time.Time
	// Zone is where days and hours are cut.
	Zone *time.Location
	// Days is how many whole days of the zone the period has, when it was given in
	// days, else 0.
	Days int
}

// Date is a day of the calendar.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf is the day on which t falls in its location.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// Add is the day so many days later.
func (d Date) Add(days int) Date {
	return DateOf(time.Date(d.Year, d.Month, d.Day+days, 12, 0, 0, 0, time.UTC))
}

// Start is the first instant of the day in the zone.
func (d Date) Start(zone *time.Location) time.Time { return startOfDay(d.Year, d.Month, d.Day, zone) }

// Days is the period from the first day to the last, both included.
func Days(first, last Date, zone *time.Location) Period {
	n := 1
	for d := first; d != last && n < maxDays; d = d.Add(1) {
		n++
	}
	return Period{From: first.Start(zone), To: last.Add(1).Start(zone), Zone: zone, Days: n}
}

// maxDays ends the count for a last day before the first one, which the caller
// finds by From and To: more days than any period that is accepted has.
const maxDays = 100_000

// Previous is the period of the same length that ends where this one begins: the
// same number of days when it was given in days, whatever their length, else the
// same time.
func (p Period) Previous() Period {
	if p.Days > 0 {
		first := DateOf(p.From.In(p.Zone)).Add(-p.Days)
		return Period{From: first.Start(p.Zone), To: p.From, Zone: p.Zone, Days: p.Days}
	}
	return Period{From: p.From.Add(-p.To.Sub(p.From)), To: p.From, Zone: p.Zone}
}
