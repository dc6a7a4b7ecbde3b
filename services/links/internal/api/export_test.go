package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Guards I85.
func TestAnExportImportsBackUnchanged(t *testing.T) {
	s := newService(t)
	defer s.work(t)()
	odd := []string{
		`{"destination": "https://e.test/?q==1&r=%22a%22,b", "slug": "-dash", "title": "=1+1", "notes": "'=\"x\"\r\n\tline;two\n ", "tags": ["a,b", "=c", "[d]"]}`,
		`{"destination": "https://e.test/", "slug": "ü/🎉", "title": " spaces ", "notes": "@x", "tags": ["plain", "two words"], "expires_at": "2030-01-01T00:00:00.123456Z"}`,
		`{"destination": "https://e.test/<b>&", "slug": "html", "title": "<b>&", "archived": true, "utm": {"campaign": "<&>"}}`,
		strings.Replace(everything, `"password": "open sesame", `, "", 1),
	}
	for _, body := range odd {
		if a := s.send(t, http.MethodPost, "/v1/links", body); a.status != 201 {
			t.Fatal(a.raw)
		}
	}
	before := map[string]map[string]string{}
	for _, slug := range []string{"-dash", "ü/🎉", "html", "all"} {
		before[slug] = s.bySlug(t, slug)
	}
	for _, format := range []string{"csv", "jsonl"} {
		file := s.text(t, "/v1/links/export?format="+format)
		for _, l := range before {
			s.send(t, http.MethodDelete, "/v1/links/"+strings.Trim(l["id"], `"`), "")
		}
		id := s.upload(t, "", file)
		if j := s.finished(t, id); j.Created != len(odd) || j.Failed != 0 || len(j.IgnoredColumns) != 0 || j.Format != format {
			t.Fatalf("%s: %+v\n%s\n%s", format, j, s.text(t, "/v1/imports/"+id+"/report"), file)
		}
		for slug, old := range before {
			now := s.bySlug(t, slug)
			for member, was := range old {
				switch member {
				case "id", "version", "created_at", "updated_at":
				default:
					if now[member] != was {
						t.Errorf("%s: %s of %s was %s and is %s", format, member, slug, was, now[member])
					}
				}
			}
			old["id"] = now["id"]
		}
	}
	if got := s.text(t, "/v1/links/export?tag=plain"); strings.Count(got, "\r\n") != 2 {
		t.Errorf("a filter of the list is not one of the export:\n%s", got)
	}
	// A link with a password cannot come back, and does not come back open.
	s.send(t, http.MethodPost, "/v1/links", `{"destination": "https://e.test/", "slug": "locked", "password": "open sesame", "tags": ["locked"]}`)
	id := s.upload(t, "?on_conflict=rename", s.text(t, "/v1/links/export?tag=locked"))
	if j := s.finished(t, id); j.Failed != 1 || s.report(t, id) != "2 locked failed not_allowed" {
		t.Errorf("%+v %s", j, s.report(t, id))
	}
}

// bySlug are the members of the link with a slug.
func (s *service) bySlug(t *testing.T, slug string) map[string]string {
	t.Helper()
	var id string
	if err := s.pool.QueryRow(t.Context(), `SELECT id FROM links WHERE slug = $1`, slug).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return members(t, s.send(t, http.MethodGet, "/v1/links/"+id, ""))
}

// An export of more than a page has each link once.
func TestAnExportHasEachLinkOnce(t *testing.T) {
	s := newService(t)
	defer s.work(t)()
	var file strings.Builder
	file.WriteString("destination\n")
	for i := range 1201 {
		fmt.Fprintf(&file, "https://e.test/%d\n", i)
	}
	s.finished(t, s.upload(t, "", file.String()))
	lines := strings.Split(strings.TrimSpace(s.text(t, "/v1/links/export?format=jsonl")), "\n")
	different := map[string]bool{}
	for _, l := range lines {
		different[l] = true
	}
	if len(lines) != 1201 || len(different) != 1201 {
		t.Errorf("%d lines, %d of them different", len(lines), len(different))
	}
}
