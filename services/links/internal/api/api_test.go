package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestACreatedLinkIsShownWhole(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.send(t, "POST", "/v1/links", `{"destination": "HTTPS://E.test/ä b?x=%2f", "slug": "spring/❤️", "title": "T", "notes": "N",
		"tags": [" b ", "a", "b"], "status_code": 301, "starts_at": "2030-01-01T12:00:00+02:00", "expires_at": "2031-01-01T00:00:00.123456789Z",
		"fallback_url": "https://e.test/over", "archived": true, "max_clicks": null, "password": null, "rules": [], "variants": [], "forward_query": "off", "find_or_create": false}`)
	if a.status != http.StatusCreated {
		t.Fatalf("got %d %s", a.status, a.raw)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(a.raw), &got); err != nil {
		t.Fatal(err)
	}
	id, err := uuid.Parse(a.ID)
	if err != nil || id.Version() != 7 {
		t.Errorf("id is %q, want a UUIDv7", a.ID)
	}
	instant := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	if !instant.MatchString(a.CreatedAt) || a.CreatedAt != a.UpdatedAt {
		t.Errorf("created_at %q, updated_at %q", a.CreatedAt, a.UpdatedAt)
	}
	for _, name := range []string{"id", "created_at", "updated_at"} {
		delete(got, name)
	}
	want := map[string]any{
		"short_url": "https://go.test/spring/%E2%9D%A4%EF%B8%8F", "domain": "go.test", "slug": "spring/❤️",
		"destination": "https://e.test/%C3%A4%20b?x=%2f", "title": "T", "notes": "N", "tags": []any{"b", "a"}, "status_code": 301.0,
		"starts_at": "2030-01-01T10:00:00Z", "expires_at": "2031-01-01T00:00:00.123456Z", "fallback_url": "https://e.test/over",
		"archived": true, "max_clicks": nil, "has_password": false, "forward_query": "off", "rules": []any{}, "variants": []any{}, "version": 1.0,
		"disabled": false, "forward_path": false, "utm": nil, "preview": nil, "variants_end_at": nil, "variants_winner": nil,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if a.header.Get("Location") != "/v1/links/"+a.ID || a.header.Get("ETag") != `"1"` || a.header.Get("X-Request-Id") == "" {
		t.Errorf("headers: %v", a.header)
	}
	again := s.send(t, "GET", "/v1/links/"+a.ID, "")
	if again.status != http.StatusOK || again.raw != a.raw || again.header.Get("ETag") != `"1"` {
		t.Errorf("GET gives %d %s\nPOST gave %s", again.status, again.raw, a.raw)
	}
}

func TestDefaultsOfALink(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, body := range []string{
		`{"destination": "https://e.test"}`,
		`{"destination": "https://e.test", "slug": null, "domain": null, "title": null, "tags": null, "status_code": null, "starts_at": null, "fallback_url": null, "archived": null}`,
		`{"destination": "https://e.test", "domain": "GO.test."}`,
	} {
		a := s.send(t, "POST", "/v1/links", body)
		if a.status != http.StatusCreated || len(a.Slug) != 7 || a.Domain != host || a.StatusCode != http.StatusFound || a.Tags == nil || a.StartsAt != nil || a.FallbackURL != nil {
			t.Errorf("%s gives %d %s", body, a.status, a.raw)
		}
	}
}

func TestBadInputIsRefusedAndStoresNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.exec(t, `INSERT INTO domains (id, host) VALUES ($1, 'other.test')`, uuid.New())
	check := func(body string, status int, code, wrong string, headers ...string) {
		t.Helper()
		a := s.send(t, "POST", "/v1/links", body, headers...)
		if a.status != status || a.Code != code || a.wrong() != wrong {
			t.Errorf("%.100s\ngot  %d %s [%s] %.300s\nwant %d %s [%s]", body, a.status, a.Code, a.wrong(), a.raw, status, code, wrong)
		}
		if a.header.Get("Content-Type") != "application/problem+json" || a.Status != status || a.Type == "" || a.RequestID == "" || a.RequestID != a.header.Get("X-Request-Id") {
			t.Errorf("%.100s: not a whole problem: %v %.300s", body, a.header, a.raw)
		}
	}
	invalid := func(body, wrong string) {
		t.Helper()
		check(body, 422, "validation", wrong)
	}
	check(`{"destination": `, 400, "malformed", "")
	check(`nonsense`, 400, "malformed", "")
	check("{\"destination\": \"https://e.test/\xff\"}", 400, "malformed", "")
	check(``, 400, "malformed", "")
	check(`{"destination": "https://e.test"}`, 415, "unsupported_media_type", "", "Content-Type: text/plain")
	check(`{"destination": "https://e.test"}`, 422, "validation", "header.Idempotency-Key:invalid", "Idempotency-Key: a b")
	check(`{"destination": "https://e.test", "notes": "`+strings.Repeat("x", 1<<20)+`"}`, 413, "body_too_large", "")
	invalid(`[]`, "body:invalid")
	invalid(`{}`, "destination:required")
	invalid(`{"destination": null}`, "destination:invalid")
	invalid(`{"destination": 7}`, "destination:invalid")
	invalid(`{"destination": "https://e.test", "color": "red"}`, "color:unknown")
	invalid(`{"Destination": "https://e.test"}`, "destination:required Destination:unknown")
	invalid(`{"destination": ""}`, "destination:required")
	invalid(`{"destination": "javascript:alert(1)", "slug": "api", "tags": ["`+strings.Repeat("x", 65)+`"], "title": "a\u0000b"}`,
		"slug:reserved destination:not_allowed title:invalid tags:too_long")
	invalid(`{"destination": "https://go.test/x"}`, "destination:own_domain")
	invalid(`{"destination": "https://OTHER.test.:8443/x", "fallback_url": "http://go.test"}`, "destination:own_domain fallback_url:own_domain")
	invalid(`{"destination": "https://e.test", "domain": "unknown.test"}`, "domain:unknown_domain")
	invalid(`{"destination": "https://e.test", "domain": ""}`, "domain:unknown_domain")
	invalid(`{"destination": "https://e.test", "status_code": 303}`, "status_code:invalid")
	invalid(`{"destination": "https://e.test", "starts_at": "tomorrow"}`, "starts_at:invalid")
	invalid(`{"destination": "https://e.test", "starts_at": "2031-01-01T00:00:00Z", "expires_at": "2030-01-01T00:00:00Z"}`, "expires_at:invalid")
	invalid(`{"destination": "https://e.test", "password": "abc", "max_clicks": 0, "rules": [{}], "variants": [{}]}`,
		"max_clicks:invalid password:too_short rules[0].conditions:required rules[0].destination:required variants[0].destination:required variants[0].weight:required")
	invalid(`{"destination": "https://e.test", "forward_query": "never"}`, "forward_query:invalid")
	if n := s.count(t, `SELECT (SELECT count(*) FROM links) + (SELECT count(*) FROM outbox)`); n != 0 {
		t.Errorf("%d rows were stored", n)
	}
	a := s.send(t, "PUT", "/v1/links", "{}")
	if a.status != 405 || a.header.Get("Allow") == "" || a.Code != "method_not_allowed" {
		t.Errorf("PUT gives %d %s %v", a.status, a.raw, a.header)
	}
}

func TestSlugsAreUniqueInNormalForm(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.exec(t, `INSERT INTO domains (id, host, case_sensitive) VALUES ($1, 'loose.test', false)`, uuid.New())
	create := func(domain, slug string, status int, code string) {
		t.Helper()
		a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "domain": "`+domain+`", "slug": `+quoted(slug)+`}`)
		if a.status != status || a.Code != code {
			t.Errorf("%s/%q gives %d %s, want %d %s", domain, slug, a.status, a.raw, status, code)
		}
		if status == 201 && a.Slug != slug {
			t.Errorf("%q is shown as %q", slug, a.Slug)
		}
	}
	create(host, "3e", 201, "")
	create(host, "3e", 409, "slug_taken")
	create(host, "3E", 201, "")
	create("loose.test", "3e", 201, "") // the same slug on two domains never meets
	create("loose.test", "SaLe", 201, "")
	create("loose.test", "sale", 409, "slug_taken")
	create(host, "café", 201, "")
	create(host, "cafe\u0301", 409, "slug_taken")
	create(host, "❤️", 201, "")
	create(host, "❤", 409, "slug_taken")
}

func TestAMergePatch(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "a", "title": "T", "tags": ["x"], "status_code": 307, "expires_at": "2030-01-01T00:00:00Z", "fallback_url": "https://e.test/f", "archived": true}`)
	path := "/v1/links/" + made.ID
	patch := func(body string, version int, headers ...string) answer {
		t.Helper()
		a := s.send(t, "PATCH", path, body, headers...)
		if a.status != 200 || a.Version != version || a.header.Get("ETag") != strconv.Quote(strconv.Itoa(version)) {
			t.Fatalf("%s gives %d %s, want version %d", body, a.status, a.raw, version)
		}
		return a
	}
	a := patch(`{"destination": "https://e.test/2"}`, 2)
	if a.Destination != "https://e.test/2" || a.Title != "T" || a.StatusCode != http.StatusTemporaryRedirect || a.UpdatedAt <= made.UpdatedAt || a.CreatedAt != made.CreatedAt {
		t.Errorf("got %s", a.raw)
	}
	for _, kind := range []string{"application/json-patch+json", "application/vnd.api+json", "text/plain", "application/xml", "json"} {
		if a := s.send(t, "PATCH", path, `{"title": "other"}`, "Content-Type: "+kind); a.status != 415 || a.Code != "unsupported_media_type" {
			t.Errorf("a PATCH of %s gives %d %s", kind, a.status, a.raw)
		}
	}
	a = patch(`{"title": null, "tags": null, "status_code": null, "expires_at": null, "fallback_url": null, "archived": null}`, 3, "Content-Type: application/merge-patch+json; charset=utf-8")
	if a.Title != "" || len(a.Tags) != 0 || a.StatusCode != http.StatusFound || a.ExpiresAt != nil || a.FallbackURL != nil || a.Archived {
		t.Errorf("got %s", a.raw)
	}
	patch(`{}`, 3)
	patch(`{"destination": "HTTPS://e.test/2", "title": ""}`, 3) // nothing changes
	patch(`{"slug": "b"}`, 4)
	outbox := s.count(t, `SELECT coalesce(sum(changes), 0) FROM outbox`)
	refuse := func(body string, status int, wrong string) {
		t.Helper()
		if a := s.send(t, "PATCH", path, body); a.status != status || a.wrong() != wrong {
			t.Errorf("%s gives %d %s", body, a.status, a.raw)
		}
	}
	refuse(`{"slug": null, "destination": null, "domain": null}`, 422, "destination:required domain:required slug:required")
	refuse(`{"max_clicks": 0}`, 422, "max_clicks:invalid")
	refuse(`{"destination": "https://go.test/loop"}`, 422, "destination:own_domain")
	refuse(`{"id": "x"}`, 422, "id:unknown")
	refuse(`{`, 400, "")
	s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "taken"}`)
	refuse(`{"slug": "taken"}`, 409, "")
	if n := s.count(t, `SELECT coalesce(sum(changes), 0) FROM outbox`); n != outbox+1 {
		t.Errorf("refused patches wrote %d records", n-outbox-1)
	}
	if a := s.send(t, "GET", path, ""); a.Version != 4 || a.Slug != "b" {
		t.Errorf("got %s", a.raw)
	}
	// The old slug is free at once.
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "a"}`); a.status != 201 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := newService(t)
	path := "/v1/links/" + s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1"}`).ID
	check := func(method, tag string, status int) {
		t.Helper()
		body := ""
		if method == "PATCH" {
			body = `{"title": ` + quoted(tag+time.Now().String()) + `}`
		}
		a := s.send(t, method, path, body, "If-Match: "+tag)
		if a.status != status || status == 412 && a.Code != "stale_version" {
			t.Errorf("%s %s gives %d %s, want %d", method, tag, a.status, a.raw, status)
		}
	}
	check("PATCH", `"2"`, 412)
	check("PATCH", `W/"1"`, 412)
	check("PATCH", `nonsense`, 400)
	check("PATCH", `"1", 2"`, 400)
	check("PATCH", `2`, 412)
	check("PATCH", `"1"`, 200)
	check("PATCH", `"1"`, 412)
	check("PATCH", `"7", "2"`, 200)
	check("PATCH", `*`, 200)
	check("DELETE", `"3"`, 412)
	check("DELETE", `nonsense`, 400)
	check("DELETE", `"4"`, 204)
	check("DELETE", `"4"`, 404)
	check("PATCH", `"4"`, 404)
}

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "mine"}`).ID
	calls := map[string]string{"GET /v1/links": "", "POST /v1/links": `{"destination": "https://e.test"}`, "GET /v1/links/" + id: "", "PATCH /v1/links/" + id: `{"title": "x"}`, "DELETE /v1/links/" + id: ""}
	check := func(key string, want map[string]int) {
		t.Helper()
		for _, call := range slices.Sorted(maps.Keys(calls)) {
			method, path, _ := strings.Cut(call, " ")
			status, ok := want[method+" "+strings.Replace(path, id, "ID", 1)]
			if !ok {
				status = want["rest"]
			}
			if a := s.send(t, method, path, calls[call], "Authorization: "+key); a.status != status {
				t.Errorf("%s with %.20q gives %d %s, want %d", call, key, a.status, a.raw, status)
			}
		}
	}
	nobody := map[string]int{"rest": 401}
	check("", nobody)
	check("Bearer ", nobody)
	check("Basic "+s.key, nobody)
	check("Bearer nonsense", nobody)
	check("Bearer ls_key_"+strings.Repeat("x", 43), nobody)
	check("Bearer ls_ses_"+strings.Repeat("x", 43), nobody)
	check("Bearer ls_key_"+strings.Repeat("x", 5000), nobody)
	check("Bearer "+s.workspace(t, "second"), map[string]int{"GET /v1/links": 200, "POST /v1/links": 201, "rest": 404})
	if a := s.send(t, "GET", "/v1/links", ""); len(a.Data) != 1 {
		t.Errorf("another workspace's link shows: %s", a.raw)
	}
	s.exec(t, `UPDATE api_keys SET scopes = '{links:read}' WHERE key_hash = $1`, ring(t).Hash(s.key))
	check("Bearer "+s.key, map[string]int{"GET /v1/links": 200, "GET /v1/links/ID": 200, "rest": 403})
	s.exec(t, `UPDATE api_keys SET scopes = '{analytics:read}' WHERE key_hash = $1`, ring(t).Hash(s.key))
	check("Bearer "+s.key, map[string]int{"rest": 403})
	s.exec(t, `UPDATE api_keys SET revoked_at = now() WHERE key_hash = $1`, ring(t).Hash(s.key))
	check("Bearer "+s.key, nobody)
	if n := s.count(t, `SELECT count(*) FROM links WHERE slug = 'mine' AND version = 1`); n != 1 {
		t.Error("the link was changed")
	}
}

func TestAnotherWorkspacesDomainIsUnknown(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.workspace(t, "second")
	s.exec(t, `INSERT INTO domains (id, host, workspace_id) SELECT gen_random_uuid(), 'theirs.test', id FROM workspaces WHERE name = 'second'`)
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "domain": "theirs.test"}`); a.status != 422 || a.wrong() != "domain:unknown_domain" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	// But a link to it would still be a loop.
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://theirs.test/x"}`); a.status != 422 || a.wrong() != "destination:own_domain" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
}

func TestIdsThatAreNone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, id := range []string{"x", uuid.NewString(), "{" + uuid.NewString() + "}", "%00"} {
		for _, method := range []string{"GET", "DELETE"} {
			if a := s.send(t, method, "/v1/links/"+id, ""); a.status != 404 || a.Code != "not_found" || a.RequestID == "" {
				t.Errorf("%s %q gives %d %s", method, id, a.status, a.raw)
			}
		}
	}
}

func TestADatabaseThatIsAwayIs503(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.pool.Close()
	if a := s.send(t, "GET", "/v1/links", ""); a.status != 503 || a.header.Get("Retry-After") == "" || a.Code != "unavailable" {
		t.Errorf("got %d %s %v", a.status, a.raw, a.header)
	}
}

// A database that hangs is a 503 within five seconds, whatever is asked.
func TestADatabaseThatHangsIsA503(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test"}`)
	hang, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hang.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := hang.Exec(t.Context(), `LOCK TABLE links IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	many := strings.TrimSuffix(strings.Repeat(`{"destination": "https://e.test"},`, 1000), ",")
	var asking sync.WaitGroup
	for _, q := range [][3]string{
		{"GET", "/v1/links", ""},
		{"GET", "/v1/links?q=text", ""},
		{"POST", "/v1/links", `{"destination": "https://e.test"}`},
		{"POST", "/v1/links/bulk", `{"links": [` + many + `]}`},
		{"PATCH", "/v1/links/" + made.ID, `{"title": "T"}`},
		{"DELETE", "/v1/links/" + made.ID, ""},
	} {
		asking.Go(func() {
			began := time.Now()
			a, err := s.try(t.Context(), q[0], q[1], q[2], "Idempotency-Key: "+q[0]+q[1])
			if took := time.Since(began); err != nil || a.status != 503 || a.header.Get("Retry-After") == "" || took > 5*time.Second {
				t.Errorf("%s %s: %d %.100s after %v, %v", q[0], q[1], a.status, a.raw, took, err)
			}
		})
	}
	asking.Wait()
}
