package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

func TestTheLifeOfATemplate(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/utm-templates", `{"name": " Newsletter ", "utm": {"source": "news letter", "medium": "email", "term": null}}`)
	if made.status != 201 || made.Name != "Newsletter" || fmt.Sprint(made.UTM) != "map[medium:email source:news letter]" || made.header.Get("Location") != "/v1/utm-templates/"+made.ID {
		t.Fatalf("got %d %s", made.status, made.raw)
	}
	path := "/v1/utm-templates/" + made.ID
	if a := s.send(t, "GET", path, ""); a.status != 200 || a.raw != made.raw {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	patch := func(text string, status int, wrong, want string) {
		t.Helper()
		a := s.send(t, "PATCH", path, text)
		if a.status != status || a.Code+a.wrong() != wrong {
			t.Errorf("%s gives %d %s, want %d %s", text, a.status, a.raw, status, wrong)
		}
		if a := s.send(t, "GET", path, ""); a.Name+fmt.Sprint(a.UTM) != want {
			t.Errorf("after %s: %s, want %s", text, a.raw, want)
		}
	}
	patch(`{}`, 200, "", "Newslettermap[medium:email source:news letter]")
	patch(`{"utm": {"medium": null, "campaign": "spring"}}`, 200, "", "Newslettermap[campaign:spring source:news letter]")
	patch(`{"name": "News"}`, 200, "", "Newsmap[campaign:spring source:news letter]")
	patch(`{"name": null}`, 422, "validationname:required", "Newsmap[campaign:spring source:news letter]")
	patch(`{"utm": null}`, 422, "validationutm:required", "Newsmap[campaign:spring source:news letter]")
	patch(`{"utm": {"source": "", "campaign": null}}`, 422, "validationutm:required", "Newsmap[campaign:spring source:news letter]")
	patch(`{"utm": {"source": "`+strings.Repeat("x", 501)+`"}}`, 422, "validationutm.source:too_long", "Newsmap[campaign:spring source:news letter]")
	patch(`{"id": "x"}`, 422, "validationid:unknown", "Newsmap[campaign:spring source:news letter]")

	refuse := func(text string, status int, wrong string) {
		t.Helper()
		if a := s.send(t, "POST", "/v1/utm-templates", text); a.status != status || a.Code+a.wrong() != wrong {
			t.Errorf("%.80s gives %d %s, want %d %s", text, a.status, a.raw, status, wrong)
		}
	}
	refuse(`{}`, 422, "validationname:required utm:required")
	refuse(`{"name": "News", "utm": {"source": "x"}}`, 409, "name_taken")
	refuse(`{"name": "   ", "utm": {"source": "x"}}`, 422, "validationname:required")
	refuse(`{"name": "a", "utm": {}}`, 422, "validationutm:required")
	refuse(`{"name": "a\u0000", "utm": {"source": "x"}}`, 422, "validationname:invalid")
	refuse(`{"name": "`+strings.Repeat("ä", 101)+`", "utm": {"source": "x"}}`, 422, "validationname:too_long")
	refuse(`{"name": "a", "utm": {"source": "x", "id": "y"}}`, 422, "validationutm.id:unknown")
	refuse(`{"name": "`+strings.Repeat("ä", 100)+`", "utm": {"source": "x"}}`, 201, "")
	other := s.send(t, "POST", "/v1/utm-templates", `{"name": "Other", "utm": {"source": "x"}}`)
	if a := s.send(t, "PATCH", "/v1/utm-templates/"+other.ID, `{"name": "News"}`); a.status != 409 || a.Code != "name_taken" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	// Another workspace may have the name, and sees none of these.
	theirs := "Authorization: Bearer " + s.workspace(t, "second")
	if a := s.send(t, "POST", "/v1/utm-templates", `{"name": "News", "utm": {"source": "x"}}`, theirs); a.status != 201 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if a := s.send(t, "GET", "/v1/utm-templates", "", theirs); len(a.Data) != 1 {
		t.Errorf("got %s", a.raw)
	}
	if a := s.send(t, "DELETE", path, ""); a.status != 204 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if a := s.send(t, method, path, ""); a.status != 404 || a.Code != "not_found" {
			t.Errorf("%s gives %d %s", method, a.status, a.raw)
		}
	}
}

func TestTemplatesHavePagesScopesAndALimit(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.exec(t, `INSERT INTO utm_templates (id, workspace_id, name, source) SELECT gen_random_uuid(), w.id, 'n' || i, 's' FROM workspaces w, generate_series(1, $1) i`, link.MaxTemplates-1)
	// Two that ask for the last place at the same time do not both get it.
	var wait sync.WaitGroup
	answers := make([]answer, 4)
	for i := range answers {
		wait.Go(func() {
			answers[i], _ = s.try(t.Context(), "POST", "/v1/utm-templates", fmt.Sprintf(`{"name": "last %d", "utm": {"source": "x"}}`, i))
		})
	}
	wait.Wait()
	made := 0
	for _, a := range answers {
		if a.status == 201 {
			made++
		} else if a.status != 409 || a.Code != "too_many_templates" {
			t.Errorf("got %d %s", a.status, a.raw)
		}
	}
	if made != 1 {
		t.Errorf("%d were made", made)
	}
	seen, cursor := map[string]bool{}, ""
	for {
		a := s.send(t, "GET", "/v1/utm-templates?limit=70&cursor="+url.QueryEscape(cursor), "")
		for _, d := range a.Data {
			seen[d.Name] = true
		}
		if a.NextCursor == nil {
			break
		}
		cursor = *a.NextCursor
	}
	if len(seen) != link.MaxTemplates {
		t.Errorf("%d are listed", len(seen))
	}
	if a := s.send(t, "GET", "/v1/keys?cursor="+cursor, ""); a.status != 422 || a.wrong() != "cursor:invalid" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	// The same request again finds what it made.
	s.exec(t, `DELETE FROM utm_templates`)
	one := s.send(t, "POST", "/v1/utm-templates", `{"name": "once", "utm": {"source": "x"}}`, "Idempotency-Key: k1")
	if again := s.send(t, "POST", "/v1/utm-templates", `{"name": "once", "utm": {"source": "x"}}`, "Idempotency-Key: k1"); again.status != 201 || again.ID != one.ID {
		t.Errorf("got %d %s", again.status, again.raw)
	}
	reader := "Authorization: Bearer " + s.send(t, "POST", "/v1/keys", `{"name": "r", "scopes": ["links:read"]}`).Key
	if a := s.send(t, "GET", "/v1/utm-templates", "", reader); a.status != 200 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	for method, path := range map[string]string{"POST": "", "PATCH": "/" + one.ID, "DELETE": "/" + one.ID} {
		if a := s.send(t, method, "/v1/utm-templates"+path, `{"name": "x", "utm": {"source": "x"}}`, reader); a.status != 403 {
			t.Errorf("%s gives %d %s", method, a.status, a.raw)
		}
	}
}

func TestTagsWithTheirCounts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, tags := range []string{`["Spring","mail"]`, `["spring","mail"]`, `["mail"]`, `[]`, `["100%","_x"]`} {
		s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "tags": `+tags+`}`)
	}
	gone := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "tags": ["gone"]}`)
	s.send(t, "DELETE", "/v1/links/"+gone.ID, "")
	theirs := "Authorization: Bearer " + s.workspace(t, "second")
	s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "tags": ["theirs"]}`, theirs)
	check := func(query, want string) {
		t.Helper()
		a := s.send(t, "GET", "/v1/tags?"+query, "")
		if a.status != 200 || a.raw != want+"\n" {
			t.Errorf("%s gives %d %s, want %s", query, a.status, a.raw, want)
		}
	}
	check("", `{"data":[{"tag":"mail","links":3},{"tag":"100%","links":1},{"tag":"Spring","links":1},{"tag":"_x","links":1},{"tag":"spring","links":1}],"complete":true}`)
	check("limit=1", `{"data":[{"tag":"mail","links":3}],"complete":true}`)
	check("q=SPR", `{"data":[{"tag":"Spring","links":1},{"tag":"spring","links":1}],"complete":true}`)
	check("q=%25", `{"data":[],"complete":true}`)
	check("q=_", `{"data":[{"tag":"_x","links":1}],"complete":true}`)
	check("q=%00", `{"data":[],"complete":true}`)
	for query, wrong := range map[string]string{"limit=0": "query.limit:invalid", "tag=x": "query.tag:unknown"} {
		if a := s.send(t, "GET", "/v1/tags?"+query, ""); a.status != 422 || a.wrong() != wrong {
			t.Errorf("%s gives %d %s", query, a.status, a.raw)
		}
	}
	// Beyond what is counted, the answer says so. A link does not count itself twice.
	s.exec(t, `INSERT INTO links (id, workspace_id, domain_id, slug, slug_key, destination, tags, version, revision, created_at)
		SELECT gen_random_uuid(), l.workspace_id, l.domain_id, 'x' || i, 'x' || i, l.destination, '{new}', 1, 1, now() + interval '1 hour'
		FROM (SELECT * FROM links WHERE tags @> '{"Spring"}') l, generate_series(1, $1) i`, link.TagsReadFrom)
	check("", fmt.Sprintf(`{"data":[{"tag":"new","links":%d}],"complete":false}`, link.TagsReadFrom))
}

func TestLinksByTheirIDs(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, s.send(t, "POST", "/v1/links", fmt.Sprintf(`{"destination": "https://e.test", "slug": "s%d"}`, i)).ID)
	}
	theirs := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test"}`, "Authorization: Bearer "+s.workspace(t, "second")).ID
	check := func(query, want string) {
		t.Helper()
		a := s.send(t, "GET", "/v1/links?"+query, "")
		var slugs []string
		for _, d := range a.Data {
			slugs = append(slugs, d.Slug)
		}
		if got := strings.Join(slugs, " "); a.status != 200 || got != want {
			t.Errorf("%s gives %d %s, want %s", query, a.status, a.raw, want)
		}
	}
	check("id="+ids[0]+"&id="+ids[2]+"&id="+theirs+"&id=none", "s2 s0")
	check("id="+theirs, "")
	check("id=none", "")
	check("id="+ids[1]+"&q=s1", "s1")
	check("id="+ids[1]+"&q=s2", "")
	many := "id=" + strings.Repeat(ids[0]+"&id=", 100) + ids[1]
	if a := s.send(t, "GET", "/v1/links?"+many, ""); a.status != 422 || a.wrong() != "query.id:too_many" {
		t.Errorf("101 ids give %d %s", a.status, a.raw)
	}
}
