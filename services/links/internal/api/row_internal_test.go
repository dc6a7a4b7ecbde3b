package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

func newTestReader(tb testing.TB) *rowReader {
	tb.Helper()
	return newRowReader(httpapi.New(http.NewServeMux(), Title, Version, nil, nil))
}

// When this fails the schema of a link asks something new of a plain member. All is well
// but slow: let plainRow see to it, or leave the member to the long way, and tell
// plainSchema.
func TestPlainRowsGoTheShortWay(t *testing.T) {
	r := newTestReader(t)
	if !r.short {
		t.Error("the schema asks for more than plainRow sees to")
	}
	limited := *r.registry.SchemaFromRef(r.schema.Ref)
	longest := 5
	title := *limited.Properties["title"]
	title.MaxLength = &longest
	limited.Properties = map[string]*huma.Schema{"title": &title}
	for name, p := range r.registry.SchemaFromRef(r.schema.Ref).Properties {
		if name != "title" {
			limited.Properties[name] = p
		}
	}
	if plainSchema(r.registry, &limited) {
		t.Error("a limit on titles is not noticed")
	}
}

// rows are links as they come in bulk, and whether they are plain.
func rows() map[string]bool {
	return map[string]bool{
		`{"destination":"https://e.test/a?b=c&d","title":"Spring sale 1","tags":["load","spring"]}`: true,
		` { "destination" : "https://e.test/\u0026\"\\" , "tags" : [ ] } `:                          true,
		`{"destination":"https://e.test","domain":"go.test","slug":"a/b","notes":"","fallback_url":"https://e.test/x","status_code":301,` +
			`"archived":true,"disabled":false,"find_or_create":true,"forward_path":true,"title":"Été\n\ud83d\ude00"}`: true,
		`{"tags":["a\\","\"b\""],"destination":"x"}`:              true,
		`{"destination":"x","title":"\\\\"}`:                      true,
		`{"destination":"x","title":"lone \ud800 surrogate"}`:     true,
		`{"destination":"\u0000"}`:                                true,
		`{"destination":""}`:                                      true,
		`{"destination":"x","title":null}`:                        false,
		`{"destination":null}`:                                    false,
		`{"destination":"x","destination":"y"}`:                   false,
		`{"destination":"x","title":"a","title":"b"}`:             false,
		`{"destination":"x","tags":["a"],"tags":[]}`:              false,
		`{"destination":"x","tags":[null]}`:                       false,
		`{"destination":"x","tags":"a"}`:                          false,
		`{"destination":"x","title":7}`:                           false,
		`{"destination":"x","Title":"a"}`:                         false,
		`{"destination":"x","\u0074itle":"a"}`:                    false,
		`{"destination":"x","nonsense":{"a":["}"]}}`:              false,
		`{"destination":"x","status_code":303}`:                   false,
		`{"destination":"x","status_code":302.0}`:                 false,
		`{"destination":"x","status_code":3020}`:                  false,
		`{"destination":"x","archived":"true"}`:                   false,
		`{"destination":"x","max_clicks":5,"password":"secret"}`:  false,
		`{"destination":"x","rules":[]}`:                          false,
		`{"destination":"x","expires_at":"2027-01-01T00:00:00Z"}`: false,
		`{"title":"a"}`:                                           false,
		`{}`:                                                      false,
		`[]`:                                                      false,
		`"x"`:                                                     false,
		`7`:                                                       false,
		`null`:                                                    false,
	}
}

// Guards I98.
func TestTheShortWayReadsWhatTheLongWayReads(t *testing.T) {
	r := newTestReader(t)
	for text, plain := range rows() {
		if got := sameWays(t, r, text); got != plain {
			t.Errorf("%s goes the short way: %t, want %t", text, got, plain)
		}
	}
}

// sameWays holds one way against the other, and says whether the short one was taken.
func sameWays(t *testing.T, r *rowReader, text string) bool {
	t.Helper()
	var short, long, read newLinkBody
	plain := plainRow(text, &short)
	wrong := r.long([]byte(text), &long)
	switch {
	case plain && wrong != nil:
		t.Errorf("%s is refused the long way: %v", text, wrong)
	case plain && !reflect.DeepEqual(short, long):
		t.Errorf("%s is %+v the short way and %+v the long way", text, short, long)
	}
	if got := r.check([]byte(text), &read); (got == nil) != (wrong == nil) || got == nil && !reflect.DeepEqual(read, long) {
		t.Errorf("%s: read as %+v, %v", text, read, got)
	}
	return plain
}

// Guards I98.
func TestABodyIsTakenApartAsEncodingJSONDoes(t *testing.T) {
	check := func(text string, want int) {
		t.Helper()
		links, ok := splitLinks(text)
		if !ok {
			links = nil
		}
		if len(links) != want {
			t.Errorf("%s: %d links, want %d", text, len(links), want)
		}
		sameParts(t, text)
	}
	check(`{"links":[{"destination":"a"},{"destination":"b"}]}`, 2)
	check(" {\n\t\"links\" : [ {} , [1, [2]] , \"a,]}\\\"\" , -1.5e3,null, true ] } ", 6)
	check(`{"links":[]}`, 0)
	check(`{"links":[{"a":"]}"},{"b":{"c":["}","\\"]}}]}`, 2)
	check(`{"links":[1],"more":2}`, 0)
	check(`{"more":2,"links":[1]}`, 0)
	check(`{"\u006cinks":[1]}`, 0)
	check(`{"links":{"a":1}}`, 0)
	check(`{"links":null}`, 0)
	check(`[{"links":[1]}]`, 0)
}

// sameParts holds splitLinks against encoding/json.
func sameParts(t *testing.T, text string) {
	t.Helper()
	links, ok := splitLinks(text)
	if !ok {
		return
	}
	var body struct{ Links []json.RawMessage }
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(body.Links) != len(links) {
		t.Fatalf("%s: %q, want %q", text, links, body.Links)
	}
	for i, link := range links {
		if link != string(body.Links[i]) {
			t.Errorf("%s: link %d is %q, want %q", text, i, link, body.Links[i])
		}
	}
}

// FuzzRows looks for a row, or a body, that the short way reads in another way than the
// long one.
func FuzzRows(f *testing.F) {
	for text := range rows() {
		f.Add(text)
		f.Add(`{"links":[` + text + `,{}]}`)
	}
	r := newTestReader(f)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ToValidUTF8(text, "") != text || !json.Valid([]byte(text)) {
			return // refused before
		}
		sameWays(t, r, text)
		sameParts(t, text)
	})
}

// BenchmarkRow reads a row as campaigns have them.
func BenchmarkRow(b *testing.B) {
	r := newTestReader(b)
	const text = `{"destination":"https://www.example.com/landing/t8xb123456?utm_source=newsletter&utm_campaign=spring","title":"Spring sale 123456","tags":["load","spring"]}`
	b.Run("short", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r.read(text, &newLinkBody{}) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("long", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r.long([]byte(text), &newLinkBody{}) != nil {
				b.Fatal("refused")
			}
		}
	})
}
