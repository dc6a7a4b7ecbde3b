package query

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func day(t *testing.T, zoneName, first, last string) Period {
	t.Helper()
	parse := func(s string) Date {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return DateOf(d)
	}
	return Days(parse(first), parse(last), zone(t, zoneName))
}

func TestDaysHaveTheirHours(t *testing.T) {
	check := func(zoneName, date string, hours int, length time.Duration, starts ...string) {
		t.Helper()
		p := day(t, zoneName, date, date)
		if got := p.To.Sub(p.From); got != length {
			t.Errorf("%s %s lasts %v, want %v", zoneName, date, got, length)
		}
		buckets, err := Buckets(p, Hour)
		if err != nil || len(buckets) != hours {
			t.Errorf("%s %s has %d hours (%v), want %d", zoneName, date, len(buckets), err, hours)
		}
		for i, want := range starts {
			if got := buckets[i].UTC().Format(time.RFC3339); got != want {
				t.Errorf("%s %s: hour %d starts at %s, want %s", zoneName, date, i, got, want)
			}
		}
	}
	const h = time.Hour
	check("UTC", "2026-11-30", 24, 24*h, "2026-11-30T00:00:00Z", "2026-11-30T01:00:00Z")
	check("Europe/Berlin", "2026-11-30", 24, 24*h, "2026-11-29T23:00:00Z")
	check("Europe/Berlin", "2026-03-29", 23, 23*h, "2026-03-28T23:00:00Z", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z")
	check("Europe/Berlin", "2026-10-25", 25, 25*h, "2026-10-24T22:00:00Z", "2026-10-24T23:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z")
	check("Asia/Kolkata", "2026-11-30", 24, 24*h, "2026-11-29T18:30:00Z", "2026-11-29T19:30:00Z")
	check("Asia/Kathmandu", "2026-11-30", 24, 24*h, "2026-11-29T18:15:00Z")
	// Half an hour is put back at 2:00 to 1:30, and forward at 2:00 to 2:30.
	check("Australia/Lord_Howe", "2026-04-05", 25, 24*h+30*time.Minute,
		"2026-04-04T13:00:00Z", "2026-04-04T14:00:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:30:00Z")
	check("Australia/Lord_Howe", "2026-10-04", 24, 23*h+30*time.Minute,
		"2026-10-03T13:30:00Z", "2026-10-03T14:30:00Z", "2026-10-03T15:30:00Z", "2026-10-03T16:00:00Z")
	check("America/Sao_Paulo", "2018-11-04", 23, 23*h, "2018-11-04T03:00:00Z") // midnight does not exist
	check("America/Havana", "2026-11-01", 25, 25*h, "2026-11-01T04:00:00Z")    // midnight is twice
	check("Antarctica/Troll", "2026-03-29", 22, 22*h)
}

func TestBuckets(t *testing.T) {
	check := func(p Period, i Interval, want ...string) {
		t.Helper()
		got, err := Buckets(p, i)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, b := range got {
			text = append(text, b.UTC().Format("2006-01-02T15:04"))
		}
		if !slices.Equal(text, want) {
			t.Errorf("%s buckets from %v are %v, want %v", i, p.From, text, want)
		}
	}
	check(day(t, "Europe/Berlin", "2026-10-24", "2026-10-26"), Day, "2026-10-23T22:00", "2026-10-24T22:00", "2026-10-25T23:00")
	check(day(t, "UTC", "2026-11-25", "2026-12-08"), Week, "2026-11-23T00:00", "2026-11-30T00:00", "2026-12-07T00:00")
	check(day(t, "Asia/Kolkata", "2026-01-31", "2026-03-01"), Month, "2025-12-31T18:30", "2026-01-31T18:30", "2026-02-28T18:30")
	check(day(t, "Pacific/Apia", "2011-12-29", "2011-12-31"), Day, "2011-12-29T10:00", "2011-12-30T10:00") // the 30th was left out
	at := time.Date(2026, 11, 30, 10, 59, 30, 5, time.UTC)
	check(Period{From: at, To: at.Add(time.Minute), Zone: time.UTC}, Minute, "2026-11-30T10:59", "2026-11-30T11:00")
	check(Period{From: at, To: at.Add(time.Minute), Zone: time.UTC}, Hour, "2026-11-30T10:00", "2026-11-30T11:00")
	check(Period{From: at, To: at, Zone: time.UTC}, Hour, "2026-11-30T10:00")

	_, err := Buckets(day(t, "UTC", "2026-01-01", "2026-12-31"), Hour)
	if !errors.Is(err, ErrTooManyBuckets) {
		t.Errorf("a year of hours gives %v", err)
	}
}

// Whatever a zone does to its clock, a bucket begins exactly where a clock on the
// wall shows a new day or hour for the first time.
func TestBucketsAgreeWithTheClockOnTheWall(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "America/Havana", "America/Santiago",
		"America/Asuncion", "Africa/Cairo", "Africa/Casablanca", "Asia/Beirut", "Asia/Gaza", "Asia/Tehran", "Asia/Kolkata",
		"Asia/Kathmandu", "Australia/Lord_Howe", "Australia/Adelaide", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll",
	} {
		z := zone(t, name)
		for _, year := range []int{2012, 2018, 2026} {
			first := Date{year, 1, 1}
			p := Days(first, Date{year, 12, 31}, z)
			var days, hours []time.Time
			lastDay, lastHour, lastOffset := 0, -1, 0
			for at := p.From; at.Before(p.To); at = at.Add(15 * time.Minute) {
				local := at.In(z)
				_, offset := local.Zone()
				if n := dayNumber(local); n > lastDay {
					lastDay = n
					days = append(days, at)
				}
				if h := local.Hour(); h != lastHour || offset != lastOffset {
					hours = append(hours, at)
					lastHour, lastOffset = h, offset
				}
			}
			if got, err := Buckets(p, Day); err != nil || !slices.EqualFunc(got, days, time.Time.Equal) {
				t.Errorf("%s %d: days differ (%v)", name, year, err)
			}
			for start := p.From; start.Before(p.To); start = start.AddDate(0, 0, 100) {
				end := minTime(start.AddDate(0, 0, 100), p.To)
				got, err := Buckets(Period{From: start, To: end, Zone: z}, Hour)
				var want []time.Time
				for _, h := range hours {
					if !h.Before(start) && h.Before(end) {
						want = append(want, h)
					}
				}
				if len(got) > 0 && got[0].Before(start) {
					got = got[1:]
				}
				if err != nil || !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%s %d: hours from %v differ (%v): %d, want %d", name, year, start, err, len(got), len(want))
				}
			}
		}
	}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func TestPreviousPeriod(t *testing.T) {
	check := func(p Period, from, to string) {
		t.Helper()
		got := p.Previous()
		if f, e := got.From.UTC().Format(time.RFC3339), got.To.UTC().Format(time.RFC3339); f != from || e != to {
			t.Errorf("before %v to %v is %s to %s, want %s to %s", p.From, p.To, f, e, from, to)
		}
	}
	check(day(t, "UTC", "2026-11-24", "2026-11-30"), "2026-11-17T00:00:00Z", "2026-11-24T00:00:00Z")
	// The day before the long one has 24 hours, the long one 25.
	check(day(t, "Europe/Berlin", "2026-10-26", "2026-10-26"), "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z")
	at := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)
	check(Period{From: at, To: at.Add(90 * time.Minute), Zone: time.UTC}, "2026-10-24T22:30:00Z", "2026-10-25T00:00:00Z")
}

// The series beside a series has as many buckets, in order, within its own period.
func TestAlignedBuckets(t *testing.T) {
	check := func(p Period, i Interval, want ...string) {
		t.Helper()
		starts, err := Buckets(p, i)
		if err != nil {
			t.Fatal(err)
		}
		before, got := Aligned(p, starts)
		if before != p.Previous() || len(got) != len(starts) {
			t.Errorf("%v: %d buckets for %d, in %v", p, len(got), len(starts), before)
		}
		var text []string
		for n, b := range got {
			text = append(text, b.UTC().Format("01-02T15:04"))
			if n > 0 && (b.Before(got[n-1]) || b.Before(before.From) || b.After(before.To)) {
				t.Errorf("%v: bucket %d starts at %v, the one before at %v", p, n, b, got[n-1])
			}
		}
		if want != nil && !slices.Equal(text, want) {
			t.Errorf("%s buckets before %v are %v, want %v", i, p.From, text, want)
		}
	}
	check(day(t, "UTC", "2026-11-29", "2026-11-30"), Day, "11-27T00:00", "11-28T00:00")
	// Over the change of clocks the days begin by the clock on the wall.
	check(day(t, "Europe/Berlin", "2026-10-25", "2026-10-27"), Day, "10-21T22:00", "10-22T22:00", "10-23T22:00")
	check(day(t, "Europe/Berlin", "2026-10-26", "2026-10-28"), Day, "10-22T22:00", "10-23T22:00", "10-24T22:00")
	check(day(t, "UTC", "2026-11-25", "2026-12-08"), Week, "11-09T00:00", "11-16T00:00", "11-23T00:00")
	check(day(t, "UTC", "2026-11-15", "2026-12-14"), Month, "10-02T00:00", "11-01T00:00")
	// The hour that is twice has one counterpart and an empty one; the one that is left out
	// lends its own to the hour before.
	for _, date := range []string{"2026-10-25", "2026-03-29", "2026-10-26", "2026-03-30"} {
		check(day(t, "Europe/Berlin", date, date), Hour)
		check(day(t, "Australia/Lord_Howe", date, date), Minute)
	}
	at := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	check(Period{From: at, To: at.Add(90 * time.Minute), Zone: time.UTC}, Hour, "11-30T08:30", "11-30T09:30")
	check(Period{From: at, To: at.Add(3 * time.Minute), Zone: time.UTC}, Minute, "11-30T10:27", "11-30T10:28", "11-30T10:29")
}
