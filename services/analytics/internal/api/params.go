package api

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/httpapi"
)

const (
	// defaultDays is the period when none is given: a week, today included.
	defaultDays = 7
	// maxValue bounds the value of a filter, in bytes: no stored one is longer.
	maxValue = 2048
	// The years in which clicks are accepted: the table begins and ends there too.
	earliestYear, latestYear = 2000, 2099
)

// Params is what every call takes. The values are read from the raw query, where
// a filter that is given and empty (the unknown value) can be told from one that
// is not given; the fields are what the OpenAPI document shows.
type Params struct {
	From   string `query:"from" doc:"An instant (RFC 3339), included, or a day (2006-01-02) of tz. Default: the week that ends with to" example:"2026-11-24"`
	To     string `query:"to" doc:"An instant (RFC 3339), not included, or a day (2006-01-02) of tz, included. Default: today" example:"2026-11-30"`
	TZ     string `query:"tz" doc:"IANA time zone in which days and hours are cut. Default: UTC" example:"Europe/Berlin"`
	LinkID string `query:"link_id" doc:"Only clicks of this link" example:"019ad4b5-7c1e-7d3a-9c64-0d4f3a2b1c00"`
	Domain string `query:"domain" doc:"Only clicks of links on this host" example:"go.example.com"`
	Tag    string `query:"tag" doc:"Not supported yet: answered with 422"`
	Bots   string `query:"bots" enum:"exclude,include,only" default:"exclude" doc:"Which clicks count as clicks: those of people, all, or those of bots"`

	Link        string `query:"link" doc:"The same as link_id"`
	Country     string `query:"country" doc:"Only this value; an empty one is the unknown. So with every filter"`
	Region      string `query:"region"`
	City        string `query:"city"`
	Continent   string `query:"continent"`
	Device      string `query:"device" example:"mobile"`
	OS          string `query:"os" example:"iOS"`
	Browser     string `query:"browser" example:"Safari"`
	Language    string `query:"language" example:"de"`
	Referrer    string `query:"referrer" doc:"Host of the referring page; empty for direct visits" example:"news.example.com"`
	UTMSource   string `query:"utm_source"`
	UTMMedium   string `query:"utm_medium"`
	UTMCampaign string `query:"utm_campaign"`
	UTMTerm     string `query:"utm_term"`
	UTMContent  string `query:"utm_content"`
	EdgeRegion  string `query:"edge_region" example:"fra"`
	Status      string `query:"status" example:"302"`
	Bot         string `query:"bot" doc:"true or false"`

	raw url.Values
}

// Resolve implements huma.Resolver: it keeps the raw query.
func (c *Params) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	c.raw = u.Query()
	return nil
}

// filters names the filters and what they filter by.
func filters() map[string]query.Dimension {
	out := map[string]query.Dimension{"link_id": query.Link, "domain": query.Domain}
	for _, d := range dimensions() {
		out[string(d)] = d
	}
	return out
}

// dimensions lists what a breakdown can be by, in the order of the documentation.
func dimensions() []query.Dimension {
	return []query.Dimension{
		query.Link, query.Country, query.Region, query.City, query.Continent, query.Device, query.OS, query.Browser,
		query.Language, query.Referrer, query.UTMSource, query.UTMMedium, query.UTMCampaign, query.UTMTerm,
		query.UTMContent, query.EdgeRegion, query.Status, query.Bot,
	}
}

// mistakes collects what is wrong with a request, to report it at once.
type mistakes []httpapi.FieldError

func (m *mistakes) add(name, code, detail string) {
	*m = append(*m, httpapi.FieldError{Field: "query." + name, Code: code, Detail: detail})
}

// question turns the parameters into a question about the workspace, or into a
// problem that names every one that is wrong.
func (c *Params) question(workspace uuid.UUID, now time.Time) (*query.Question, error) {
	var wrong mistakes
	if c.raw.Has("tag") {
		wrong.add("tag", "not_supported", "Clicks cannot be filtered by tag yet.")
	}
	q := &query.Question{
		Workspace: workspace,
		Bots:      query.Bots(c.Bots),
		Period:    c.period(now, &wrong),
		Filters:   c.filters(&wrong),
	}
	if len(wrong) > 0 {
		return nil, httpapi.Invalid(wrong...)
	}
	return q, nil
}

func (c *Params) filters(wrong *mistakes) []query.Filter {
	known := filters()
	var out []query.Filter
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !c.raw.Has(name) {
			continue
		}
		value, complaint := filterValue(known[name], c.raw.Get(name))
		if complaint != "" {
			wrong.add(name, "invalid", complaint)
			continue
		}
		out = append(out, query.Filter{Dimension: known[name], Value: value})
	}
	return out
}

// filterValue brings a value into the form in which it is compared, or says what
// is wrong with it.
func filterValue(d query.Dimension, value string) (compared, complaint string) {
	if len(value) > maxValue {
		return "", "It is longer than any value."
	}
	switch d {
	case query.Link:
		id, err := uuid.Parse(value)
		if err != nil || len(value) != len(id.String()) {
			return "", "It is no link id (a UUID)."
		}
		return id.String(), ""
	case query.Status:
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n < 100 || n > 999 {
			return "", "It is no HTTP status, for instance 302."
		}
		return strconv.FormatUint(n, 10), ""
	case query.Bot:
		if value != "true" && value != "false" {
			return "", "It must be true or false."
		}
		return value, ""
	case query.Domain:
		return address.Host(value), ""
	default: // compared as it is
		return value, ""
	}
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
func (c *Params) period(now time.Time, wrong *mistakes) query.Period {
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
