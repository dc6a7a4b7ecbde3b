package api

import (
	"time"

	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// OptionFields are what a caller may ask of the edge. It is exported because huma sees
// exported embedded structs only.
type OptionFields struct {
	Disabled       field[bool]                 `json:"disabled,omitzero" example:"false" doc:"A disabled link answers as if it had expired"`
	MaxClicks      field[int64]                `json:"max_clicks,omitzero" minimum:"1" maximum:"1000000000000" example:"500" doc:"How many redirects the link gives in all, over all edges; robots, previews and HEAD use none up. Counting begins when a link gets its first limit, and anew when a limit was taken away and another is set; raising or lowering it goes on counting."`
	Password       field[string]               `json:"password,omitzero" minLength:"4" maxLength:"128" example:"open sesame" doc:"What visitors have to type before they are sent on, 4 to 128 characters. It is stored hashed and never shown: has_password says whether there is one. Setting it, were it to the same, locks out everybody who has unlocked the link. A bulk call sets at most 50."`
	ForwardPath    field[bool]                 `json:"forward_path,omitzero" example:"true" doc:"What a visitor asks for beneath the slug goes behind the target's path: with the slug docs, /docs/a/b leads to a/b beneath the target. Only for slugs of at most three segments."`
	UTM            field[UTMFields]            `json:"utm,omitzero" example:"{\"source\": \"newsletter\", \"medium\": \"email\", \"campaign\": \"spring\"}" doc:"Campaign parameters that every target of the link gets, unless it has them itself. They are stored apart from the targets."`
	Rules          field[[]linkoption.Rule]    `json:"rules,omitzero" maxItems:"50" example:"[{\"conditions\": [{\"type\": \"country\", \"values\": [\"DE\", \"AT\"]}, {\"type\": \"device\", \"values\": [\"mobile\"]}], \"destination\": \"https://example.com/de/app\"}]" doc:"In this order: visitors are sent to the destination of the first rule whose conditions all hold, and otherwise where the link leads without rules"`
	Variants       field[[]linkoption.Variant] `json:"variants,omitzero" maxItems:"20" example:"[{\"destination\": \"https://example.com/a\", \"weight\": 70, \"name\": \"red button\"}, {\"destination\": \"https://example.com/b\", \"weight\": 30}]" doc:"Visitors whom no rule sends elsewhere are split over these, each visitor always to the same"`
	VariantsEndAt  field[time.Time]            `json:"variants_end_at,omitzero" example:"2027-01-01T00:00:00Z" doc:"From this moment on everybody gets the winner, or without one the link's own destination"`
	VariantsWinner field[int]                  `json:"variants_winner,omitzero" minimum:"1" maximum:"20" example:"1" doc:"The number of a variant, counted from 1: it gets everybody from variants_end_at on, or at once without such a moment"`
	Preview        field[PreviewFields]        `json:"preview,omitzero" example:"{\"title\": \"Spring sale\", \"text\": \"A fifth off everything\", \"image\": \"https://example.com/sale.png\"}" doc:"What the preview bots of chats and networks are shown instead of the target's own; nobody else sees it"`
}

// UTMFields are campaign parameters in a merge patch.
type UTMFields struct {
	Source   field[string] `json:"source,omitzero" maxLength:"500" example:"newsletter" doc:"utm_source"`
	Medium   field[string] `json:"medium,omitzero" maxLength:"500" example:"email" doc:"utm_medium"`
	Campaign field[string] `json:"campaign,omitzero" maxLength:"500" example:"spring" doc:"utm_campaign"`
	Term     field[string] `json:"term,omitzero" maxLength:"500" example:"shoes" doc:"utm_term"`
	Content  field[string] `json:"content,omitzero" maxLength:"500" example:"red button" doc:"utm_content"`
}

// utmChange is campaign parameters as an edit means them: null clears them all.
func utmChange(f field[UTMFields]) link.UTMChange {
	v := &f.Value
	return link.UTMChange{
		Clear: f.Null, Source: v.Source.edit(), Medium: v.Medium.edit(), Campaign: v.Campaign.edit(), Term: v.Term.edit(), Content: v.Content.edit(),
	}
}

// PreviewFields are a preview in a merge patch.
type PreviewFields struct {
	Title field[string] `json:"title,omitzero" maxLength:"200" example:"Spring sale" doc:"At most 200 characters"`
	Text  field[string] `json:"text,omitzero" maxLength:"500" example:"A fifth off everything" doc:"At most 500 characters"`
	Image field[string] `json:"image,omitzero" example:"https://example.com/sale.png" doc:"Absolute URL of a picture"`
}

// given are the members as a new link means them: null is as good as leaving one out.
func (f OptionFields) given() OptionFields {
	return OptionFields{
		Disabled: f.Disabled.sent(), MaxClicks: f.MaxClicks.sent(), Password: f.Password.sent(), ForwardPath: f.ForwardPath.sent(),
		UTM: f.UTM.sent(), Rules: f.Rules.sent(), Variants: f.Variants.sent(), VariantsEndAt: f.VariantsEndAt.sent(),
		VariantsWinner: f.VariantsWinner.sent(), Preview: f.Preview.sent(),
	}
}

// writeTo writes the members, as an edit means them, to a change in the domain's words.
func (f *OptionFields) writeTo(c *link.Change) {
	c.Disabled, c.MaxClicks, c.Password = f.Disabled.edit(), f.MaxClicks.pointer(), f.Password.pointer()
	c.Options = link.OptionsChange{
		Rules:          f.Rules.edit(),
		Variants:       f.Variants.edit(),
		VariantsEndAt:  f.VariantsEndAt.pointer(),
		VariantsWinner: f.VariantsWinner.edit(),
		ForwardPath:    f.ForwardPath.edit(),
		UTM:            utmChange(f.UTM),
		Preview: link.PreviewChange{
			Clear: f.Preview.Null,
			Title: f.Preview.Value.Title.edit(), Text: f.Preview.Value.Text.edit(), Image: f.Preview.Value.Image.edit(),
		},
	}
}

// OptionsView are a link's options as callers see them.
type OptionsView struct {
	Disabled       bool                       `json:"disabled"`
	MaxClicks      *int64                     `json:"max_clicks" nullable:"true" example:"500"`
	HasPassword    bool                       `json:"has_password" doc:"Whether visitors have to type a password"`
	ForwardPath    bool                       `json:"forward_path"`
	UTM            orNull[linkoption.UTM]     `json:"utm"`
	Rules          []linkoption.Rule          `json:"rules" nullable:"false"`
	Variants       []linkoption.Variant       `json:"variants" nullable:"false"`
	VariantsEndAt  *time.Time                 `json:"variants_end_at" nullable:"true" example:"2027-01-01T00:00:00Z"`
	VariantsWinner *int                       `json:"variants_winner" nullable:"true" example:"1"`
	Preview        orNull[linkoption.Preview] `json:"preview"`
}

func viewOptions(l *link.Link) OptionsView {
	o := &l.Options
	v := OptionsView{
		Disabled: l.Disabled, HasPassword: l.Password.IsSet(), ForwardPath: o.ForwardPath,
		Rules: o.Rules, Variants: o.Split.Variants, VariantsEndAt: o.Split.EndsAt,
	}
	if l.MaxClicks != 0 {
		v.MaxClicks = &l.MaxClicks
	}
	if v.Rules == nil {
		v.Rules = []linkoption.Rule{}
	}
	if v.Variants == nil {
		v.Variants = []linkoption.Variant{}
	}
	if o.Split.Winner != 0 {
		v.VariantsWinner = &o.Split.Winner
	}
	if o.UTM != (linkoption.UTM{}) {
		v.UTM.value = &o.UTM
	}
	if o.Preview != (linkoption.Preview{}) {
		v.Preview.value = &o.Preview
	}
	return v
}
