package linkoption

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events/eventspb"
)

// kinds are the types in the changelog: a type's number there is its place here.
func kinds() []Type { return append([]Type{""}, Types()...) }

// RulesEvent is how checked rules look in the changelog.
func RulesEvent(rules []Rule) []*eventspb.Rule {
	out := make([]*eventspb.Rule, 0, len(rules))
	for _, rule := range rules {
		ev := &eventspb.Rule{Destination: rule.Destination}
		for _, c := range rule.Conditions {
			kind := eventspb.Condition_Kind(max(slices.Index(kinds(), c.Type), 0)) //nolint:gosec // below 12
			condition := &eventspb.Condition{Kind: kind, Values: c.Values}
			if c.Type == Time {
				condition.Time = timeEvent(c)
			}
			ev.Conditions = append(ev.Conditions, condition)
		}
		out = append(out, ev)
	}
	return out
}

func timeEvent(c Condition) *eventspb.Time {
	t := &eventspb.Time{Zone: c.Zone, StartsAt: timestamp(c.StartsAt), EndsAt: timestamp(c.EndsAt)}
	for _, day := range c.Weekdays {
		t.Weekdays = append(t.Weekdays, uint32(slices.Index(weekdayNames(), day)+1)) //nolint:gosec // 0 to 7
	}
	from, ok := minuteOf(c.From)
	to, both := minuteOf(c.To)
	if ok && both {
		t.Day = &eventspb.DayWindow{FromMinute: uint32(from), ToMinute: uint32(to)} //nolint:gosec // up to 1,440
	}
	return t
}

// RulesOf reads rules from the changelog. A condition of a kind that this release does
// not know has an empty type.
func RulesOf(events []*eventspb.Rule) []Rule {
	var out []Rule
	for _, ev := range events {
		rule := Rule{Destination: ev.GetDestination()}
		for _, condition := range ev.GetConditions() {
			c := Condition{Values: condition.GetValues()}
			if k := int(condition.GetKind()); k > 0 && k < len(kinds()) {
				c.Type = kinds()[k]
			}
			if t := condition.GetTime(); t != nil {
				c.Zone, c.StartsAt, c.EndsAt = t.GetZone(), timeOf(t.GetStartsAt()), timeOf(t.GetEndsAt())
				for _, day := range t.GetWeekdays() {
					if day >= 1 && day <= 7 {
						c.Weekdays = append(c.Weekdays, weekdayNames()[day-1])
					}
				}
				if day := t.GetDay(); day != nil {
					c.From, c.To = clock(int(day.GetFromMinute())), clock(int(day.GetToMinute()))
				}
			}
			rule.Conditions = append(rule.Conditions, c)
		}
		out = append(out, rule)
	}
	return out
}

// Event is how a checked split looks in the changelog; nil for none.
func (s Split) Event() *eventspb.Split {
	if len(s.Variants) == 0 {
		return nil
	}
	ev := &eventspb.Split{EndsAt: timestamp(s.EndsAt), Winner: uint32(s.Winner)} //nolint:gosec // up to 20
	for _, v := range s.Variants {
		ev.Variants = append(ev.Variants, &eventspb.Variant{Destination: v.Destination, Weight: uint32(v.Weight), Name: v.Name}) //nolint:gosec // up to 10,000
	}
	return ev
}

// SplitOf reads a split from the changelog.
func SplitOf(ev *eventspb.Split) Split {
	s := Split{EndsAt: timeOf(ev.GetEndsAt()), Winner: int(ev.GetWinner())}
	for _, v := range ev.GetVariants() {
		s.Variants = append(s.Variants, Variant{Destination: v.GetDestination(), Weight: int(v.GetWeight()), Name: v.GetName()})
	}
	return s
}

// Event is how campaign parameters look in the changelog; nil for none.
func (u UTM) Event() *eventspb.Utm {
	if u == (UTM{}) {
		return nil
	}
	return &eventspb.Utm{Source: u.Source, Medium: u.Medium, Campaign: u.Campaign, Term: u.Term, Content: u.Content}
}

// UTMOf reads campaign parameters from the changelog.
func UTMOf(ev *eventspb.Utm) UTM {
	return UTM{Source: ev.GetSource(), Medium: ev.GetMedium(), Campaign: ev.GetCampaign(), Term: ev.GetTerm(), Content: ev.GetContent()}
}

// Event is how a preview looks in the changelog; nil for none.
func (p Preview) Event() *eventspb.Preview {
	if p == (Preview{}) {
		return nil
	}
	return &eventspb.Preview{Title: p.Title, Text: p.Text, Image: p.Image}
}

// PreviewOf reads a preview from the changelog.
func PreviewOf(ev *eventspb.Preview) Preview {
	return Preview{Title: ev.GetTitle(), Text: ev.GetText(), Image: ev.GetImage()}
}

func timestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}

func timeOf(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	return &at
}
