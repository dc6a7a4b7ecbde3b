package link

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// wrong returns field:code of everything that is wrong, in order.
func wrong(err error) []string {
	var invalid FieldErrors
	errors.As(err, &invalid)
	out := []string{}
	for _, f := range invalid {
		out = append(out, f.Field+":"+string(f.Code))
	}
	return out
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := new(Rules).CheckNew(Change{
		Domain:      Some("no host"),
		Slug:        Some("api"),
		Title:       Some(strings.Repeat("x", 501)),
		Notes:       Some("a\x00b"),
		Tags:        Some([]string{strings.Repeat("x", 65), "a\nb"}),
		StatusCode:  Some(303),
		FallbackURL: Some("ftp://x"),
		ExpiresAt:   Some(&late),
	})
	want := []string{
		"destination:required", "domain:unknown_domain", "slug:reserved", "fallback_url:not_allowed", "title:too_long",
		"notes:invalid", "tags:too_long", "tags:invalid", "status_code:invalid", "expires_at:invalid",
	}
	if got := wrong(err); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestTagsAreTrimmedAndUnique(t *testing.T) {
	check := func(in, want []string, mistakes int) {
		t.Helper()
		c, err := new(Rules).CheckEdit(Change{Tags: Some(in)})
		if n := len(wrong(err)); n != mistakes {
			t.Errorf("%q: %d mistakes, want %d: %v", in, n, mistakes, err)
		}
		if got := c.change.Tags.Value; mistakes == 0 && !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	check([]string{" a ", "b", "a", "", "  "}, []string{"a", "b"}, 0)
	many := make([]string, 0, 22)
	for i := range 20 {
		many = append(many, string(rune('a'+i)))
	}
	check(append(many, "a", " b "), many, 0)
	check(append(many, "z"), nil, 1)
	check([]string{strings.Repeat("é", 64)}, []string{strings.Repeat("é", 64)}, 0)
}

func TestStartsBeforeItExpires(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	later := noon.Add(time.Hour)
	check := func(l Link, c Change, want ...string) {
		t.Helper()
		checked, err := new(Rules).CheckEdit(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := wrong(checked.Apply(&l)); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	check(Link{}, Change{StartsAt: Some(&noon), ExpiresAt: Some(&later)})
	check(Link{}, Change{StartsAt: Some(&noon), ExpiresAt: Some(&noon)}, "expires_at:invalid")
	check(Link{StartsAt: &later}, Change{ExpiresAt: Some(&noon)}, "expires_at:invalid")
	check(Link{StartsAt: &later}, Change{ExpiresAt: Some(&noon), StartsAt: Some[*time.Time](nil)})
	check(Link{StartsAt: &later, ExpiresAt: &noon}, Change{Title: Some("old rows are not judged")})
}

func TestAnEditJudgesOnlyWhatItNames(t *testing.T) {
	if _, err := new(Rules).CheckEdit(Change{Archived: Some(true)}); err != nil {
		t.Error(err)
	}
	old := Link{Destination: "gopher://old", Slug: "api", StatusCode: 302, Tags: []string{"t"}}
	checked, err := new(Rules).CheckEdit(Change{Title: Some("new"), StatusCode: Some(0), Tags: Some[[]string](nil)})
	if err != nil {
		t.Fatal(err)
	}
	if err := checked.Apply(&old); err != nil {
		t.Fatal(err)
	}
	if old.Destination != "gopher://old" || old.Title != "new" || old.StatusCode != DefaultStatus || len(old.Tags) != 0 {
		t.Errorf("got %+v", old)
	}
}
