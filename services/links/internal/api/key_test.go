package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestTheLifeOfAKey(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/keys", `{"name": "importer", "scopes": ["links:write", "links:read", "links:read"], "rate_limit": {"capacity": 5, "refill_per_second": 0.142857}}`)
	if made.status != 201 || !strings.HasPrefix(made.Key, "ls_key_") || len(made.Key) != 50 || !strings.HasPrefix(made.Key, made.Prefix) || made.Prefix == made.Key ||
		fmt.Sprint(made.Scopes) != "[links:read links:write]" || made.RateLimit == nil || made.RateLimit.Capacity != 5 || made.header.Get("Location") != "/v1/keys/"+made.ID {
		t.Fatalf("got %d %s", made.status, made.raw)
	}
	path := "/v1/keys/" + made.ID
	shown := s.send(t, "GET", path, "")
	if shown.status != 200 || shown.Key != "" || strings.Contains(shown.raw, made.Key) || shown.Name != "importer" || shown.LastUsedAt != nil {
		t.Errorf("got %d %s", shown.status, shown.raw)
	}
	use := func(key, method, path string, status int) {
		t.Helper()
		body := ""
		if method == "POST" {
			body = `{"destination": "https://e.test"}`
		}
		if a := s.send(t, method, path, body, "Authorization: Bearer "+key); a.status != status {
			t.Errorf("%s %s gives %d %s, want %d", method, path, a.status, a.raw, status)
		}
	}
	use(made.Key, "POST", "/v1/links", 201)
	use(made.Key, "GET", "/v1/links", 200)
	use(made.Key, "GET", "/v1/keys", 403)
	if err := s.accounts.WriteUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.send(t, "GET", path, ""); a.LastUsedAt == nil {
		t.Errorf("the use is not shown: %s", a.raw)
	}
	patch := func(text string, status int, wrong string) answer {
		t.Helper()
		a := s.send(t, "PATCH", path, text)
		if a.status != status || a.wrong() != wrong {
			t.Errorf("%s gives %d %s, want %d %s", text, a.status, a.raw, status, wrong)
		}
		return a
	}
	if a := patch(`{"rate_limit": {"capacity": 7, "refill_per_second": 2}}`, 200, ""); a.RateLimit == nil || a.RateLimit.Capacity != 7 || a.Name != "importer" || len(a.Scopes) != 2 {
		t.Errorf("got %s", a.raw)
	}
	if id, err := s.accounts.Authenticate(t.Context(), made.Key); err != nil || id.RateCapacity != 7 || id.RateRefillPerSecond != 2 {
		t.Errorf("the limiter would see %+v, %v", id, err)
	}
	if a := patch(`{"rate_limit": null, "name": "other", "scopes": ["links:read"]}`, 200, ""); a.RateLimit != nil || a.Name != "other" || len(a.Scopes) != 1 {
		t.Errorf("got %s", a.raw)
	}
	use(made.Key, "POST", "/v1/links", 403)
	patch(`{"name": null}`, 422, "name:required")
	patch(`{"scopes": []}`, 422, "scopes:required")
	patch(`{"scopes": null}`, 422, "scopes:required")
	patch(`{"scopes": ["everything"]}`, 422, "scopes:invalid")
	patch(`{"rate_limit": {"capacity": 7}}`, 422, "rate_limit.refill_per_second:required")
	patch(`{"key": "x"}`, 422, "key:unknown")
	if a := s.send(t, "DELETE", path, ""); a.status != 204 {
		t.Fatal(a.raw)
	}
	use(made.Key, "GET", "/v1/links", 401)
	for _, method := range []string{"GET", "DELETE"} {
		if a := s.send(t, method, path, ""); a.status != 404 || a.Code != "not_found" {
			t.Errorf("%s of a revoked key gives %d %s", method, a.status, a.raw)
		}
	}
	if a := s.send(t, "GET", "/v1/keys", ""); len(a.Data) != 1 || a.Data[0].Name != "bootstrap" {
		t.Errorf("got %s", a.raw)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	refuse := func(text, wrong string) {
		t.Helper()
		if a := s.send(t, "POST", "/v1/keys", text); a.status != 422 || a.wrong() != wrong {
			t.Errorf("%.80s gives %d %s, want %s", text, a.status, a.raw, wrong)
		}
	}
	refuse(`{}`, "name:required scopes:required")
	refuse(`{"name": "", "scopes": []}`, "name:required scopes:required")
	refuse(`{"name": " ", "scopes": ["links:read"]}`, "name:required")
	refuse(`{"name": "a\u0000", "scopes": ["links:read"]}`, "name:invalid")
	refuse(`{"name": "`+strings.Repeat("x", 201)+`", "scopes": ["links:read"]}`, "name:too_long")
	refuse(`{"name": "n", "scopes": ["everything"]}`, "scopes[0]:invalid")
	refuse(`{"name": "n", "scopes": ["admin"], "rate_limit": {"capacity": 0, "refill_per_second": 0}}`, "rate_limit.capacity:invalid rate_limit.refill_per_second:invalid")
	refuse(`{"name": "n", "scopes": ["admin"], "rate_limit": {"capacity": 1000000, "refill_per_second": 0.000001}}`, "rate_limit:invalid")
	refuse(`{"name": "n", "scopes": ["admin"], "rate_limit": {"capacity": 1.5, "refill_per_second": 1}}`, "rate_limit.capacity:invalid")
	refuse(`{"name": "n", "scopes": ["admin"], "rate_limit": {"capacity": 1, "refill_per_second": 1, "burst": 1}}`, "rate_limit.burst:unknown")
	refuse(`{"name": "n", "scopes": ["admin"], "key": "ls_key_mine"}`, "key:unknown")
}

func TestUsersOfAWorkspace(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(t, "POST", "/v1/users", `{"email": " Some@X.test", "role": "viewer"}`)
	if made.status != 201 || made.Email != "some@x.test" || made.Role != "viewer" || len(made.Password) < 20 {
		t.Fatalf("got %d %s", made.status, made.raw)
	}
	token, err := s.accounts.LogIn(t.Context(), "some@x.test", made.Password)
	if err != nil {
		t.Fatal(err)
	}
	// The role decides what a session may do.
	use := func(method, path, body string, status int) {
		t.Helper()
		if a := s.send(t, method, path, body, "Authorization: Bearer "+token); a.status != status {
			t.Errorf("%s %s gives %d %s, want %d", method, path, a.status, a.raw, status)
		}
	}
	use("GET", "/v1/links", "", 200)
	use("POST", "/v1/links", `{"destination": "https://e.test"}`, 403)
	use("GET", "/v1/users", "", 403)
	use("POST", "/v1/users", `{"email": "x@x.test", "role": "owner"}`, 403)
	use("GET", "/v1/keys", "", 403)
	list := s.send(t, "GET", "/v1/users", "")
	if list.status != 200 || len(list.Data) != 2 || list.Data[0].Email != "some@x.test" || list.Data[1].Email != "first@x.test" || strings.Contains(list.raw, made.Password) {
		t.Errorf("got %s", list.raw)
	}
	refuse := func(text string, status int, code string) {
		t.Helper()
		if a := s.send(t, "POST", "/v1/users", text); a.status != status || a.Code+a.wrong() != code {
			t.Errorf("%s gives %d %s", text, a.status, a.raw)
		}
	}
	refuse(`{"email": "SOME@x.test", "role": "editor"}`, 409, "email_taken")
	refuse(`{"email": "X <x@y.test>", "role": "editor"}`, 422, "validationemail:invalid")
	refuse(`{"email": "x@y.test", "role": "king"}`, 422, "validationrole:invalid")
	refuse(`{"email": "x@y.test", "role": "editor", "password": "short"}`, 422, "validationpassword:invalid")
	if a := s.send(t, "DELETE", "/v1/users/"+list.Data[1].ID, ""); a.status != 409 || a.Code != "last_owner" {
		t.Errorf("the last owner: %d %s", a.status, a.raw)
	}
	if a := s.send(t, "DELETE", "/v1/users/"+made.ID, ""); a.status != 204 {
		t.Fatal(a.raw)
	}
	use("GET", "/v1/links", "", 401)
	if _, err := s.accounts.LogIn(t.Context(), "some@x.test", made.Password); err == nil {
		t.Error("a removed user logs in")
	}
	if a := s.send(t, "DELETE", "/v1/users/"+made.ID, ""); a.status != 404 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	refuse(`{"email": "some@x.test", "role": "editor", "password": "long enough"}`, 201, "")
}

func TestListsOfKeysAndUsersHavePages(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for i := range 5 {
		s.send(t, "POST", "/v1/keys", fmt.Sprintf(`{"name": "k%d", "scopes": ["links:read"]}`, i))
		s.exec(t, `INSERT INTO users (id, email, password_hash, created_at) VALUES ($1, $2, '', '2020-01-01')`, uuid.New(), fmt.Sprintf("u%d@x.test", i))
	}
	s.exec(t, `INSERT INTO memberships SELECT w.id, u.id, 'viewer' FROM workspaces w, users u WHERE u.email LIKE 'u%'`)
	walk := func(path string) (seen []string) {
		t.Helper()
		cursor := ""
		for range 10 {
			a := s.send(t, "GET", path+"?limit=2&cursor="+url.QueryEscape(cursor), "")
			if a.status != 200 || len(a.Data) > 2 {
				t.Fatalf("got %d %s", a.status, a.raw)
			}
			for _, d := range a.Data {
				seen = append(seen, d.Name+d.Email)
			}
			if a.NextCursor == nil {
				return seen
			}
			cursor = *a.NextCursor
			if other := strings.NewReplacer("keys", "users", "users", "keys").Replace(path); s.send(t, "GET", other+"?cursor="+cursor, "").status != 422 {
				t.Errorf("%s takes a cursor of %s", other, path)
			}
		}
		return seen
	}
	if got := walk("/v1/keys"); fmt.Sprint(got) != "[k4 k3 k2 k1 k0 bootstrap]" {
		t.Errorf("got %v", got)
	}
	got := walk("/v1/users")
	slices.Sort(got)
	if fmt.Sprint(got) != "[first@x.test u0@x.test u1@x.test u2@x.test u3@x.test u4@x.test]" {
		t.Errorf("got %v", got)
	}
}

// Guards I47.
func TestAnotherWorkspacesKeyGets404Everywhere(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ids := map[string]string{
		"links":         s.send(t, "POST", "/v1/links", `{"destination": "https://e.test", "slug": "mine"}`).ID,
		"domains":       s.send(t, "POST", "/v1/domains", `{"host": "mine.test"}`).ID,
		"keys":          s.send(t, "POST", "/v1/keys", `{"name": "n", "scopes": ["links:read"]}`).ID,
		"users":         s.send(t, "POST", "/v1/users", `{"email": "u@x.test", "role": "viewer"}`).ID,
		"utm-templates": s.send(t, "POST", "/v1/utm-templates", `{"name": "n", "utm": {"source": "mine"}}`).ID,

		"imports": s.upload(t, "", "destination\nhttps://e.test/\n"),
	}
	// A session that is in the other workspace, of somebody who is an owner of both, is no
	// more than that workspace's key.
	theirs := map[string]string{"key": s.workspace(t, "second"), "session": s.sessionIn(t, "second")}
	var document struct {
		Paths map[string]map[string]any
	}
	s.decode(t, "/openapi.json", &document)
	calls := 0
	for path, methods := range document.Paths {
		kind, rest, ok := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/{id}")
		if !ok {
			continue
		}
		id := ids[kind]
		if id == "" {
			t.Errorf("%s: this test makes no %s", path, kind)
			continue
		}
		for method := range methods {
			method, text := strings.ToUpper(method), ""
			if method == http.MethodPost || method == http.MethodPatch {
				text = `{}`
			}
			calls++
			for who, token := range theirs {
				if a := s.send(t, method, "/v1/"+kind+"/"+id+rest, text, "Authorization: Bearer "+token); a.status != 404 || a.Code != "not_found" {
					t.Errorf("%s %s with a %s gives %d %s", method, path, who, a.status, a.raw)
				}
			}
		}
	}
	if calls < 10 {
		t.Errorf("%d calls only", calls)
	}
	for _, path := range []string{"/v1/links", "/v1/domains", "/v1/keys", "/v1/users", "/v1/imports", "/v1/utm-templates"} {
		for who, token := range theirs {
			if a := s.send(t, "GET", path, "", "Authorization: Bearer "+token); a.status != 200 || strings.Contains(a.raw, ids[strings.TrimPrefix(path, "/v1/")]) {
				t.Errorf("%s shows a %s what is not theirs: %d %s", path, who, a.status, a.raw)
			}
		}
	}
	if n := s.count(t, `SELECT count(*) FROM links l, domains d, api_keys k, users u, utm_templates x WHERE x.source = 'mine' AND x.name = 'n' AND l.slug = 'mine' AND l.version = 1 AND d.host = 'mine.test' AND d.version = 1 AND k.name = 'n' AND k.revoked_at IS NULL AND u.email = 'u@x.test'`); n != 1 {
		t.Error("something was changed")
	}
}
