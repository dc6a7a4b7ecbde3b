package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestFindOrCreateFindsWhatHasAllGivenOptions(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.exec(t, `INSERT INTO domains (id, host) VALUES (gen_random_uuid(), 'two.test')`)
	ask := func(fields string, status int) answer {
		t.Helper()
		a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1", "find_or_create": true`+fields+`}`)
		if a.status != status {
			t.Errorf("%s gives %d %s, want %d", fields, a.status, a.raw, status)
		}
		return a
	}
	first := ask(`, "title": "T", "tags": ["x", "y"], "expires_at": "2040-01-01T00:00:00Z"`, 201)
	same := func(fields string) {
		t.Helper()
		if a := ask(fields, 200); a.ID != first.ID || a.Version != 1 || a.header.Get("ETag") != `"1"` || a.header.Get("Location") != "/v1/links/"+first.ID {
			t.Errorf("%s finds %s, want %s", fields, a.ID, first.ID)
		}
	}
	same(``)
	same(`, "title": "T"`)
	same(`, "tags": ["x", " y ", "x"]`)
	same(`, "expires_at": "2040-01-01T01:00:00+01:00", "archived": false, "status_code": 302, "domain": "GO.test"`)
	same(`, "title": null, "slug": null, "expires_at": null, "starts_at": null`) // as good as left out
	same(`, "slug": ` + quoted(first.Slug))
	same(`, "slug": ` + quoted(first.Slug) + `, "title": "T"`)
	outbox := s.count(t, `SELECT coalesce(sum(changes), 0) FROM outbox`)
	if outbox != 1 {
		t.Errorf("finding wrote %d records", outbox-1)
	}
	ask(`, "slug": `+quoted(first.Slug)+`, "title": "other"`, 409)
	ask(`, "title": "other"`, 201)
	same(`, "tags": ["y", "x"]`)
	ask(`, "tags": ["y"]`, 201)
	ask(`, "tags": ["x", "y", "z"]`, 201)
	// An archived link is found by who asks for one.
	archived := ask(`, "title": "put away"`, 201)
	if a := s.send(t, "PATCH", "/v1/links/"+archived.ID, `{"archived": true}`); a.status != 200 {
		t.Fatalf("archiving: %d %s", a.status, a.raw)
	}
	if a := ask(`, "title": "put away", "archived": true`, 200); a.ID != archived.ID {
		t.Errorf("found %s, want %s", a.ID, archived.ID)
	}
	if a := ask(`, "title": "put away"`, 201); a.ID == archived.ID {
		t.Error("an archived link was found")
	}
	ask(`, "domain": "two.test"`, 201)
	ask(`, "domain": "two.test"`, 200)
	ask(`, "slug": "wished"`, 201)
	ask(`, "slug": "wished"`, 200)
	ask(`, "slug": "api"`, 422)
	// Without the option a second link is made.
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/1"}`); a.status != 201 {
		t.Errorf("got %d %s", a.status, a.raw)
	}
	// Another workspace's links are neither found nor told about.
	s.key = s.workspace(t, "second")
	if a := ask(``, 201); a.ID == first.ID {
		t.Error("another workspace's link was found")
	}
	ask(`, "slug": "wished"`, 409)
}

// Guards I44.
func TestTwoWhoFindOrCreateAtTheSameTimeGetOneLink(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for round, fields := range []string{
		``, `, "slug": "wished"`, `, "title": "T"`, `, "password": "open sesame"`,
		`, "variants": [{"destination": "https://e.test/a", "weight": 1}], "utm": {"source": "s"}, "max_clicks": 5`,
	} {
		var (
			wg  sync.WaitGroup
			mu  sync.Mutex
			ids = map[string]int{}
			n   = map[int]int{}
		)
		for i := range 24 {
			wg.Go(func() {
				text := fmt.Sprintf(`{"destination": "https://e.test/%d", "find_or_create": true%s}`, round, fields)
				path := "/v1/links"
				if i%4 == 0 { // half of them from a bulk call
					text, path = `{"links": [`+text+`, `+text+`]}`, "/v1/links/bulk"
				}
				a, err := s.try(t.Context(), "POST", path, text)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if a.Results == nil {
					ids[a.ID]++
					n[a.status]++
				}
				for _, r := range a.Results {
					ids[r.Link.ID]++
					n[r.Status]++
				}
			})
		}
		wg.Wait()
		if len(ids) != 1 || n[201] != 1 || n[200] != 29 {
			t.Errorf("%q: links %v, statuses %v", fields, ids, n)
		}
	}
	if n := s.count(t, `SELECT coalesce(sum(changes), 0) FROM outbox`); n != 5 {
		t.Errorf("%d records", n)
	}
}

func TestABulkCallIsAsManySingleOnes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if a := s.send(t, "POST", "/v1/links", `{"destination": "https://e.test/0", "slug": "taken"}`); a.status != 201 {
		t.Fatal(a.raw)
	}
	rows := []string{
		`{"destination": "https://e.test/1", "slug": "one", "title": "T", "tags": ["a\"b\\c", "ä,{}", "NULL"], "notes": "N"}`,
		`{"destination": "https://e.test/2"}`,
		`{"destination": "https://e.test/3", "slug": "taken"}`,
		`{"destination": "https://e.test/4", "slug": "one"}`, // the first gets it
		`{"destination": "javascript:1", "slug": "api"}`,
		`{"destination": "https://e.test/6", "color": "red"}`,
		`{"slug": "seven"}`,
		`17`,
		`null`,
		`{"destination": "https://e.test/9", "starts_at": "2031-01-01T00:00:00Z", "expires_at": "2032-01-01T00:00:00Z", "status_code": 307, "archived": true}`,
		`{"destination": "https://e.test/1", "title": "T", "find_or_create": true}`, // finds the first of this call
		`{"destination": "https://e.test/0", "find_or_create": true}`,
		`{"destination": "https://e.test/12", "domain": "unknown.test"}`,
		`{"destination": "https://e.test/13", "starts_at": "2031-01-01T00:00:00Z", "expires_at": "2030-01-01T00:00:00Z"}`,
		`{"destination": "https://e.test/14", "password": "x"}`,
		`{"destination": "https://e.test/15", "slug": "last"}`,
	}
	want := []struct {
		status int
		text   string
	}{
		{201, "one"},
		{201, ""},
		{409, "slug_taken"},
		{409, "slug_taken"},
		{422, "slug:reserved destination:not_allowed"},
		{422, "color:unknown"},
		{422, "destination:required"},
		{422, "body:invalid"},
		{422, "body:invalid"},
		{201, ""},
		{200, "one"},
		{200, "taken"},
		{422, "domain:unknown_domain"},
		{422, "expires_at:invalid"},
		{422, "password:too_short"},
		{201, "last"},
	}
	a := s.send(t, "POST", "/v1/links/bulk", `{"links": [`+strings.Join(rows, ",")+`]}`)
	if a.status != 200 || len(a.Results) != len(rows) {
		t.Fatalf("got %d %s", a.status, a.raw)
	}
	made := 0
	for i, r := range a.Results {
		text := ""
		switch {
		case r.Link != nil && r.Error == nil:
			text = r.Link.Slug
			if r.Status == 201 {
				made++
			}
			one := s.send(t, "GET", "/v1/links/"+r.Link.ID, "")
			if one.status != 200 || one.Slug != r.Link.Slug || one.Version != 1 {
				t.Errorf("%d: GET gives %s", i, one.raw)
			}
		case r.Link == nil && r.Error != nil:
			text = r.Error.Code
			if text == "validation" {
				text = (answer{Errors: r.Error.Errors}).wrong()
			}
		}
		if r.Index != i || r.Status != want[i].status || want[i].text != "" && text != want[i].text {
			t.Errorf("%d: got %d %d %q, want %d %q", i, r.Index, r.Status, text, want[i].status, want[i].text)
		}
	}
	if n := s.count(t, `SELECT count(*) FROM links`); n != made+1 {
		t.Errorf("%d links, want %d", n, made+1)
	}
	if n := s.count(t, `SELECT sum(o.changes) FROM outbox o JOIN links l ON l.id = o.link_id`); n != made+1 {
		t.Errorf("%d records of changes, want %d", n, made+1)
	}
	whole := s.send(t, "GET", "/v1/links/"+a.Results[0].Link.ID, "")
	if fmt.Sprint(whole.Tags) != `[a"b\c ä,{} NULL]` || whole.Title != "T" || whole.Notes != "N" {
		t.Errorf("got %s", whole.raw)
	}
}

func TestShapesOfABulkCall(t *testing.T) {
	t.Parallel()
	s := newService(t)
	refuse := func(body string, status int, wrong string) {
		t.Helper()
		if a := s.send(t, "POST", "/v1/links/bulk", body); a.status != status || a.wrong() != wrong {
			t.Errorf("%.80s gives %d %.300s", body, a.status, a.raw)
		}
	}
	refuse(`{"links": `, 400, "")
	refuse(``, 400, "")
	refuse(`[]`, 422, "body:invalid")
	refuse(`null`, 422, "body:invalid")
	refuse(`{}`, 422, "links:required")
	refuse(`{"Links": [{}]}`, 422, "links:required Links:unknown")
	refuse(`{"links": null}`, 422, "links:required")
	refuse(`{"links": []}`, 422, "links:required")
	refuse(`{"links": {}}`, 422, "links:invalid")
	refuse(`{"links": [{}], "more": 1}`, 422, "more:unknown")
	row := `{"destination": "https://e.test/", "notes": "` + strings.Repeat("x", 4000) + `"}`
	many := strings.TrimSuffix(strings.Repeat(row+",", 1000), ",")
	refuse(`{"links": [`+many+`,{}]}`, 422, "links:too_many")
	refuse(`{"links": ["`+strings.Repeat("x", 16<<20)+`"]}`, 413, "")
	if n := s.count(t, `SELECT count(*) FROM links`); n != 0 {
		t.Errorf("%d links were stored", n)
	}
	a := s.send(t, "POST", "/v1/links/bulk", `{"links": [`+many+`]}`)
	if a.status != 200 || len(a.Results) != 1000 || a.Results[999].Status != 201 {
		t.Fatalf("got %d %.300s", a.status, a.raw)
	}
	if n := s.count(t, `SELECT sum(o.changes) FROM links l JOIN outbox o ON o.link_id = l.id AND o.publish_after = '-infinity'`); n != 1000 {
		t.Errorf("%d links with a record", n)
	}
}
