package event

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/linkoption"
)

// LinkData is a link as the API shows it; a test holds the names of its members against the
// API's document. Of a password it says whether there is one, and nothing else.
type LinkData struct {
	ID           uuid.UUID  `json:"id"`
	ShortURL     string     `json:"short_url" format:"uri"`
	Domain       string     `json:"domain"`
	Slug         string     `json:"slug"`
	Destination  string     `json:"destination"`
	Title        string     `json:"title"`
	Tags         []string   `json:"tags" nullable:"false"`
	Notes        string     `json:"notes"`
	StatusCode   int        `json:"status_code"`
	StartsAt     *time.Time `json:"starts_at" nullable:"true"`
	ExpiresAt    *time.Time `json:"expires_at" nullable:"true"`
	FallbackURL  *string    `json:"fallback_url" nullable:"true"`
	Archived     bool       `json:"archived"`
	ForwardQuery string     `json:"forward_query" enum:"off,add,visitor_wins,owner_wins"`
	Options
	Version   uint64    `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// LinkOf is the link that a change describes.
func LinkOf(c *eventspb.LinkChanged, urls address.URLs) LinkData {
	at := c.GetAddress()
	slug := at.GetSlug()
	if slug == "" {
		slug = at.GetSlugKey()
	}
	l := LinkData{
		ID:           uuid.UUID(c.GetLinkId()),
		ShortURL:     urls.Link(at.GetHost(), slug),
		Domain:       at.GetHost(),
		Slug:         slug,
		Destination:  c.GetDestination(),
		Title:        c.GetTitle(),
		Tags:         append([]string{}, c.GetTags()...),
		Notes:        c.GetNotes(),
		StatusCode:   int(c.GetStatusCode()),
		StartsAt:     moment(c.GetStartsAt()),
		ExpiresAt:    moment(c.GetExpiresAt()),
		Archived:     c.GetArchived(),
		ForwardQuery: forwardQuery(c.GetForwardQuery()),
		Options:      optionsOf(c),
		Version:      c.GetVersion(),
		CreatedAt:    c.GetCreatedAt().AsTime(),
		UpdatedAt:    c.GetUpdatedAt().AsTime(),
	}
	if fallback := c.GetFallbackUrl(); fallback != "" {
		l.FallbackURL = &fallback
	}
	return l
}

// Options are what a link asks of the edge.
type Options struct {
	Disabled       bool                 `json:"disabled"`
	MaxClicks      *uint64              `json:"max_clicks" nullable:"true"`
	HasPassword    bool                 `json:"has_password"`
	ForwardPath    bool                 `json:"forward_path"`
	UTM            *linkoption.UTM      `json:"utm"`
	Rules          []linkoption.Rule    `json:"rules" nullable:"false"`
	Variants       []linkoption.Variant `json:"variants" nullable:"false"`
	VariantsEndAt  *time.Time           `json:"variants_end_at" nullable:"true"`
	VariantsWinner *int                 `json:"variants_winner" nullable:"true"`
	Preview        *linkoption.Preview  `json:"preview"`
}

func optionsOf(c *eventspb.LinkChanged) Options {
	split := linkoption.SplitOf(c.GetSplit())
	o := Options{
		Disabled: c.GetDisabled(), HasPassword: c.GetPassword() != nil, ForwardPath: c.GetForwardPath(),
		Rules: append([]linkoption.Rule{}, linkoption.RulesOf(c.GetRules())...), Variants: append([]linkoption.Variant{}, split.Variants...), VariantsEndAt: split.EndsAt,
	}
	if limit := c.GetMaxClicks(); limit != 0 {
		o.MaxClicks = &limit
	}
	if split.Winner != 0 {
		o.VariantsWinner = &split.Winner
	}
	if utm := linkoption.UTMOf(c.GetUtm()); utm != (linkoption.UTM{}) {
		o.UTM = &utm
	}
	if preview := linkoption.PreviewOf(c.GetPreview()); preview != (linkoption.Preview{}) {
		o.Preview = &preview
	}
	return o
}

func moment(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	return &at
}

func forwardQuery(f eventspb.LinkChanged_ForwardQuery) string {
	switch f {
	case eventspb.LinkChanged_FORWARD_QUERY_ADD:
		return "add"
	case eventspb.LinkChanged_FORWARD_QUERY_VISITOR_WINS:
		return "visitor_wins"
	case eventspb.LinkChanged_FORWARD_QUERY_OWNER_WINS:
		return "owner_wins"
	case eventspb.LinkChanged_FORWARD_QUERY_UNSPECIFIED:
	}
	return "off"
}
