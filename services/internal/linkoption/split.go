package linkoption

import (
	"fmt"
	"slices"
	"time"
)

// Limits of a split.
const (
	MaxVariants    = 20
	MaxWeight      = 10_000
	maxVariantName = 100 // characters
)

// Variant is one of the targets that visitors are split over.
type Variant struct {
	Destination string `json:"destination" doc:"Where these visitors are sent. The same rules as for the link's destination."`
	Weight      int    `json:"weight" minimum:"0" maximum:"10000" doc:"The share, relative to the sum of all weights."`
	Name        string `json:"name,omitempty" maxLength:"100" doc:"What the variant is called in the dashboard."`
}

// Split is an A/B test: its fields are those of the link. From EndsAt on everybody gets
// the winner, or without one the link's own destination. A winner without an end has
// won already.
type Split struct {
	Variants []Variant  `json:"variants,omitempty"`
	EndsAt   *time.Time `json:"variants_end_at,omitempty"`
	Winner   int        `json:"variants_winner,omitempty"` // counted from 1; 0 for none
}

// CheckSplit holds a split against the limits. It returns it in the form that is stored.
// It is to be called for the whole split that a change would leave.
func CheckSplit(s Split, target Target) (Split, []FieldError) {
	var wrong problems
	if len(s.Variants) > MaxVariants {
		wrong.addf("variants", CodeTooMany, "a link has at most %d variants", MaxVariants)
		return s, wrong
	}
	s.Variants, s.EndsAt = slices.Clone(s.Variants), inMillis(s.EndsAt)
	sum := 0
	for i := range s.Variants {
		v, field := &s.Variants[i], fmt.Sprintf("variants[%d]", i)
		wrong.target(target, field+".destination", &v.Destination)
		wrong.text(field+".name", v.Name, maxVariantName)
		if v.Weight < 0 || v.Weight > MaxWeight {
			wrong.addf(field+".weight", CodeInvalid, "a weight is from 0 to %d", MaxWeight)
		}
		sum += max(v.Weight, 0)
	}
	if len(s.Variants) > 0 && sum == 0 {
		wrong.add("variants", CodeInvalid, "one of the weights must be above 0")
	}
	if s.Winner < 0 || s.Winner > len(s.Variants) {
		wrong.add("variants_winner", CodeInvalid, "the winner is the number of a variant, counted from 1")
	}
	if s.EndsAt != nil {
		if len(s.Variants) == 0 {
			wrong.add("variants_end_at", CodeInvalid, "a link without variants has no end of them")
		} else if year := s.EndsAt.Year(); year < 1 || year > 9999 {
			wrong.add("variants_end_at", CodeInvalid, "the year must be between 1 and 9999")
		}
	}
	return s, wrong
}

// Equal says whether two splits mean the same.
func (s Split) Equal(other Split) bool {
	return slices.Equal(s.Variants, other.Variants) && equalTime(s.EndsAt, other.EndsAt) && s.Winner == other.Winner
}

// MaxClicks is the highest limit of clicks.
const MaxClicks = 1_000_000_000_000

// CheckMaxClicks says whether a limit may be set; 0 is no limit.
func CheckMaxClicks(n int64) []FieldError {
	var wrong problems
	if n < 0 || n > MaxClicks {
		wrong.addf("max_clicks", CodeInvalid, "the limit is from 1 to %d", int64(MaxClicks))
	}
	return wrong
}
