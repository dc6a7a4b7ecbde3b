package api

import (
	"time"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// LinkFields are what a caller may say about a link. It is exported because huma sees
// exported embedded structs only.
type LinkFields struct {
	Domain       field[string]    `json:"domain,omitzero" doc:"Host of the short link; the installation's default domain when left out" example:"go.example.com"`
	Slug         field[string]    `json:"slug,omitzero" doc:"1 to 128 characters: letters, digits, - _ . ~, single slashes between segments, non-ASCII letters and emoji. Seven random characters when left out or null." example:"spring/sale"`
	Title        field[string]    `json:"title,omitzero" doc:"At most 500 characters" example:"Spring sale"`
	Tags         field[[]string]  `json:"tags,omitzero" example:"[\"spring\",\"mail\"]" doc:"At most 20 of at most 64 characters; trimmed, repeated ones are dropped"`
	Notes        field[string]    `json:"notes,omitzero" example:"Printed on the flyer" doc:"At most 5,000 characters"`
	StatusCode   field[int]       `json:"status_code,omitzero" enum:"301,302,307,308" doc:"Status of the redirect; 302 when left out" example:"302"`
	StartsAt     field[time.Time] `json:"starts_at,omitzero" example:"2026-12-01T08:00:00Z" doc:"The link answers from this moment on"`
	ExpiresAt    field[time.Time] `json:"expires_at,omitzero" example:"2027-01-01T00:00:00Z" doc:"The link stops answering at this moment"`
	FallbackURL  field[string]    `json:"fallback_url,omitzero" doc:"Where the link leads instead of a 410: expired, used up or disabled" example:"https://example.com/over"`
	Archived     field[bool]      `json:"archived,omitzero" doc:"An archived link keeps redirecting"`
	ForwardQuery field[string]    `json:"forward_query,omitzero" enum:"off,add,visitor_wins,owner_wins" example:"add" doc:"What becomes of the query that a visitor brings along: off drops it, add puts it behind the destination's own, visitor_wins and owner_wins say who wins where both have a parameter of the same name"`
	OptionFields
}

type newLinkBody struct {
	Destination string `json:"destination" doc:"Absolute http or https URL of at most 8,000 bytes" example:"https://example.com/landing?utm_source=mail"`
	LinkFields
	FindOrCreate field[bool] `json:"find_or_create,omitzero" doc:"Answer with an existing link that has the destination and all given options, instead of a new one"`
}

type editLinkBody struct {
	Destination field[string] `json:"destination,omitzero" doc:"Absolute http or https URL of at most 8,000 bytes" example:"https://example.com/landing"`
	LinkFields
}

// forwarding is an option in the domain's words. Null means off.
func forwarding(f field[string]) link.Optional[link.ForwardQuery] {
	if f.Sent && f.Null {
		return link.Some(link.ForwardOff)
	}
	return link.Optional[link.ForwardQuery]{Set: f.Sent, Value: link.ForwardQuery(f.Value)}
}

// change turns the body of a POST into the domain's words.
func (b *newLinkBody) change() link.Change {
	c := link.Change{
		Destination: link.Some(b.Destination),
		Domain:      b.Domain.given(),
		Slug:        b.Slug.given(),
		Title:       b.Title.given(),
		Notes:       b.Notes.given(),
		Tags:        b.Tags.given(),
		StatusCode:  b.StatusCode.given(),
		StartsAt:    b.StartsAt.sent().pointer(),
		ExpiresAt:   b.ExpiresAt.sent().pointer(),
		FallbackURL: b.FallbackURL.given(),
		Archived:    b.Archived.given(),

		ForwardQuery: forwarding(b.ForwardQuery),
	}
	options := b.given()
	options.writeTo(&c)
	return c
}

// change turns a merge patch into the domain's words. Null clears a field; a link
// cannot be without destination, domain and slug.
func (b *editLinkBody) change() (link.Change, link.FieldErrors) {
	var wrong link.FieldErrors
	for _, f := range []struct {
		name string
		null bool
	}{{"destination", b.Destination.Null}, {"domain", b.Domain.Null}, {"slug", b.Slug.Null}} {
		if f.null {
			wrong.Add(f.name, link.CodeRequired, "a link cannot be without it: leave it out to keep it")
		}
	}
	c := link.Change{
		Destination: b.Destination.given(),
		Domain:      b.Domain.given(),
		Slug:        b.Slug.given(),
		Title:       b.Title.edit(),
		Notes:       b.Notes.edit(),
		Tags:        b.Tags.edit(),
		StatusCode:  b.StatusCode.edit(),
		StartsAt:    b.StartsAt.pointer(),
		ExpiresAt:   b.ExpiresAt.pointer(),
		FallbackURL: b.FallbackURL.edit(),
		Archived:    b.Archived.edit(),

		ForwardQuery: forwarding(b.ForwardQuery),
	}
	b.writeTo(&c)
	return c, wrong
}

// linkView is a link as callers see it. Options that are off are there with the value
// that means so.
type linkView struct {
	ID           string     `json:"id" format:"uuid" example:"01a22c60-f107-73b4-a642-cb8fa6799a62"`
	ShortURL     string     `json:"short_url" format:"uri" example:"https://go.example.com/spring/sale"`
	Domain       string     `json:"domain" example:"go.example.com"`
	Slug         string     `json:"slug" example:"spring/sale"`
	Destination  string     `json:"destination" example:"https://example.com/landing"`
	Title        string     `json:"title" example:"Spring sale"`
	Tags         []string   `json:"tags" nullable:"false" example:"[\"spring\",\"mail\"]"`
	Notes        string     `json:"notes" example:"Printed on the flyer"`
	StatusCode   int        `json:"status_code" enum:"301,302,307,308" example:"302"`
	StartsAt     *time.Time `json:"starts_at" nullable:"true" example:"2026-12-01T08:00:00Z"`
	ExpiresAt    *time.Time `json:"expires_at" nullable:"true" example:"2027-01-01T00:00:00Z"`
	FallbackURL  *string    `json:"fallback_url" nullable:"true" example:"https://example.com/over"`
	Archived     bool       `json:"archived" doc:"An archived link keeps redirecting"`
	ForwardQuery string     `json:"forward_query" enum:"off,add,visitor_wins,owner_wins"`
	OptionsView
	Version   uint64    `json:"version" minimum:"1" doc:"Counts the link's changes; also its ETag" example:"1"`
	CreatedAt time.Time `json:"created_at" example:"2026-11-30T12:00:00Z"`
	UpdatedAt time.Time `json:"updated_at" example:"2026-11-30T12:00:00Z"`
}

func (a *api) view(l *link.Link) linkView {
	v := linkView{
		ID:           l.ID.String(),
		ShortURL:     a.shortURLs.Link(l.Domain.Host, l.Slug),
		Domain:       l.Domain.Host,
		Slug:         l.Slug,
		Destination:  l.Destination,
		Title:        l.Title,
		Tags:         l.Tags,
		Notes:        l.Notes,
		StatusCode:   l.StatusCode,
		StartsAt:     l.StartsAt,
		ExpiresAt:    l.ExpiresAt,
		Archived:     l.Archived,
		ForwardQuery: string(l.ForwardQuery),
		OptionsView:  viewOptions(l),
		Version:      l.Version,
		CreatedAt:    l.CreatedAt,
		UpdatedAt:    l.UpdatedAt,
	}
	if l.FallbackURL != "" {
		v.FallbackURL = &l.FallbackURL
	}
	return v
}
