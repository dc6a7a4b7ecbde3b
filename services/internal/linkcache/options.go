package linkcache

import (
	"encoding/json"
	"fmt"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/linkoption"
)

// OptionText is the JSON of Options, as it stands in a record. A record with it can be
// compared and copied like any other, and whoever does not look at options never reads
// them.
type OptionText string

// Options are what a link's edge needs beyond a plain record. Campaign parameters are
// not among them: they are in every target already.
type Options struct {
	MaxClicks uint64 `json:"m,omitempty"`
	// MaxClicksSince tells the counts of one limit from those of the next.
	MaxClicksSince uint64 `json:"n,omitempty"`
	// UnlockKey signs cookies of visitors who gave the password.
	UnlockKey []byte `json:"k,omitempty"`
	Rules     []Rule `json:"r,omitempty"`
	// Variants end at VariantsEnd (milliseconds, 0 for never); Winner counts from 1.
	Variants    []Variant `json:"x,omitempty"`
	VariantsEnd int64     `json:"y,omitempty"`
	Winner      uint32    `json:"z,omitempty"`
	Preview     *Preview  `json:"p,omitempty"`
}

// Rule is a rule of the changelog.
type Rule struct {
	Conditions  []Condition `json:"c,omitempty"`
	Destination string      `json:"d"`
}

// Condition is a condition of the changelog.
type Condition struct {
	Kind   eventspb.Condition_Kind `json:"t"`
	Values []string                `json:"v,omitempty"`
	Time   *Time                   `json:"w,omitempty"`
}

// Time is a time window of the changelog. StartsAt and EndsAt are milliseconds.
type Time struct {
	Zone     string   `json:"z,omitempty"`
	Weekdays []uint32 `json:"w,omitempty"`
	// Day is from and to in minutes since midnight.
	Day      *[2]uint32 `json:"d,omitempty"`
	StartsAt int64      `json:"a,omitempty"`
	EndsAt   int64      `json:"e,omitempty"`
}

// Variant is a variant of the changelog. Its name is for people.
type Variant struct {
	Destination string `json:"d"`
	Weight      uint32 `json:"w"`
}

// Preview is a preview of the changelog.
type Preview struct {
	Title string `json:"t,omitempty"`
	Text  string `json:"x,omitempty"`
	Image string `json:"i,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (o OptionText) MarshalJSON() ([]byte, error) { return []byte(o), nil }

// UnmarshalJSON implements json.Unmarshaler. It takes any JSON: Parse looks at it.
func (o *OptionText) UnmarshalJSON(text []byte) error {
	if string(text) != "null" {
		*o = OptionText(text)
	}
	return nil
}

// Parse reads the options. What it does not know is left out.
func (o OptionText) Parse() (Options, error) {
	var options Options
	if o == "" {
		return options, nil
	}
	if err := json.Unmarshal([]byte(o), &options); err != nil {
		return Options{}, fmt.Errorf("%w: %w", ErrBadRecord, err)
	}
	return options, nil
}

// Text is how a record holds the options.
func (o *Options) Text() (OptionText, error) {
	if o.none() {
		return "", nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("encoding link options: %w", err)
	}
	return OptionText(text), nil
}

// flags announce what the options hold.
func (o *Options) flags() Flags {
	var flags Flags
	announce := func(flag Flags, set bool) {
		if set {
			flags |= flag
		}
	}
	announce(FlagPassword, o.UnlockKey != nil)
	announce(FlagRules, len(o.Rules) > 0)
	announce(FlagVariants, len(o.Variants) > 0)
	announce(FlagMaxClicks, o.MaxClicks > 0)
	announce(FlagPreview, o.Preview != nil)
	return flags
}

// none says that there is nothing in the options.
func (o *Options) none() bool {
	return o.MaxClicks == 0 && o.MaxClicksSince == 0 && len(o.UnlockKey) == 0 && len(o.Rules) == 0 &&
		len(o.Variants) == 0 && o.VariantsEnd == 0 && o.Winner == 0 && o.Preview == nil
}

// addOptions takes over what a change says beyond a plain link.
func (r *Record) addOptions(ev *eventspb.LinkChanged) error {
	utm := linkoption.UTMOf(ev.GetUtm())
	r.Destination = utm.Merge(r.Destination)
	options := Options{MaxClicks: ev.GetMaxClicks(), VariantsEnd: millis(ev.GetSplit().GetEndsAt()), Winner: ev.GetSplit().GetWinner()}
	if options.MaxClicks > 0 {
		options.MaxClicksSince = ev.GetMaxClicksSince()
	}
	for _, rule := range ev.GetRules() {
		options.Rules = append(options.Rules, Rule{Conditions: conditions(rule), Destination: utm.Merge(rule.GetDestination())})
	}
	for _, v := range ev.GetSplit().GetVariants() {
		options.Variants = append(options.Variants, Variant{Destination: utm.Merge(v.GetDestination()), Weight: v.GetWeight()})
	}
	if p := ev.GetPreview(); p != nil {
		options.Preview = &Preview{Title: p.GetTitle(), Text: p.GetText(), Image: p.GetImage()}
	}
	if ev.GetPassword() != nil {
		options.UnlockKey = append([]byte{}, ev.GetPassword().GetUnlockKey()...)
	}
	r.Flags |= options.flags()
	if ev.GetForwardPath() {
		r.Flags |= FlagForwardPath
	}
	if ev.GetDisabled() {
		r.Flags |= FlagDisabled
	}
	text, err := options.Text()
	r.Options = text
	return err
}

func conditions(rule *eventspb.Rule) []Condition {
	out := make([]Condition, 0, len(rule.GetConditions()))
	for _, c := range rule.GetConditions() {
		condition := Condition{Kind: c.GetKind(), Values: c.GetValues()}
		if t := c.GetTime(); t != nil {
			condition.Time = &Time{Zone: t.GetZone(), Weekdays: t.GetWeekdays(), StartsAt: millis(t.GetStartsAt()), EndsAt: millis(t.GetEndsAt())}
			if day := t.GetDay(); day != nil {
				condition.Time.Day = &[2]uint32{day.GetFromMinute(), day.GetToMinute()}
			}
		}
		out = append(out, condition)
	}
	return out
}
