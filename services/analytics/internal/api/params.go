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
	// maxValue bounds the value of a filter, in bytes: no stored one is longer.
	maxValue = 2048
	// maxValues bounds the values of one filter: a page of links.
	maxValues = 100
	// not is put before a filter's name to turn it round.
	not = "not_"
)

// FilterParams say which clicks are asked about. The filters themselves are read from
// the raw query, where one that is given and empty (the unknown value) can be told
// from one that is not given; filterParams is what the OpenAPI document shows of them.
type FilterParams struct {
	Bots string `query:"bots" enum:"exclude,include,only" default:"exclude" doc:"Which clicks count as clicks: those of people, all, or those of bots"`

	raw url.Values
}

// Resolve implements huma.Resolver: it keeps the raw query, and refuses parameters
// that the operation does not have.
func (f *FilterParams) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	f.raw = u.Query()
	known := map[string]bool{}
	for _, p := range ctx.Operation().Parameters {
		known[p.Name] = true
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(f.raw)) {
		if !known[name] {
			errs = append(errs, &huma.ErrorDetail{Location: "query." + name, Message: "unknown query parameter"})
		}
	}
	return errs
}

// filterParams are the filters as parameters of an operation: each dimension by its
// name and, to leave its values out, by its name with not_ before it.
func filterParams(dimensions ...query.Dimension) []*huma.Param {
	explode := true
	var out []*huma.Param
	add := func(name, doc string, example any) {
		limit := maxValues
		out = append(out, &huma.Param{
			Name: name, In: "query", Explode: &explode, Style: "form", Description: doc,
			Schema: &huma.Schema{Type: huma.TypeArray, MaxItems: &limit, Items: &huma.Schema{Type: huma.TypeString}}, Example: example,
		})
	}
	for _, d := range dimensions {
		doc, example := describe(d)
		add(parameterName(d), "Only clicks of "+doc+". Given more than once: of one of these; an empty value is the unknown one", example)
		add(not+parameterName(d), "Without clicks of "+doc, nil)
		if other := alias(d); other != "" {
			add(other, "The same as "+parameterName(d), nil)
		}
	}
	return out
}

// parameterName is the dimension's name as a filter.
func parameterName(d query.Dimension) string {
	if d == query.Link {
		return "link_id"
	}
	return string(d)
}

// describe says what the values of a dimension are.
func describe(d query.Dimension) (doc string, example any) {
	one := func(v string) any { return []string{v} }
	switch d {
	case query.Link:
		return "this link (an id)", one("019ad4b5-7c1e-7d3a-9c64-0d4f3a2b1c00")
	case query.Domain:
		return "links on this host", one("go.example.com")
	case query.Tag:
		return "links that have this tag now", one("spring")
	case query.Country:
		return "this country (ISO 3166-1, two letters)", one("DE")
	case query.Region:
		return "this region (its name)", nil
	case query.City:
		return "this city (its name)", nil
	case query.Continent:
		return "this continent (AF, AN, AS, EU, NA, OC, SA)", one("EU")
	case query.Device:
		return "this kind of device", one("mobile")
	case query.OS:
		return "this operating system", one("iOS")
	case query.Browser:
		return "this browser", one("Safari")
	case query.Language:
		return "this language (the browser's first)", one("de")
	case query.Referrer:
		return "this referring host; the empty one is direct visits", one("news.example.com")
	case query.ReferrerSource:
		return "this referring site by its name", one("Google")
	case query.ReferrerMedium:
		return "this kind of referring site (search, social, email, paid, ai, referral)", one("search")
	case query.UTMSource, query.UTMMedium, query.UTMCampaign, query.UTMTerm, query.UTMContent:
		return "this " + string(d), nil
	case query.EdgeRegion:
		return "the edges of this region", one("fra")
	case query.Status:
		return "this HTTP status", one("302")
	case query.Variant:
		return "this variant of the link, from 1; 0 is none", nil
	case query.Rule:
		return "this rule of the link, from 1; 0 is none", nil
	case query.Source:
		return "this way to the link (qr for its QR code)", nil
	case query.Bot:
		return "bots (true) or people (false)", nil
	case query.BotKind:
		return "this kind of bot", nil
	default:
		panic("unknown dimension " + string(d))
	}
}

// mistakes collects what is wrong with a request, to report it at once.
type mistakes []httpapi.FieldError

func (m *mistakes) add(name, code, detail string) {
	*m = append(*m, httpapi.FieldError{Field: "query." + name, Code: code, Detail: detail})
}

// err is the problem that names every mistake, or nil.
func (m *mistakes) err() error {
	if len(*m) == 0 {
		return nil
	}
	return httpapi.Invalid(*m...)
}

// question turns the parameters into a question about the workspace, or into a
// problem that names every one that is wrong.
func question(workspace uuid.UUID, p *PeriodParams, f *FilterParams, now time.Time) (*query.Question, error) {
	var wrong mistakes
	q := &query.Question{Workspace: workspace, Bots: query.Bots(f.Bots)}
	if p != nil {
		q.Period = p.period(now, &wrong)
	}
	q.Filters = f.filters(&wrong)
	if err := wrong.err(); err != nil {
		return nil, err
	}
	return q, nil
}

func (f *FilterParams) filters(wrong *mistakes) []query.Filter {
	var out []query.Filter
	for _, d := range query.Dimensions() {
		for _, name := range []string{parameterName(d), not + parameterName(d), alias(d)} {
			if filter, ok := f.filter(d, name, wrong); ok {
				out = append(out, filter)
			}
		}
	}
	return out
}

// alias is another name of a filter: a breakdown is by link.
func alias(d query.Dimension) string {
	if d == query.Link {
		return "link"
	}
	return ""
}

func (f *FilterParams) filter(d query.Dimension, name string, wrong *mistakes) (query.Filter, bool) {
	given, ok := f.raw[name]
	if !ok {
		return query.Filter{}, false
	}
	if len(given) > maxValues {
		wrong.add(name, "too_many", "It takes "+strconv.Itoa(maxValues)+" values at most.")
		return query.Filter{}, false
	}
	filter := query.Filter{Dimension: d, Not: strings.HasPrefix(name, not)}
	for _, v := range given {
		value, complaint := filterValue(d, v)
		if complaint != "" {
			wrong.add(name, "invalid", complaint)
			return query.Filter{}, false
		}
		filter.Values = append(filter.Values, value)
	}
	return filter, true
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
	case query.Variant, query.Rule:
		n, err := strconv.ParseUint(value, 10, 8)
		if err != nil {
			return "", "It is no number from 0 to 255."
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
