package api_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// walk reads all pages and returns how often each link was seen, calling between
// after each page.
func (s *service) walk(t *testing.T, query string, between func()) map[string]int {
	t.Helper()
	seen := map[string]int{}
	cursor := ""
	for {
		a := s.send(t, "GET", "/v1/links?"+query+"&cursor="+url.QueryEscape(cursor), "")
		if a.status != 200 {
			t.Fatalf("got %d %s", a.status, a.raw)
		}
		for _, l := range a.Data {
			seen[l.Slug]++
		}
		if a.NextCursor == nil {
			return seen
		}
		cursor = *a.NextCursor
		between()
	}
}

func TestAWalkNeitherSkipsNorRepeatsUnderConcurrentInserts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const old = 60
	for i := range old {
		s.send(t, "POST", "/v1/links", fmt.Sprintf(`{"destination": "https://e.test", "slug": "old-%d"}`, i))
	}
	// Links of one statement share a creation time: ids break the tie.
	s.exec(t, `UPDATE links SET created_at = (SELECT max(created_at) FROM links) WHERE slug LIKE 'old-1%'`)

	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = s.try(t.Context(), "POST", "/v1/links", fmt.Sprintf(`{"destination": "https://e.test", "slug": "new-%d-%d"}`, w, i))
			}
		})
	}
	seen := s.walk(t, "limit=7", func() {
		s.send(t, "POST", "/v1/links", `{"destination": "https://e.test"}`)
	})
	stop()
	writers.Wait()
	for i := range old {
		if n := seen[fmt.Sprintf("old-%d", i)]; n != 1 {
			t.Errorf("old-%d was seen %d times", i, n)
		}
	}
	for slug, n := range seen {
		if n != 1 {
			t.Errorf("%s was seen %d times", slug, n)
		}
	}
}

// What is edited, archived or moved meanwhile is seen once all the same: its place in
// the list does not change. What is deleted is seen once or not at all.
func TestAWalkNeitherSkipsNorRepeatsWhatIsChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const old = 40
	ids := make([]string, old)
	for i := range old {
		ids[i] = s.send(t, "POST", "/v1/links", fmt.Sprintf(`{"destination": "https://e.test", "title": "old-%d"}`, i)).ID
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = s.try(t.Context(), "PATCH", "/v1/links/"+ids[(i*7+w)%(old-5)], fmt.Sprintf(`{"slug": "s-%d-%d", "notes": "n", "archived": %t}`, w, i, i%2 == 0))
			}
		})
	}
	writers.Go(func() {
		for _, id := range ids[old-5:] {
			_, _ = s.try(t.Context(), "DELETE", "/v1/links/"+id, "")
		}
	})
	seen := map[string]int{}
	s.walkIDs(t, "limit=3", func(id string) { seen[id]++ })
	stop()
	writers.Wait()
	for i, id := range ids {
		if n := seen[id]; n > 1 || n == 0 && i < old-5 {
			t.Errorf("link %d was seen %d times", i, n)
		}
	}
}

func (s *service) walkIDs(t *testing.T, query string, each func(id string)) {
	t.Helper()
	for cursor := ""; ; {
		a := s.send(t, "GET", "/v1/links?"+query+"&cursor="+url.QueryEscape(cursor), "")
		if a.status != 200 {
			t.Fatalf("got %d %s", a.status, a.raw)
		}
		for _, l := range a.Data {
			each(l.ID)
		}
		if a.NextCursor == nil {
			return
		}
		cursor = *a.NextCursor
	}
}

func TestFiltersOfTheList(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.exec(t, `INSERT INTO domains (id, host) VALUES (gen_random_uuid(), 'two.test')`)
	for _, body := range []string{
		`{"destination": "https://e.test/landing", "slug": "a", "title": "Spring Sale 50% off", "tags": ["x", "y"]}`,
		`{"destination": "https://e.test/other", "slug": "b", "tags": ["y"], "archived": true}`,
		`{"destination": "https://e.test/SPRING_1", "slug": "c", "domain": "two.test"}`,
	} {
		if a := s.send(t, "POST", "/v1/links", body); a.status != 201 {
			t.Fatal(a.raw)
		}
	}
	s.exec(t, `UPDATE links SET created_at = '2020-01-01T00:00:00Z' WHERE slug = 'b'`)
	check := func(query, want string) {
		t.Helper()
		a := s.send(t, "GET", "/v1/links?"+query, "")
		var slugs []string
		for _, l := range a.Data {
			slugs = append(slugs, l.Slug)
		}
		got := strings.Join(slugs, "")
		if a.status != 200 || got != want || a.NextCursor != nil {
			t.Errorf("%s gives %d %q, want %q: %s", query, a.status, got, want, a.raw)
		}
	}
	check("", "cab") // newest first
	check("domain=two.test", "c")
	check("domain=TWO.test.", "c")
	check("domain=unknown.test", "")
	check("domain=%00", "")
	check("tag=y", "ab")
	check("tag=x", "a")
	check("tag=z", "")
	check("tag=%00", "")
	check("q=spring", "ca")
	check("q=50%25", "a")
	check("q=%25", "a")
	check("q=_1", "c")
	check("q=%00", "")
	check("q=%ff", "")
	check("tag=%ed%a0%80", "")
	check("q=%5C", "")
	check("archived=true", "b")
	check("archived=false", "ca")
	check("created_before=2020-01-01T00:00:01Z", "b")
	check("created_before=2020-01-01T00:00:00Z", "")
	check("created_after=2020-01-01T00:00:00Z", "cab")
	check("created_after="+url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339)), "")
	check("q=spring&tag=x&archived=false&domain="+host, "a")

	refuse := func(query, wrong string) {
		t.Helper()
		if a := s.send(t, "GET", "/v1/links?"+query, ""); a.status != 422 || a.wrong() != wrong {
			t.Errorf("%s gives %d %s", query, a.status, a.raw)
		}
	}
	refuse("limit=0", "query.limit:invalid")
	refuse("limit=101", "query.limit:invalid")
	refuse("limit=x", "query.limit:invalid")
	refuse("archived=perhaps", "query.archived:invalid")
	refuse("created_after=yesterday", "query.created_after:invalid")
	refuse("color=red", "query.color:unknown")
	refuse("cursor=nonsense", "cursor:invalid")
	refuse("cursor=AAAA", "cursor:invalid")
}
