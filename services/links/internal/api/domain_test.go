package api_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheLifeOfADomain(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/domains", `{"host": " BÜCHER.test.", "home_url": "HTTPS://Example.com/a b", "fallback_url": "https://example.com/404"}`)
	if made.status != 201 || made.Host != "xn--bcher-kva.test" || made.UnicodeHost != "bücher.test" || made.HomeURL == nil || *made.HomeURL != "https://example.com/a%20b" ||
		made.FallbackURL == nil || !made.CaseSensitive || !made.PreviewPages || made.Shared || made.Version != 1 || made.header.Get("ETag") != `"1"` || made.header.Get("Location") != "/v1/domains/"+made.ID {
		t.Fatalf("got %d %s", made.status, made.raw)
	}
	path := "/v1/domains/" + made.ID
	patch := func(text string, status int, code string, headers ...string) answer {
		t.Helper()
		a := s.send(t, "PATCH", path, text, headers...)
		if a.status != status || a.Code != code {
			t.Errorf("%s gives %d %s, want %d %s", text, a.status, a.raw, status, code)
		}
		return a
	}
	if a := patch(`{"home_url": null}`, 200, ""); a.HomeURL != nil || a.FallbackURL == nil || a.Version != 2 || a.header.Get("ETag") != `"2"` {
		t.Errorf("got %s", a.raw)
	}
	if a := patch(`{}`, 200, ""); a.Version != 2 {
		t.Errorf("a patch that changes nothing made version %d", a.Version)
	}
	patch(`{"fallback_url": null}`, 412, "stale_version", `If-Match: "1"`)
	if a := patch(`{"case_sensitive": false}`, 200, "", `If-Match: "2"`); a.CaseSensitive || a.Version != 3 {
		t.Errorf("got %s", a.raw)
	}
	if a := patch(`{"case_sensitive": null}`, 200, ""); !a.CaseSensitive {
		t.Errorf("got %s", a.raw)
	}
	if a := patch(`{"preview_pages": false}`, 200, ""); a.PreviewPages || a.Version != 5 {
		t.Errorf("got %s", a.raw)
	}
	if a := patch(`{"preview_pages": null}`, 200, ""); !a.PreviewPages {
		t.Errorf("got %s", a.raw)
	}
	for text, wrong := range map[string]string{
		`{"preview_pages": 1}`:                      "preview_pages:invalid",
		`{"host": "other.test"}`:                    "host:unknown",
		`{"home_url": "ftp://x.test"}`:              "home_url:not_allowed",
		`{"home_url": "https://BÜCHER.test/x"}`:     "home_url:own_domain",
		`{"fallback_url": "https://go.test./home"}`: "fallback_url:own_domain",
		`{"case_sensitive": "no"}`:                  "case_sensitive:invalid",
	} {
		if a := patch(text, 422, "validation"); a.wrong() != wrong {
			t.Errorf("%s: %s, want %s", text, a.wrong(), wrong)
		}
	}

	// Links live on it by any spelling of its host, and by no other.
	l := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "slug": "Sale", "domain": "Bücher.TEST"}`)
	if l.status != 201 || l.Domain != "xn--bcher-kva.test" || l.ShortURL != "https://xn--bcher-kva.test/Sale" {
		t.Fatalf("got %d %s", l.status, l.raw)
	}
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "slug": "Sale"}`); a.status != 201 || a.Domain != host {
		t.Errorf("the same slug on another domain gives %d %s", a.status, a.raw)
	}
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://bücher.test/x"}`); a.wrong() != "destination:own_domain" {
		t.Errorf("a link to it gives %d %s", a.status, a.raw)
	}
	if a := patch(`{"case_sensitive": false}`, 409, "domain_in_use"); !strings.Contains(a.Detail, "one link") {
		t.Errorf("the detail is %q", a.Detail)
	}
	patch(`{"case_sensitive": true, "fallback_url": null}`, 200, "")
	if a := s.send(t, "DELETE", path, ""); a.status != 409 || a.Code != "domain_in_use" {
		t.Errorf("deleting it gives %d %s", a.status, a.raw)
	}
	if a := s.send(t, "DELETE", "/v1/links/"+l.ID, ""); a.status != 204 {
		t.Fatal(a.raw)
	}
	if a := s.send(t, "DELETE", path, "", `If-Match: "1"`); a.status != 412 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if a := s.send(t, "DELETE", path, ""); a.status != 204 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if a := s.send(t, "GET", path, ""); a.status != 404 || a.Code != "not_found" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "domain": "bücher.test"}`); a.wrong() != "domain:unknown_domain" {
		t.Errorf("a link on it gives %d %s", a.status, a.raw)
	}
}

func TestHostsBelongToOneWorkspace(t *testing.T) {
	t.Parallel()
	s := newService(t)
	create := func(text string, status int, want string, headers ...string) answer {
		t.Helper()
		a := s.send(t, "POST", "/v1/domains", text, headers...)
		if a.status != status || strings.TrimSpace(a.Code+" "+a.wrong()) != want {
			t.Errorf("%s gives %d %s, want %d %s", text, a.status, a.raw, status, want)
		}
		return a
	}
	theirs := "Authorization: Bearer " + s.workspace(t, "second")
	mine := create(`{"host": "mine.test"}`, 201, "")
	create(`{"host": "MINE.test"}`, 409, "domain_taken", theirs)
	create(`{"host": "mine.test"}`, 409, "domain_taken")
	create(`{"host": "go.test"}`, 409, "domain_taken")
	create(`{"host": "localhost"}`, 422, "validation host:not_allowed")
	create(`{"host": "10.0.0.1"}`, 422, "validation host:not_allowed")
	create(`{"host": "a.test:80"}`, 422, "validation host:invalid")
	create(`{"host": ""}`, 422, "validation host:required")
	create(`{}`, 422, "validation host:required")
	create(`{"host": "self.test", "fallback_url": "https://self.test/"}`, 422, "validation fallback_url:own_domain")
	create(`{"host": "a.test", "home_url": "https://mine.test/"}`, 422, "validation home_url:own_domain", theirs)
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "domain": "mine.test"}`, theirs); a.wrong() != "domain:unknown_domain" {
		t.Errorf("another's domain gives %d %s", a.status, a.raw)
	}

	// What all share is seen by all and changed by none.
	var shared string
	for _, d := range s.send(t, "GET", "/v1/domains", "", theirs).Data {
		if d.Host == host {
			shared = d.ID
		}
	}
	if a := s.send(t, "GET", "/v1/domains/"+shared, "", theirs); a.status != 200 || !a.Shared {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		if a := s.send(t, method, "/v1/domains/"+shared, map[string]string{"PATCH": `{"home_url": null}`}[method]); a.status != 403 || a.Code != "shared_domain" {
			t.Errorf("%s of the shared domain gives %d %s", method, a.status, a.raw)
		}
	}

	// Whoever makes links sees where they can live, and changes nothing.
	writer := "Authorization: Bearer " + s.send(t, "POST", "/v1/keys", `{"name": "n", "scopes": ["links:read", "links:write"]}`).Key
	create(`{"host": "b.test"}`, 403, "forbidden", writer)
	for method, status := range map[string]int{"GET": 200, "DELETE": 403} {
		if a := s.send(t, method, "/v1/domains/"+mine.ID, "", writer); a.status != status {
			t.Errorf("%s gives %d %s", method, a.status, a.raw)
		}
	}
}

func TestDomainsAreMadeOnceAndListed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i := range 5 {
		text, key := fmt.Sprintf(`{"host": "d%d.test"}`, i), fmt.Sprint("Idempotency-Key: k", i)
		first, again := s.send(t, "POST", "/v1/domains", text, key), s.send(t, "POST", "/v1/domains", text, key)
		if first.status != 201 || again.status != 201 || first.ID != again.ID {
			t.Fatalf("got %d %s, then %d %s", first.status, first.raw, again.status, again.raw)
		}
	}
	// A try whose end nobody saw has made the domain already.
	s.exec(t, `UPDATE idempotency_keys SET answer = NULL, claimed_until = '-infinity'`)
	if a := s.send(t, "POST", "/v1/domains", `{"host": "d3.test"}`, "Idempotency-Key: k3"); a.status != 201 || a.Host != "d3.test" {
		t.Errorf("the repeated try gives %d %s", a.status, a.raw)
	}
	var hosts []string
	for path := "/v1/domains?limit=2"; ; {
		a := s.send(t, "GET", path, "")
		for _, d := range a.Data {
			hosts = append(hosts, d.Host)
		}
		if a.NextCursor == nil {
			break
		}
		path = "/v1/domains?limit=2&cursor=" + *a.NextCursor
	}
	if fmt.Sprint(hosts) != "[d4.test d3.test d2.test d1.test d0.test go.test]" {
		t.Errorf("listed are %v", hosts)
	}
	if a := s.send(t, "GET", "/v1/domains?cursor=xyz", ""); a.wrong() != "cursor:invalid" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
}
