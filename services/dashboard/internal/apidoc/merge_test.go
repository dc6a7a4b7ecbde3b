package apidoc

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const (
	linksDoc = `{"openapi":"3.1.0","info":{"title":"links","version":"1"},
		"paths":{"/v1/links":{"post":{"summary":"Create <a> link","security":[{"bearer":["links:write"]}]},"get":{"summary":"List links"}}},
		"components":{"schemas":{"Problem":{"type":"object","required":["a"]},"Link":{"maximum":9007199254740993}},
			"securitySchemes":{"bearer":{"type":"http"}}},
		"tags":[{"name":"links"}]}`
	analyticsDoc = `{"openapi":"3.1.0","info":{"title":"analytics","version":"1"},
		"paths":{"/v1/analytics/summary":{"get":{"summary":"Totals"}}},
		"webhooks":{"link.created":{"post":{"summary":"A link was created"}}},
		"components":{"schemas":{"Problem":{"required":["a"],  "type":"object"}},"securitySchemes":{"bearer":{"type":"http"}}},
		"tags":[{"name":"analytics"},{"name":"links"}]}`
	whole = `{"openapi":"3.1.0","info":{"title":"linkstream API","version":"v1","description":"` + description + `","license":{"name":"Apache 2.0","identifier":"Apache-2.0"}},"servers":[{"url":"/"}],` +
		`"tags":[{"name":"links"},{"name":"analytics"}],` +
		`"paths":{"/v1/analytics/summary":{"get":{"summary":"Totals"}},` +
		`"/v1/links":{"get":{"summary":"List links"},"post":{"security":[{"bearer":["links:write"]}],"summary":"Create <a> link"}}},` +
		`"webhooks":{"link.created":{"post":{"summary":"A link was created"}}},` +
		`"components":{"schemas":{"Link":{"maximum":9007199254740993},"Problem":{"required":["a"],"type":"object"}},` +
		`"securitySchemes":{"bearer":{"type":"http"}}}}`
)

func TestPartsBecomeOneDocument(t *testing.T) {
	got, err := Merge([]byte(linksDoc), []byte(analyticsDoc))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != whole {
		t.Errorf("got  %s\nwant %s", got, whole)
	}
	again, err := Merge([]byte(linksDoc), []byte(analyticsDoc))
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("the same parts give other bytes: %v", err)
	}
	var out strings.Builder
	if err := WriteIndented(&out, got); err != nil || !strings.HasPrefix(out.String(), "{\n  \"openapi\": \"3.1.0\",") || !strings.HasSuffix(out.String(), "}\n") {
		t.Errorf("indented: %v %.40q", err, out.String())
	}
}

func TestDisagreementIsAnErrorThatNamesThePlace(t *testing.T) {
	const head = `{"openapi":"3.1.0","paths":{`
	check := func(one, two, place string) {
		t.Helper()
		_, err := Merge([]byte(one), []byte(two))
		if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), place) {
			t.Errorf("got %v, want a conflict at %q", err, place)
		}
	}
	check(head+`"/v1/a":{"get":{"summary":"x"}}}}`, head+`"/v1/a":{"get":{"summary":"y"}}}}`, "paths /v1/a get")
	check(head+`},"components":{"schemas":{"P":{"type":"object"}}}}`, head+`},"components":{"schemas":{"P":{"type":"string"}}}}`, "components schemas P")
	check(head+`}}`, `{"openapi":"3.0.3","paths":{}}`, "OpenAPI 3.1.0 and 3.0.3")

	if _, err := Merge([]byte(head+`"/v1/a":{"get":{}}}}`), []byte(head+`"/v1/a":{"get":{},"post":{}}}}`)); err != nil {
		t.Errorf("equal operations and a new one: %v", err)
	}
}

func TestWhatIsNoDocumentIsRefused(t *testing.T) {
	check := func(part string) {
		t.Helper()
		if _, err := Merge([]byte(linksDoc), []byte(part)); err == nil || !strings.Contains(err.Error(), "document 2") {
			t.Errorf("%q: %v", part, err)
		}
	}
	check("")
	check("[]")
	check(`{"openapi":"3.1.0"}`)
	check(`{"swagger":"2.0","paths":{}}`)
}
