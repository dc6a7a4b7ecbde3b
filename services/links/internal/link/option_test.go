package link_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// edited is a link after an edit; wrong lists field:code of what was refused.
func edited(t *testing.T, before link.Link, c link.Change) (after link.Link, wrong string) {
	t.Helper()
	rules := link.Rules{}
	checked, err := rules.CheckEdit(c)
	after = before
	if err == nil {
		err = checked.Apply(&after)
	}
	fields, ok := err.(link.FieldErrors) //nolint:errorlint // not wrapped
	if err != nil && !ok {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range fields {
		texts = append(texts, f.Field+":"+string(f.Code))
	}
	return after, strings.Join(texts, " ")
}

func variants(weights ...int) []linkoption.Variant {
	var out []linkoption.Variant
	for i, w := range weights {
		out = append(out, linkoption.Variant{Destination: fmt.Sprintf("https://e.test/%d", i), Weight: w})
	}
	return out
}

func TestCampaignAndPreviewAreMergedMemberByMember(t *testing.T) {
	before := link.Link{Options: link.Options{
		UTM:     linkoption.UTM{Source: "s", Medium: "m"},
		Preview: linkoption.Preview{Title: "T", Image: "https://e.test/i"},
	}}
	check := func(name string, c link.OptionsChange, utm linkoption.UTM, preview linkoption.Preview) {
		t.Helper()
		after, wrong := edited(t, before, link.Change{Options: c})
		if wrong != "" || after.Options.UTM != utm || after.Options.Preview != preview {
			t.Errorf("%s: %+v %+v %s", name, after.Options.UTM, after.Options.Preview, wrong)
		}
	}
	utm, preview := before.Options.UTM, before.Options.Preview
	check("nothing", link.OptionsChange{}, utm, preview)
	check("a member", link.OptionsChange{UTM: link.UTMChange{Campaign: link.Some("c"), Source: link.Some("")}}, linkoption.UTM{Medium: "m", Campaign: "c"}, preview)
	check("cleared", link.OptionsChange{UTM: link.UTMChange{Clear: true}, Preview: link.PreviewChange{Clear: true}}, linkoption.UTM{}, linkoption.Preview{})
	check("a picture", link.OptionsChange{Preview: link.PreviewChange{Image: link.Some("HTTPS://E.test/ä"), Text: link.Some("x")}}, utm, linkoption.Preview{Title: "T", Text: "x", Image: "https://e.test/%C3%A4"})
	check("no picture", link.OptionsChange{Preview: link.PreviewChange{Image: link.Some("")}}, utm, linkoption.Preview{Title: "T"})
}

func TestASplitIsJudgedAsAWhole(t *testing.T) {
	end := time.Date(2030, 1, 1, 0, 0, 0, 123_456_789, time.UTC)
	cut := end.Truncate(time.Millisecond)
	before := link.Link{Options: link.Options{Split: linkoption.Split{Variants: variants(1, 2), EndsAt: &cut, Winner: 2}}}
	check := func(name string, l link.Link, c link.OptionsChange, want linkoption.Split, wantWrong string) {
		t.Helper()
		after, wrong := edited(t, l, link.Change{Options: c})
		if wrong != wantWrong || wrong == "" && !after.Options.Split.Equal(want) {
			t.Errorf("%s: %+v %s, want %+v %s", name, after.Options.Split, wrong, want, wantWrong)
		}
	}
	split := before.Options.Split
	check("another title", before, link.OptionsChange{ForwardPath: link.Some(true)}, split, "")
	check("other weights keep end and winner", before, link.OptionsChange{Variants: link.Some(variants(5, 5))}, linkoption.Split{Variants: variants(5, 5), EndsAt: &cut, Winner: 2}, "")
	check("fewer than the winner", before, link.OptionsChange{Variants: link.Some(variants(5))}, split, "variants_winner:invalid")
	check("fewer, and another winner", before, link.OptionsChange{Variants: link.Some(variants(5)), VariantsWinner: link.Some(1)}, linkoption.Split{Variants: variants(5), EndsAt: &cut, Winner: 1}, "")
	check("none takes end and winner along", before, link.OptionsChange{Variants: link.Some[[]linkoption.Variant](nil)}, linkoption.Split{}, "")
	check("no end", before, link.OptionsChange{VariantsEndAt: link.Some[*time.Time](nil)}, linkoption.Split{Variants: variants(1, 2), Winner: 2}, "")
	check("an end for nothing", link.Link{}, link.OptionsChange{VariantsEndAt: link.Some(&end)}, split, "variants_end_at:invalid")
	check("a winner of nothing", link.Link{}, link.OptionsChange{VariantsWinner: link.Some(1)}, split, "variants_winner:invalid")
	check("the end in milliseconds", before, link.OptionsChange{VariantsEndAt: link.Some(&end)}, split, "")
	check("no weight", before, link.OptionsChange{Variants: link.Some(variants(0, 0))}, split, "variants:invalid")
	long := variants(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	for i := range long {
		long[i].Destination += strings.Repeat("x", 7_000)
	}
	check("too long together", before, link.OptionsChange{Variants: link.Some(long)}, split, "variants:too_long")
}

// A variant that was stored under milder rules does not keep its link from being edited.
func TestAnEditJudgesNoDestinationThatItDoesNotName(t *testing.T) {
	old := link.Link{Options: link.Options{Split: linkoption.Split{Variants: []linkoption.Variant{{Destination: "gopher://e.test", Weight: 1}}}}}
	if after, wrong := edited(t, old, link.Change{Options: link.OptionsChange{VariantsWinner: link.Some(1)}}); wrong != "" || after.Options.Split.Winner != 1 {
		t.Errorf("got %+v, %s", after.Options.Split, wrong)
	}
}

func TestTargetsOfOptionsObeyTheRulesOfTargets(t *testing.T) {
	rules := link.Rules{}
	checked, err := rules.CheckEdit(link.Change{Options: link.OptionsChange{
		Rules:    link.Some([]linkoption.Rule{{Conditions: []linkoption.Condition{{Type: linkoption.Bot}}, Destination: "HTTPS://A.test/ü"}}),
		Variants: link.Some([]linkoption.Variant{{Destination: "http://B.test", Weight: 1}}),
		Preview:  link.PreviewChange{Image: link.Some("https://C.test./i")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	given := checked.Given().Options
	if given.Rules.Value[0].Destination != "https://a.test/%C3%BC" || given.Variants.Value[0].Destination != "http://b.test" {
		t.Errorf("stored %+v", given)
	}
	if got := fmt.Sprint(checked.Hosts()); got != "map[preview.image:c.test rules[0].destination:a.test variants[0].destination:b.test]" {
		t.Errorf("the hosts are %s", got)
	}
	_, wrong := edited(t, link.Link{}, link.Change{Options: link.OptionsChange{
		Rules:    link.Some([]linkoption.Rule{{Conditions: []linkoption.Condition{{Type: "moon"}}, Destination: "javascript:1"}}),
		Variants: link.Some([]linkoption.Variant{{Destination: "https://u:p@e.test", Weight: 1}}),
		Preview:  link.PreviewChange{Image: link.Some("x")},
	}})
	if wrong != "rules[0].destination:not_allowed rules[0].conditions[0].type:invalid variants[0].destination:not_allowed preview.image:invalid" {
		t.Errorf("wrong is %s", wrong)
	}
}

func TestALimitCountsFromWhereItWasSet(t *testing.T) {
	five, six, none := int64(5), int64(6), (*int64)(nil)
	l := link.Link{Version: 3}
	step := func(limit *int64, want int64, since uint64) {
		t.Helper()
		var wrong string
		l, wrong = edited(t, l, link.Change{MaxClicks: link.Some(limit)})
		l.Version++
		if wrong != "" || l.MaxClicks != want || l.MaxClicksSince != since {
			t.Errorf("got %d since %d, %s; want %d since %d", l.MaxClicks, l.MaxClicksSince, wrong, want, since)
		}
	}
	step(&five, 5, 4)
	step(&six, 6, 4) // goes on counting
	step(none, 0, 0)
	step(&five, 5, 7) // anew
}

func TestPasswordsOfLinks(t *testing.T) {
	check := func(given, want string) {
		t.Helper()
		rules := link.Rules{}
		_, err := rules.CheckEdit(link.Change{Password: link.Some(&given)})
		got := ""
		if fields, ok := err.(link.FieldErrors); ok { //nolint:errorlint // not wrapped
			got = string(fields[0].Code)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
	check("", "too_short")
	check("abc", "too_short")
	check("äöü", "too_short")
	check("äöüß", "")
	check(" a b", "")
	check(strings.Repeat("ä", 128), "")
	check(strings.Repeat("a", 129), "too_long")
	check("abcd\n", "invalid")
	check("abcd\xff", "invalid")

	rules := link.Rules{}
	text := "open sesame"
	checked, err := rules.CheckEdit(link.Change{Password: link.Some(&text)})
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Apply(&link.Link{}); err == nil {
		t.Error("a password is stored that was not hashed")
	}
}
