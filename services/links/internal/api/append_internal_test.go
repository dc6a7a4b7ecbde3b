package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/linkoption"
)

func testView() linkView {
	at := time.Date(2026, 11, 30, 12, 0, 0, 120_000, time.UTC)
	return linkView{
		ID: "01a22c60-f107-73b4-a642-cb8fa6799a62", ShortURL: "https://go.test/a", Domain: "go.test", Slug: "a",
		Destination: "https://www.example.com/landing/t8xb123456?utm_source=newsletter&utm_campaign=spring", Title: "Spring sale 123456",
		Tags: []string{"load", "spring"}, StatusCode: 302, ForwardQuery: "off", Version: 1, CreatedAt: at, UpdatedAt: at,
		OptionsView: OptionsView{Rules: []linkoption.Rule{}, Variants: []linkoption.Variant{}},
	}
}

// Guards I98.
func TestResultsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	check := func(name string, plain bool, edit func(v *linkView)) {
		t.Helper()
		v := testView()
		edit(&v)
		if got := v.plain(); got != plain {
			t.Errorf("%s: plain %t, want %t", name, got, plain)
		}
		body := bulkOutputBody{Results: []bulkResult{
			{Index: 0, Status: 201, Link: &v},
			{Index: 1, Status: 422, Error: httpapi.Invalid(httpapi.FieldError{Field: "title", Code: "too_long", Detail: "<&>"})},
			{Index: 2, Status: 200, Link: &v},
		}}
		for _, body := range []bulkOutputBody{body, {Results: []bulkResult{}}} {
			var want bytes.Buffer
			encoder := json.NewEncoder(&want)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(body); err != nil {
				t.Fatal(name, err)
			}
			got, err := body.AppendJSON(nil)
			if got = append(got, '\n'); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s: got\n%s%v, want\n%s", name, got, err, want.Bytes())
			}
		}
	}
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	number, winner := int64(7), 2
	text := "https://f.test/\"\\"
	check("plain", true, func(*linkView) {})
	check("everything plain", true, func(v *linkView) {
		v.Title, v.Notes, v.Tags = "Été <b>&amp;\u007f</b> \"quoted\\\"", "😀", []string{}
		v.StartsAt, v.ExpiresAt, v.VariantsEndAt, v.FallbackURL, v.MaxClicks, v.VariantsWinner = &at, &at, &at, &text, &number, &winner
		v.Archived, v.Disabled, v.HasPassword, v.ForwardPath = true, true, true, true
	})
	check("a line feed", false, func(v *linkView) { v.Notes = "a\nb" })
	check("a separator", false, func(v *linkView) { v.Tags = []string{"\u2028"} })
	check("no UTF-8", false, func(v *linkView) { v.Title = "\xff" })
	check("another zone", false, func(v *linkView) { v.CreatedAt = at.In(time.FixedZone("x", 3600)) })
	check("utm", false, func(v *linkView) { v.UTM.value = &linkoption.UTM{Source: "mail"} })
	check("preview", false, func(v *linkView) { v.Preview.value = &linkoption.Preview{Title: "a"} })
	check("rules", false, func(v *linkView) { v.Rules = []linkoption.Rule{{Destination: "https://e.test"}} })
	check("variants", false, func(v *linkView) { v.Variants = []linkoption.Variant{{Destination: "https://e.test", Weight: 1}} })
	check("no tags", false, func(v *linkView) { v.Tags = nil })
}

// BenchmarkAppend writes a thousand results, beside encoding/json.
func BenchmarkAppend(b *testing.B) {
	v := testView()
	body := bulkOutputBody{Results: make([]bulkResult, maxBulk)}
	for i := range body.Results {
		body.Results[i] = bulkResult{Index: i, Status: http.StatusCreated, Link: &v}
	}
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			if _, err := body.AppendJSON(nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			if err := json.NewEncoder(&bytes.Buffer{}).Encode(body); err != nil {
				b.Fatal(err)
			}
		}
	})
}
