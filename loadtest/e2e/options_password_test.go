package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func (s *stack) passworded(t *testing.T) {
	var domain struct{ ID string }
	if status := s.call(t, http.MethodPost, "/v1/domains", `{"host":"secret.test"}`, &domain); status != 201 {
		t.Fatalf("making a domain: %d", status)
	}
	rules := `"rules":[{"conditions":[{"type":"device","values":["mobile"]}],"destination":"https://treasure.test/phone"}]`
	made := s.makes(t, "locked", "https://treasure.test/target", `"domain":"secret.test","title":"treasure map","password":"open sesame",`+rules)
	edge := s.edges()[1] + "/locked"
	s.eventually(t, freshness, "the form is there", func(ctx context.Context) error {
		if got, err := s.ask(ctx, http.MethodGet, edge, "Host", "secret.test"); err != nil || got.status != 200 {
			return fmt.Errorf("%d %w", got.status, err)
		}
		return nil
	})
	traceless := func(what string, got page) {
		t.Helper()
		if text := fmt.Sprint(got.header, got.body); strings.Contains(text, "treasure") {
			t.Errorf("%s: a trace of the target: %.500s", what, text)
		}
	}
	for _, agent := range []string{browser, previewAgent} {
		got := s.mustAsk(t, http.MethodGet, edge, "Host", "secret.test", "User-Agent", agent)
		traceless(agent, got)
		if got.status != 200 || !strings.Contains(got.body, `name="password"`) || strings.Contains(got.body, "<script") {
			t.Errorf("%s: %d %.300s", agent, got.status, got.body)
		}
	}
	wrong := s.send(t, edge, "password=sesame", "Host", "secret.test")
	traceless("wrong", wrong)
	if wrong.status == 303 || wrong.location() != "" || wrong.header.Get("Set-Cookie") != "" {
		t.Errorf("wrong: %d %v", wrong.status, wrong.header)
	}
	right := s.send(t, edge, "password="+url.QueryEscape("open sesame"), "Host", "secret.test")
	traceless("right", right)
	cookie, _, _ := strings.Cut(right.header.Get("Set-Cookie"), ";")
	if right.status != 303 || right.location() != "/locked" || cookie == "" {
		t.Fatalf("right: %d %v", right.status, right.header)
	}
	for _, other := range s.edges() { // the cookie of one edge opens all
		for agent, location := range map[string]string{browser: "https://treasure.test/target", phoneAgent: "https://treasure.test/phone"} {
			if got := s.mustAsk(t, http.MethodGet, other+"/locked", "Host", "secret.test", "Cookie", cookie, "User-Agent", agent); got.status != 302 || got.location() != location {
				t.Errorf("unlocked at %s: %d %v", other, got.status, got.header)
			}
		}
	}
	if status := s.call(t, http.MethodPatch, "/v1/links/"+made.ID, `{"password":"another"}`, nil); status != 200 {
		t.Fatalf("editing: %d", status)
	}
	s.eventually(t, freshness, "another password ends the cookie", func(ctx context.Context) error {
		if got, err := s.ask(ctx, http.MethodGet, edge, "Host", "secret.test", "Cookie", cookie); err != nil || got.status != 200 {
			return fmt.Errorf("%d %w", got.status, err)
		}
		return nil
	})
}

func (s *stack) guessed(t *testing.T) {
	s.makes(t, "guessed", "https://e.test/", `"password":"open sesame"`)
	s.there(t, "guessed", 404)
	refused := 0
	for i := range 30 {
		got := s.send(t, s.edges()[i%len(s.edges())]+"/guessed", fmt.Sprint("password=guess", i))
		if got.status == 429 {
			refused++
			if got.header.Get("Retry-After") == "" {
				t.Error("a refusal does not say when to come again")
			}
		}
	}
	if refused < 15 {
		t.Errorf("%d of 30 guesses over four edges are refused", refused)
	}
	if got := s.send(t, s.edges()[0]+"/guessed", "password=open+sesame"); got.status != 429 {
		t.Errorf("the right one after too many: %d", got.status)
	}
}
