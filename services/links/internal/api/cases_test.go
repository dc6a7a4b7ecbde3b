package api_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

func readCases[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []T }
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) < 40 {
		t.Fatalf("%s has %d cases, %v", name, len(file.Cases), err)
	}
	return file.Cases
}

// body is a request body of the given fields; nil ones are null.
func body(t *testing.T, fields map[string]any) string {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTargetsAreTakenAndStoredAsTheCasesSay(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, c := range readCases[struct {
		Name, Destination, Location, Visit string
		Create                             int
		ForwardQuery                       string `json:"forward_query"`
	}](t, "targets.json") {
		fields := map[string]any{"destination": c.Destination}
		if c.ForwardQuery != "" {
			fields["forward_query"] = c.ForwardQuery
			if a := s.send(t, "POST", "/v1/links", body(t, fields)); a.status != c.Create || a.Destination != c.Destination {
				t.Errorf("%s: gives %d %s", c.Name, a.status, a.raw)
			}
			continue
		}
		a := s.send(t, "POST", "/v1/links", body(t, fields))
		if a.status != c.Create {
			t.Errorf("%s: got %d %.300s, want %d", c.Name, a.status, a.raw, c.Create)
		}
		if c.Create == 201 && a.Destination != c.Location {
			t.Errorf("%s: stored %q, want %q", c.Name, a.Destination, c.Location)
		}
	}
}

func TestSlugsAreTakenAndFoundAsTheCasesSay(t *testing.T) {
	t.Parallel()
	type second struct {
		Slug   *string
		Create int
	}
	for _, c := range readCases[struct {
		Name       string
		Slug       *string
		Create     int
		Redirects  []string
		NotFound   []string `json:"not_found"`
		DomainCase string   `json:"domain_case"`
		KeptAs     string   `json:"kept_as"`
		Second     *second  `json:"second_create"`
	}](t, "slugs.json") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			if a := s.send(t, "POST", "/v1/domains", body(t, map[string]any{"host": "case.test", "case_sensitive": c.DomainCase != "insensitive"})); a.status != 201 {
				t.Fatalf("got %d %s", a.status, a.raw)
			}
			create := func(slug *string, status int) answer {
				t.Helper()
				a := s.send(t, "POST", "/v1/links", body(t, map[string]any{"destination": "https://e.test/", "slug": slug, "domain": "case.test"}))
				if a.status != status {
					t.Errorf("got %d %s, want %d", a.status, a.raw, status)
				}
				return a
			}
			made := create(c.Slug, c.Create)
			if c.KeptAs != "" && made.Slug != c.KeptAs {
				t.Errorf("kept as %q, want %q", made.Slug, c.KeptAs)
			}
			// What the edge asks the origin for an address.
			find := func(path string) error {
				slug, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.store.Resolve(t.Context(), "case.test", slug)
				return err
			}
			for _, path := range c.Redirects {
				if err := find(path); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			for _, path := range c.NotFound {
				if err := find(path); !errors.Is(err, link.ErrNotFound) {
					t.Errorf("%s: %v, want not found", path, err)
				}
			}
			if c.Second != nil {
				create(c.Second.Slug, c.Second.Create)
			}
			// A bulk call judges by the same rules.
			if c.Create == 422 {
				a := s.send(t, "POST", "/v1/links/bulk", `{"links": [`+body(t, map[string]any{"destination": "https://e.test/", "slug": c.Slug, "domain": "case.test"})+`]}`)
				if a.status != 200 || len(a.Results) != 1 || a.Results[0].Status != 422 {
					t.Errorf("in bulk: %d %s", a.status, a.raw)
				}
			}
		})
	}
}
