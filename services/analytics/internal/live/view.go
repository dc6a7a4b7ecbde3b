package live

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/enrich"
)

// View is what a viewer wants to see: the clicks of a workspace that pass filters.
type View struct {
	Workspace uuid.UUID
	Bots      query.Bots
	Filters   []query.Filter
	// Tagged are the links that each filter by tag means, in the order of Filters.
	Tagged []map[uuid.UUID]bool
}

// view is a View in the form in which rows are compared with it.
type view struct {
	workspace uuid.UUID
	bots      query.Bots
	passes    []func(*enrich.Row) bool
}

func compile(v View) *view {
	out := &view{workspace: v.Workspace, bots: v.Bots}
	tagged := v.Tagged
	for _, f := range v.Filters {
		switch f.Dimension {
		case query.Tag:
			links := tagged[0]
			tagged = tagged[1:]
			out.passes = append(out.passes, func(r *enrich.Row) bool { return links[r.LinkID] != f.Not })
		case query.Link:
			links := map[uuid.UUID]bool{}
			for _, value := range f.Values {
				if id, err := uuid.Parse(value); err == nil {
					links[id] = true
				}
			}
			out.passes = append(out.passes, func(r *enrich.Row) bool { return links[r.LinkID] != f.Not })
		default:
			values := map[string]bool{}
			for _, value := range f.Values {
				values[value] = true
			}
			of := valueOf(f.Dimension)
			out.passes = append(out.passes, func(r *enrich.Row) bool { return values[of(r)] != f.Not })
		}
	}
	return out
}

func (v *view) matches(r *enrich.Row) bool {
	for _, passes := range v.passes {
		if !passes(r) {
			return false
		}
	}
	return true
}

// counts says whether a row that matches is a click that counts.
func (v *view) counts(r *enrich.Row) bool {
	switch v.bots {
	case query.ExcludeBots:
		return !r.Bot
	case query.OnlyBots:
		return r.Bot
	case query.IncludeBots:
		return true
	default:
		panic("unknown choice of bots " + string(v.bots))
	}
}

// valueOf reads a dimension's value as filters write it.
func valueOf(d query.Dimension) func(*enrich.Row) string {
	switch d {
	case query.Domain:
		return func(r *enrich.Row) string { return r.Host }
	case query.Country:
		return func(r *enrich.Row) string { return r.Place.Country }
	case query.Region:
		return func(r *enrich.Row) string { return r.Place.Region }
	case query.City:
		return func(r *enrich.Row) string { return r.Place.City }
	case query.Continent:
		return func(r *enrich.Row) string { return r.Place.Continent }
	case query.Device:
		return func(r *enrich.Row) string { return r.Device }
	case query.OS:
		return func(r *enrich.Row) string { return r.OS }
	case query.Browser:
		return func(r *enrich.Row) string { return r.Browser }
	case query.Language:
		return func(r *enrich.Row) string { return r.Language }
	case query.Referrer:
		return func(r *enrich.Row) string { return r.Referrer }
	case query.ReferrerSource:
		return func(r *enrich.Row) string { return r.ReferrerSource }
	case query.ReferrerMedium:
		return func(r *enrich.Row) string { return r.ReferrerMedium }
	case query.UTMSource:
		return func(r *enrich.Row) string { return r.Campaign.Source }
	case query.UTMMedium:
		return func(r *enrich.Row) string { return r.Campaign.Medium }
	case query.UTMCampaign:
		return func(r *enrich.Row) string { return r.Campaign.Name }
	case query.UTMTerm:
		return func(r *enrich.Row) string { return r.Campaign.Term }
	case query.UTMContent:
		return func(r *enrich.Row) string { return r.Campaign.Content }
	case query.EdgeRegion:
		return func(r *enrich.Row) string { return r.EdgeRegion }
	case query.Status:
		return func(r *enrich.Row) string { return strconv.Itoa(int(r.Status)) }
	case query.Variant:
		return func(r *enrich.Row) string { return strconv.Itoa(int(r.Variant)) }
	case query.Rule:
		return func(r *enrich.Row) string { return strconv.Itoa(int(r.Rule)) }
	case query.Source:
		return func(r *enrich.Row) string { return r.Source }
	case query.Bot:
		return func(r *enrich.Row) string { return strconv.FormatBool(r.Bot) }
	case query.BotKind:
		return func(r *enrich.Row) string { return r.BotKind }
	case query.Link, query.Tag:
		panic(string(d) + " is compared by the link's id")
	default:
		panic("unknown dimension " + string(d))
	}
}
