package api

import (
	"strings"
	"time"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
)

const (
	// defaultDays is the period when none is given: a week, today included.
	defaultDays = 7
	// The years in which clicks are accepted: the table begins and ends there too.
	earliestYear, latestYear = 2000, 2099
)

// PeriodParams say which time is asked about.
type PeriodParams struct {
	From string `query:"from" doc:"An instant (RFC 3339), included, or a day (2006-01-02) of tz. Default: the week that ends with to" example:"2026-11-24"`
	To   string `query:"to" doc:"An instant (RFC 3339), not included, or a day (2006-01-02) of tz, included. Default: today" example:"2026-11-30"`
	TZ   string `query:"tz" doc:"IANA time zone in which days and hours are cut. Default: UTC" example:"Europe/Berlin"`
}

// moment is one end of a period: an instant or a day.
type moment struct {
	instant time.Time
	date    query.Date
	isDate  bool
}

func parseMoment(name, value string, wrong *mistakes) (moment, bool) {
	if t, err := time.Parse(time.DateOnly, value); err == nil {
		return moment{date: query.DateOf(t), isDate: true}, true
	}
	// A + that was not escaped arrives as a space.
	t, err := time.Parse(time.RFC3339, strings.Replace(value, " ", "+", 1))
	if err != nil {
		wrong.add(name, "invalid", "It is neither an instant (2026-11-30T10:00:00Z) nor a day (2026-11-30).")
		return moment{}, false
	}
	return moment{instant: t}, true
}

// period reads from, to and tz.
func (c *PeriodParams) period(now time.Time, wrong *mistakes) query.Period {
	zone := time.UTC
	if c.TZ != "" {
		var err error
		// "Local" would be the zone of this process.
		if zone, err = time.LoadLocation(c.TZ); err != nil || c.TZ == "Local" {
			wrong.add("tz", "unknown_timezone", "It is no IANA time zone, for instance Europe/Berlin.")
			zone = time.UTC
		}
	}
	to := moment{date: query.DateOf(now.In(zone)), isDate: true}
	ok := true
	if c.To != "" {
		to, ok = parseMoment("to", c.To, wrong)
	}
	from := moment{date: to.date.Add(1 - defaultDays), isDate: true}
	if !to.isDate {
		from = moment{instant: to.instant.In(zone).AddDate(0, 0, -defaultDays)}
	}
	if c.From != "" {
		var fromOK bool
		from, fromOK = parseMoment("from", c.From, wrong)
		ok = ok && fromOK
	}
	if !ok {
		return query.Period{}
	}
	p := between(from, to, zone)
	switch {
	case !p.From.Before(p.To):
		wrong.add("from", "not_before_to", "It must be before to.")
	case p.From.UTC().Year() < earliestYear:
		wrong.add("from", "out_of_range", "It must not be before the year 2000.")
	case p.To.UTC().Add(-1).Year() > latestYear:
		wrong.add("to", "out_of_range", "It must not be after the year 2099.")
	}
	return p
}

func between(from, to moment, zone *time.Location) query.Period {
	if from.isDate && to.isDate {
		return query.Days(from.date, to.date, zone)
	}
	p := query.Period{From: from.instant, To: to.instant, Zone: zone}
	if from.isDate {
		p.From = from.date.Start(zone)
	}
	if to.isDate {
		p.To = to.date.Add(1).Start(zone)
	}
	return p
}
