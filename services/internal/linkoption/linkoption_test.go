package linkoption_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkoption"
)

// anyTarget takes what begins with https and stores it with a mark.
func anyTarget(field, destination string) (string, *linkoption.FieldError) {
	if !strings.HasPrefix(destination, "https://") {
		return "", &linkoption.FieldError{Field: field, Code: linkoption.CodeNotAllowed, Detail: "no"}
	}
	return destination + "#checked", nil
}

func said(errs []linkoption.FieldError) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Field+":"+string(e.Code))
	}
	return out
}

func rulesOf(t *testing.T, text string) []linkoption.Rule {
	t.Helper()
	var rules []linkoption.Rule
	if err := json.Unmarshal([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestRulesAreStoredInNormalForm(t *testing.T) {
	check := func(condition, want string) {
		t.Helper()
		rules, wrong := linkoption.CheckRules(rulesOf(t, `[{"conditions":[`+condition+`],"destination":"https://e.test/"}]`), anyTarget)
		got, err := json.Marshal(rules)
		if want = `[{"conditions":[` + want + `],"destination":"https://e.test/#checked"}]`; err != nil || len(wrong) != 0 || string(got) != want {
			t.Errorf("%s: %s, %v, %v; want %s", condition, got, wrong, err, want)
		}
		back := linkoption.RulesOf(linkoption.RulesEvent(rules))
		if !linkoption.EqualRules(rules, back) {
			t.Errorf("%s: comes back from the changelog as %+v", condition, back)
		}
	}
	check(`{"type":"country","values":["de"," AT ","DE"]}`, `{"type":"country","values":["DE","AT"]}`)
	check(`{"type":"region","values":["DE/Bavaria","Île-de-France"]}`, `{"type":"region","values":["DE/Bavaria","Île-de-France"]}`)
	check(`{"type":"continent","values":["eu"]}`, `{"type":"continent","values":["EU"]}`)
	check(`{"type":"language","values":["fr","pt-BR","zh-Hant-TW","es-419"]}`, `{"type":"language","values":["fr","pt-br","zh-hant-tw","es-419"]}`)
	check(`{"type":"device","values":["Mobile"]}`, `{"type":"device","values":["mobile"]}`)
	check(`{"type":"os","values":["iOS"]}`, `{"type":"os","values":["iOS"]}`)
	check(`{"type":"browser","values":["Safari"]}`, `{"type":"browser","values":["Safari"]}`)
	check(`{"type":"bot"}`, `{"type":"bot","values":["true"]}`)
	check(`{"type":"bot","values":["False"]}`, `{"type":"bot","values":["false"]}`)
	check(`{"type":"query","values":["ref","a=b=c","x="," y"]}`, `{"type":"query","values":["ref","a=b=c","x="," y"]}`)
	check(`{"type":"address","values":["203.0.113.9","203.0.113.9/24","2001:DB8::1","::ffff:10.0.0.1"]}`, `{"type":"address","values":["203.0.113.9","203.0.113.0/24","2001:db8::1","10.0.0.1"]}`)
	check(`{"type":"time","zone":"Europe/Berlin","weekdays":["Fri","mon","fri"],"from":"22:00","to":"06:00"}`,
		`{"type":"time","zone":"Europe/Berlin","weekdays":["mon","fri"],"from":"22:00","to":"06:00"}`)
	check(`{"type":"time","from":"00:00","to":"24:00"}`, `{"type":"time","from":"00:00","to":"24:00"}`)
	check(`{"type":"time","starts_at":"2026-12-01T00:00:00.1239+01:00","ends_at":"2027-01-01T00:00:00Z"}`,
		`{"type":"time","starts_at":"2026-11-30T23:00:00.123Z","ends_at":"2027-01-01T00:00:00Z"}`)
}

func TestEveryMistakeInRulesIsNamed(t *testing.T) {
	check := func(rules string, want ...string) {
		t.Helper()
		if _, wrong := linkoption.CheckRules(rulesOf(t, rules), anyTarget); !slices.Equal(said(wrong), want) {
			t.Errorf("%.200s: %v, want %v", rules, said(wrong), want)
		}
	}
	condition := func(condition string, want ...string) {
		t.Helper()
		for i := range want {
			want[i] = "rules[1].conditions[0]" + want[i]
		}
		check(`[{"conditions":[{"type":"bot"}],"destination":"https://e.test/"},{"conditions":[`+condition+`],"destination":"https://e.test/"}]`, want...)
	}
	check(`[]`)
	check(`[{"conditions":[],"destination":"ftp://e.test/"}]`, "rules[0].destination:not_allowed", "rules[0].conditions:required")
	condition(`{"type":"moon","values":["full"]}`, ".type:invalid")
	condition(`{"type":"country"}`, ".values:required")
	condition(`{"type":"country","values":["Germany","D1","DE","ÄÖ"]}`, ".values[0]:invalid", ".values[1]:invalid", ".values[3]:invalid")
	condition(`{"type":"continent","values":["XX"]}`, ".values[0]:invalid")
	condition(`{"type":"region","values":["","DE/"]}`, ".values[0]:invalid", ".values[1]:invalid")
	condition(`{"type":"language","values":["*","d e","","123","fr-"]}`, ".values[0]:invalid", ".values[1]:invalid", ".values[2]:invalid", ".values[3]:invalid", ".values[4]:invalid")
	condition(`{"type":"device","values":["fridge"]}`, ".values[0]:invalid")
	condition(`{"type":"bot","values":["maybe"]}`, ".values[0]:invalid")
	condition(`{"type":"query","values":["","=x"]}`, ".values[0]:invalid", ".values[1]:invalid")
	condition(`{"type":"address","values":["10.0.0.0/33","x","fe80::1%eth0","::ffff:10.0.0.0/104"]}`, ".values[0]:invalid", ".values[1]:invalid", ".values[2]:invalid", ".values[3]:invalid")
	condition(`{"type":"os","values":["`+strings.Repeat("x", 201)+`","a\u0000b"]}`, ".values[0]:too_long", ".values[1]:invalid")
	condition(`{"type":"os","values":["iOS"],"zone":"UTC"}`, ":invalid")
	condition(`{"type":"time"}`, ":required")
	condition(`{"type":"time","values":["x"]}`, ".values:invalid")
	condition(`{"type":"time","weekdays":["mon","someday"],"zone":"Mars/Base"}`, ".zone:invalid", ".weekdays[1]:invalid")
	condition(`{"type":"time","weekdays":["mon"],"zone":"Local"}`, ".zone:invalid")
	condition(`{"type":"time","weekdays":["mon"],"zone":"../etc/passwd"}`, ".zone:invalid")
	condition(`{"type":"time","from":"09:00"}`, ".to:required")
	condition(`{"type":"time","to":"09:00"}`, ".from:required")
	condition(`{"type":"time","from":"9:00","to":"24:01"}`, ".from:invalid", ".to:invalid")
	condition(`{"type":"time","from":"24:00","to":"12:60"}`, ".from:invalid", ".to:invalid")
	condition(`{"type":"time","starts_at":"2027-01-01T00:00:00Z","ends_at":"2027-01-01T00:00:00Z"}`, ".ends_at:invalid")

	many := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	rule := `{"conditions":[{"type":"bot"}],"destination":"https://e.test/"}`
	check(`[` + many(50, rule) + `]`)
	check(`[`+many(51, rule)+`]`, "rules:too_many")
	condition(many(20, `{"type":"bot"}`))
	check(`[{"conditions":[`+many(21, `{"type":"bot"}`)+`],"destination":"https://e.test/"}]`, "rules[0].conditions:too_many")
	values := make([]string, 101)
	for i := range values {
		values[i] = fmt.Sprintf("%q", fmt.Sprint("v", i))
	}
	condition(`{"type":"os","values":[` + strings.Join(values[:100], ",") + `]}`)
	condition(`{"type":"os","values":[`+strings.Join(values, ",")+`]}`, ".values:too_many")
	long := strings.Replace(rule, "e.test/", "e.test/"+strings.Repeat("x", 7000), 1)
	check(`[` + many(9, long) + `]`)
	check(`[`+many(10, long)+`]`, "rules:too_long")
}

func TestSplits(t *testing.T) {
	end := time.Date(2027, 1, 1, 0, 0, 0, 123_456_789, time.FixedZone("x", 3600))
	check := func(s linkoption.Split, want ...string) linkoption.Split {
		t.Helper()
		got, wrong := linkoption.CheckSplit(s, anyTarget)
		if !slices.Equal(said(wrong), want) {
			t.Errorf("%+v: %v, want %v", s, said(wrong), want)
		}
		if back := linkoption.SplitOf(got.Event()); len(want) == 0 && !back.Equal(got) {
			t.Errorf("%+v: comes back from the changelog as %+v", got, back)
		}
		return got
	}
	two := []linkoption.Variant{{Destination: "https://a.test/", Weight: 70, Name: "A"}, {Destination: "https://b.test/", Weight: 30}}
	check(linkoption.Split{})
	got := check(linkoption.Split{Variants: two, EndsAt: &end, Winner: 2})
	if want := time.Date(2026, 12, 31, 23, 0, 0, 123_000_000, time.UTC); !got.EndsAt.Equal(want) || got.Variants[0].Destination != "https://a.test/#checked" {
		t.Errorf("stored as %+v", got)
	}
	if two[0].Destination != "https://a.test/" {
		t.Error("the caller's own was changed")
	}
	check(linkoption.Split{Winner: 1}, "variants_winner:invalid")
	check(linkoption.Split{EndsAt: &end}, "variants_end_at:invalid")
	check(linkoption.Split{Variants: two, Winner: 3}, "variants_winner:invalid")
	check(linkoption.Split{Variants: two, Winner: -1}, "variants_winner:invalid")
	check(linkoption.Split{Variants: []linkoption.Variant{{Destination: "https://a.test/"}}}, "variants:invalid")
	check(linkoption.Split{Variants: []linkoption.Variant{{Destination: "x", Weight: -1}, {Destination: "https://a.test/", Weight: 10_001, Name: strings.Repeat("x", 101)}}},
		"variants[0].destination:not_allowed", "variants[0].weight:invalid", "variants[1].name:too_long", "variants[1].weight:invalid")
	check(linkoption.Split{Variants: make([]linkoption.Variant, 21)}, "variants:too_many")

	for n, want := range map[int64]int{0: 0, 1: 0, linkoption.MaxClicks: 0, -1: 1, linkoption.MaxClicks + 1: 1} {
		if got := linkoption.CheckMaxClicks(n); len(got) != want {
			t.Errorf("CheckMaxClicks(%d) = %v", n, got)
		}
	}
}

func TestCampaignsAreMergedOnce(t *testing.T) {
	all := linkoption.UTM{Source: "news letter", Medium: "e&mail", Campaign: "ü+1", Term: "a=b", Content: "#top"}
	check := func(u linkoption.UTM, target, want string) {
		t.Helper()
		got := u.Merge(target)
		if got != want {
			t.Errorf("Merge(%q) = %q, want %q", target, got, want)
		}
		if again := u.Merge(got); again != got {
			t.Errorf("Merge(%q) again = %q", target, again)
		}
		if back := linkoption.UTMOf(u.Event()); back != u {
			t.Errorf("%+v comes back from the changelog as %+v", u, back)
		}
	}
	const added = "utm_source=news%20letter&utm_medium=e%26mail&utm_campaign=%C3%BC%2B1&utm_term=a%3Db&utm_content=%23top"
	check(linkoption.UTM{}, "https://e.test/?x#f", "https://e.test/?x#f")
	check(all, "https://e.test", "https://e.test?"+added)
	check(all, "https://e.test/a?b=%2F&c", "https://e.test/a?b=%2F&c&"+added)
	check(all, "https://e.test/?", "https://e.test/?"+added)
	check(all, "https://e.test/?a&", "https://e.test/?a&"+added)
	check(all, "https://e.test/#/r?utm_source=x", "https://e.test/?"+added+"#/r?utm_source=x")
	source := linkoption.UTM{Source: "s", Medium: "m"}
	check(source, "https://e.test/?utm_source=own", "https://e.test/?utm_source=own&utm_medium=m")
	check(source, "https://e.test/?UTM_Source=own", "https://e.test/?UTM_Source=own&utm_medium=m")
	check(source, "https://e.test/?%75tm_source=own&x=%", "https://e.test/?%75tm_source=own&x=%&utm_medium=m")
	check(source, "https://e.test/?utm_source=&utm_medium", "https://e.test/?utm_source=&utm_medium")

	if got := said(linkoption.CheckUTM(linkoption.UTM{Source: "a\rb", Content: strings.Repeat("é", 501), Term: strings.Repeat("é", 500)})); !slices.Equal(got, []string{"utm.source:invalid", "utm.content:too_long"}) {
		t.Errorf("CheckUTM says %v", got)
	}
}

func TestPreviews(t *testing.T) {
	p, wrong := linkoption.CheckPreview(linkoption.Preview{Title: "T", Text: "a\nb", Image: "https://e.test/i.png"}, anyTarget)
	if len(wrong) != 0 || p.Image != "https://e.test/i.png#checked" || linkoption.PreviewOf(p.Event()) != p {
		t.Errorf("%+v, %v", p, wrong)
	}
	_, wrong = linkoption.CheckPreview(linkoption.Preview{Title: strings.Repeat("x", 201), Text: "\xff", Image: "x"}, anyTarget)
	if got := said(wrong); !slices.Equal(got, []string{"preview.title:too_long", "preview.text:invalid", "preview.image:not_allowed"}) {
		t.Errorf("%v", got)
	}
	if _, wrong := linkoption.CheckPreview(linkoption.Preview{}, anyTarget); len(wrong) != 0 {
		t.Errorf("%v", wrong)
	}
}
