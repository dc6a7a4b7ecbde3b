package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

const withKey = "Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324"

// Guards I45.
func TestARequestWithAKeyHappensOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const text = `{"destination": "https://e.test/1", "slug": "once"}`
	first := s.send(t, "POST", "/v1/links", text, withKey)
	if first.status != 201 || first.header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("got %d %s", first.status, first.raw)
	}
	if a := s.send(t, "DELETE", "/v1/links/"+first.ID, ""); a.status != 204 {
		t.Fatal(a.raw)
	}
	again := s.send(t, "POST", "/v1/links", text, withKey)
	if again.status != 201 || again.raw != first.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the replay is %d %s %v", again.status, again.raw, again.header)
	}
	for _, name := range []string{"ETag", "Location", "Content-Type"} {
		if first.header.Get(name) == "" || again.header.Get(name) != first.header.Get(name) {
			t.Errorf("%s is %q, was %q", name, again.header.Get(name), first.header.Get(name))
		}
	}
	if again.header.Get("X-Request-Id") == first.header.Get("X-Request-Id") {
		t.Error("two requests have one id")
	}
	refused := func(path, text, code string, headers ...string) {
		t.Helper()
		if a := s.send(t, "POST", path, text, append(headers, withKey)...); a.status != 409 || a.Code != code || a.RequestID == "" {
			t.Errorf("%s %s gives %d %s", path, text, a.status, a.raw)
		}
	}
	refused("/v1/links", `{"destination": "https://e.test/2", "slug": "once"}`, "idempotency_key_reused")
	refused("/v1/links/bulk", text, "idempotency_key_reused")
	// A refusal is an answer, too.
	const other = "Idempotency-Key: other"
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "api"}`, other); a.status != 422 {
		t.Fatal(a.raw)
	}
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "slug": "api"}`, other); a.status != 422 || a.header.Get("Idempotency-Replayed") != "true" || a.wrong() != "slug:reserved" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	// Another workspace's keys are its own; a caller without a key is nobody's.
	owner := s.key
	s.key = s.workspace(t, "second")
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 201 || a.ID == first.ID {
		t.Errorf("another workspace gets %d %s", a.status, a.raw)
	}
	s.key = "ls_key_nobody"
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 401 {
		t.Errorf("nobody gets %d %s", a.status, a.raw)
	}
	s.key = owner
	// After a day it is forgotten.
	s.exec(t, `UPDATE idempotency_keys SET expires_at = now()`)
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 409 || a.Code != "slug_taken" {
		t.Errorf("a day later: %d %s", a.status, a.raw) // the second workspace has the slug by now
	}
	s.exec(t, `UPDATE idempotency_keys SET expires_at = now()`)
	n, err := s.store.ForgetKeys(t.Context())
	if left := s.count(t, `SELECT count(*) FROM idempotency_keys`); err != nil || n != 3 || left != 0 {
		t.Errorf("%d keys were deleted, %d are left, %v", n, left, err)
	}
}

func TestOfTwoAtTheSameTimeOneHappens(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		codes = map[string]int{}
		ids   = map[string]bool{}
	)
	for range 16 {
		wg.Go(func() {
			a, err := s.try(t.Context(), "POST", "/v1/links", `{"destination": "https://e.test/1"}`, withKey)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case a.status == 201:
				ids[a.ID] = true
			case a.header.Get("Retry-After") == "":
				t.Errorf("no Retry-After in %v", a.header)
			}
			codes[fmt.Sprint(a.status, a.Code)]++
		})
	}
	wg.Wait()
	if n := s.count(t, `SELECT count(*) FROM links`); n != 1 || len(ids) != 1 || codes["201"]+codes["409idempotency_in_progress"] != 16 {
		t.Errorf("%d links, ids %v, answers %v", n, ids, codes)
	}
}

func TestATryThatNobodySawTheEndOfIsRepeatedWithTheSameIds(t *testing.T) {
	t.Parallel()
	s := newService(t)
	// A process that died after the commit left a claim without an answer.
	die := func() {
		t.Helper()
		s.exec(t, `UPDATE idempotency_keys SET answer = NULL, claimed_until = now() + interval '1 minute'`)
	}
	const text = `{"destination": "https://e.test/1"}`
	first := s.send(t, "POST", "/v1/links", text, withKey)
	die()
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 409 || a.Code != "idempotency_in_progress" {
		t.Errorf("while it may still run: %d %s", a.status, a.raw)
	}
	s.exec(t, `UPDATE idempotency_keys SET claimed_until = now()`)
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/2"}`, withKey); a.status != 409 || a.Code != "idempotency_key_reused" {
		t.Errorf("another request: %d %s", a.status, a.raw)
	}
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 201 || a.raw != first.raw {
		t.Errorf("the repetition gives %d %s\nwas %s", a.status, a.raw, first.raw)
	}
	s.exec(t, `DELETE FROM idempotency_keys`)

	const many = `{"links": [{"destination": "https://e.test/1", "slug": "a"}, {"destination": "https://e.test/2"}, {"destination": "https://e.test/3", "slug": "api"}]}`
	first = s.send(t, "POST", "/v1/links/bulk", many, withKey)
	die()
	s.exec(t, `UPDATE idempotency_keys SET claimed_until = now()`)
	if a := s.send(t, "POST", "/v1/links/bulk", many, withKey); a.status != 200 || a.raw != first.raw {
		t.Errorf("the repetition gives %d %s\nwas %s", a.status, a.raw, first.raw)
	}
	if n := s.count(t, `SELECT coalesce(sum(changes), 0) FROM outbox`); n != 3 {
		t.Errorf("%d records for three links", n)
	}
}

func TestAnAnswerThatMayChangeIsNotStored(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.exec(t, `ALTER TABLE outbox RENAME TO broken`)
	const text = `{"destination": "https://e.test/1"}`
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 500 || a.Code != "internal" {
		t.Fatalf("got %d %s", a.status, a.raw)
	}
	s.exec(t, `ALTER TABLE broken RENAME TO outbox`)
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 201 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	s.exec(t, `ALTER TABLE idempotency_keys RENAME TO broken`)
	if a := s.send(t, "POST", "/v1/links", text, withKey); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("without the table: %d %s", a.status, a.raw)
	}
	s.exec(t, `ALTER TABLE broken RENAME TO idempotency_keys`)
	// Bodies that are refused as a whole claim nothing.
	const other = "Idempotency-Key: other"
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/`+strings.Repeat("x", 1<<20)+`"}`, other); a.status != 413 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if a := s.send(t, "POST", "/v1/links", text, "Idempotency-Key: "+strings.Repeat("x", 256)); a.status != 422 || a.wrong() != "header.Idempotency-Key:invalid" {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	if n := s.count(t, `SELECT count(*) FROM idempotency_keys`); n != 1 {
		t.Errorf("%d keys are stored", n)
	}
}

// Guards I46.
func TestAStoredAnswerShowsNoSecret(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const text = `{"name": "n", "scopes": ["links:read"]}`
	first := s.send(t, "POST", "/v1/keys", text, withKey)
	if first.status != 201 || !strings.HasPrefix(first.Key, "ls_key_") {
		t.Fatalf("got %d %s", first.status, first.raw)
	}
	if again := s.send(t, "POST", "/v1/keys", text, withKey); again.raw != first.raw {
		t.Errorf("the replay is %s, was %s", again.raw, first.raw)
	}
	var dump string
	if err := s.pool.QueryRow(t.Context(), `SELECT string_agg(encode(answer, 'escape') || k::text, ',') FROM idempotency_keys k`).Scan(&dump); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{first.Key, first.Prefix, "8e03978e-40d5"} {
		if strings.Contains(dump, secret) {
			t.Errorf("%s is stored", secret)
		}
	}
	// A key whose answer was lost is replaced: nobody has seen it.
	s.exec(t, `UPDATE idempotency_keys SET answer = NULL, claimed_until = now()`)
	second := s.send(t, "POST", "/v1/keys", text, withKey)
	if second.status != 201 || second.ID != first.ID || second.Key == first.Key {
		t.Errorf("got %d %s", second.status, second.raw)
	}
	if a := s.send(t, "GET", "/v1/links", "", "Authorization: Bearer "+second.Key); a.status != 200 {
		t.Errorf("the new key: %d %s", a.status, a.raw)
	}
	if a := s.send(t, "GET", "/v1/links", "", "Authorization: Bearer "+first.Key); a.status != 401 {
		t.Errorf("the lost key: %d %s", a.status, a.raw)
	}
}
