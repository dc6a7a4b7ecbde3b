package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
)

const (
	links  = "/v1/analytics/links"
	totals = "/v1/analytics/totals"
)

// linkRow is a row of the table of links.
type linkRow struct {
	id                uuid.UUID
	workspace         uuid.UUID
	revision          uint64
	slug, title       string
	tags              []string
	archived, deleted bool
	created           string
}

func (f *fixture) insertLinks(rows ...linkRow) {
	f.t.Helper()
	batch, err := f.conn.PrepareBatch(f.t.Context(), "INSERT INTO links (workspace_id, link_id, revision, deleted, host, slug, title, destination, tags, archived, created_at)")
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = batch.Close() }()
	for _, r := range rows {
		if r.workspace == uuid.Nil {
			r.workspace = f.mine
		}
		if r.tags == nil {
			r.tags = []string{}
		}
		created, err := time.Parse(time.RFC3339, r.created)
		if r.created != "" && err != nil {
			f.t.Fatal(err)
		}
		if err := batch.Append(r.workspace, r.id, r.revision, r.deleted, "go.test", r.slug, r.title, "https://example.com/"+r.slug, r.tags, r.archived, created); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		f.t.Fatal(err)
	}
}

type linkList struct {
	Data       []query.LinkFigures
	Buckets    []time.Time
	NextCursor *string `json:"next_cursor"`
}

// Guards I70.
func TestLinksAreSortedByTheirFigures(t *testing.T) {
	f := newFixture(t)
	a, b, c, gone := uuid.UUID{0: 1}, uuid.UUID{0: 2}, uuid.UUID{0: 3}, uuid.UUID{0: 4} // ids grow with time
	name := map[uuid.UUID]string{a: "a", b: "b", c: "c", gone: "gone"}
	f.insertLinks(
		linkRow{id: a, revision: 1, slug: "alpha", title: "Été", tags: []string{"old"}, created: "2026-01-01T00:00:00Z"},
		linkRow{id: a, revision: 5, slug: "alpha", title: "Été", tags: []string{"spring", "mail"}, created: "2026-01-01T00:00:00Z"},
		linkRow{id: b, revision: 2, slug: "beta", tags: []string{"spring"}, created: "2026-03-01T00:00:00Z"},
		linkRow{id: c, revision: 3, slug: "gamma", archived: true, created: "2026-02-01T00:00:00Z"},
		linkRow{id: gone, revision: 3, slug: "gone", created: "2026-02-01T00:00:00Z"},
		linkRow{id: gone, revision: 4, slug: "gone", deleted: true, created: "2026-02-01T00:00:00Z"},
		linkRow{id: uuid.New(), revision: 4, slug: "theirs", workspace: f.other, created: "2026-02-01T00:00:00Z"},
	)
	f.insert(
		click{at: "2026-11-30T10:00:00Z", link: a, visitor: 1}, click{at: "2026-11-30T10:10:00Z", link: a, visitor: 1}, click{at: "2026-11-29T23:00:00Z", link: a, visitor: 2},
		click{at: "2026-11-30T12:34:56Z", link: b, visitor: 3}, click{at: "2026-11-30T13:00:00Z", link: b, visitor: 4, bot: true},
		click{at: "2026-05-05T05:05:05Z", link: c, visitor: 5},
		click{at: "2026-11-30T10:00:00Z", link: gone, visitor: 6},
		click{at: "2026-11-30T10:00:00Z", link: a, visitor: 6, workspace: f.other},
	)
	check := func(want string, params ...string) {
		t.Helper()
		var got []string
		for _, l := range ask[linkList](f, links, params...).Data {
			last := "never"
			if l.LastClickAt != nil {
				last = l.LastClickAt.Format("01-02T15:04:05")
			}
			got = append(got, fmt.Sprint(name[l.LinkID], of(l.Counts), last))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: got %s, want %s", params, strings.Join(got, " "), want)
		}
	}
	const la, lb, lc = "11-30T10:10:00", "11-30T12:34:56", "05-05T05:05:05"
	check("a[3 2 0]" + la + " b[1 1 1]" + lb + " c[0 0 0]" + lc)
	check("b[1 1 1]"+lb+" a[3 2 0]"+la+" c[0 0 0]"+lc, "sort", "last_click")
	check("b[1 1 1]"+lb+" c[0 0 0]"+lc+" a[3 2 0]"+la, "sort", "created")
	check("a[3 2 0]"+la+" b[2 2 1]11-30T13:00:00 c[0 0 0]"+lc, "bots", "include")
	check("b[1 1 1]11-30T13:00:00 c[0 0 0]never a[0 0 0]never", "bots", "only", "sort", "last_click")
	check("c[1 1 0]"+lc+" b[0 0 0]"+lb+" a[0 0 0]"+la, "from", "2026-05-05", "to", "2026-05-05", "sort", "clicks", "tz", "Asia/Kolkata", "link_id", a.String(), "link_id", b.String(), "link_id", c.String())
	check("a[3 2 0]"+la+" b[1 1 1]"+lb, "tag", "spring")
	check("", "tag", "old")
	check("a[3 2 0]"+la, "tag", "mail", "tag", "old")
	check("b[1 1 1]"+lb+" c[0 0 0]"+lc, "not_tag", "mail")
	check("c[0 0 0]"+lc, "archived", "true")
	check("a[3 2 0]"+la+" b[1 1 1]"+lb, "archived", "false")
	check("a[3 2 0]"+la, "q", "ÉTÉ")
	check("b[1 1 1]"+lb, "q", "COM/bet")
	check("", "domain", "other.test")
	check("a[3 2 0]"+la+" gone[1 1 0]11-30T10:00:00", "link_id", a.String(), "link_id", gone.String())

	list := ask[linkList](f, links, "from", "2026-11-29", "to", "2026-11-30", "sparkline", "4", "limit", "1")
	if l := list.Data[0]; fmt.Sprint(l.Sparkline) != "[0 1 2 0]" || l.Link != nil || len(list.Buckets) != 4 {
		t.Errorf("sparkline %v with buckets %v, link %v; want [0 1 2 0] and no link without links:read", l.Sparkline, list.Buckets, l.Link)
	}
	var seen []string
	params := []string{"limit", "1"}
	for cursor := list.NextCursor; cursor != nil; {
		next := ask[linkList](f, links, append(params, "cursor", *cursor)...)
		seen = append(seen, name[next.Data[0].LinkID])
		cursor = next.NextCursor
	}
	if fmt.Sprint(seen) != "[b c]" {
		t.Errorf("the pages behind the first hold %v, want b and c", seen)
	}
	if w := f.get("admin", links, "q", "alpha"); !strings.Contains(w.Body.String(), `"slug":"alpha"`) || !strings.Contains(w.Body.String(), `"tags":["spring","mail"]`) {
		t.Errorf("with the scope links:read the links are described: %s", w.Body)
	}
	if got := wrong(t, f.get("mine", links, "cursor", "x")); got != "cursor:invalid" {
		t.Errorf("a cursor that is none: %s", got)
	}
	if got := wrong(t, f.get("mine", links, "sort", "last_click", "cursor", *list.NextCursor)); got != "cursor:invalid" {
		t.Errorf("a cursor of another order: %s", got)
	}
	if got := wrong(t, f.get("mine", links, "country", "DE")); got != "country:unknown" {
		t.Errorf("a filter that the list does not have: %s", got)
	}
}

// Guards I71.
func TestFiguresOfATagAreThoseOfTheLinksThatHaveIt(t *testing.T) {
	f := newFixture(t)
	a, b := uuid.New(), uuid.New()
	f.insertLinks(linkRow{id: a, revision: 1, tags: []string{"x", "y"}}, linkRow{id: b, revision: 2, tags: []string{"y"}},
		linkRow{id: b, revision: 1, tags: []string{"x"}}, linkRow{id: uuid.New(), workspace: f.other, revision: 1, tags: []string{"z"}})
	f.insert(
		click{at: "2026-11-30T10:00:00Z", link: a, visitor: 1, country: "DE"}, click{at: "2026-11-28T10:00:00Z", link: a, visitor: 1},
		click{at: "2026-11-30T10:00:00Z", link: b, visitor: 1}, click{at: "2026-11-30T10:00:00Z", visitor: 2},
		click{at: "2026-11-30T10:00:00Z", link: a, visitor: 9, workspace: f.other},
	)
	check := func(want counts, params ...string) {
		t.Helper()
		if got := of(ask[Summary](f, summary, params...).Counts); got != want {
			t.Errorf("%v: got %v, want %v", params, got, want)
		}
	}
	check(counts{2, 2, 0}, "tag", "x")
	check(counts{3, 2, 0}, "tag", "y")
	check(counts{3, 2, 0}, "tag", "x", "tag", "y")
	check(counts{1, 1, 0}, "not_tag", "y")
	check(counts{1, 1, 0}, "tag", "y", "not_tag", "x")
	check(counts{1, 1, 0}, "tag", "x", "country", "DE")
	check(counts{0, 0, 0}, "tag", "z")
	check(counts{0, 0, 0}, "tag", "')) OR 1=1 --")
	for _, more := range [][]string{nil, {"not_status", "404"}, {"from", "2026-11-24T00:00:01Z"}} {
		var got []string
		for _, g := range ask[list[query.Group]](f, breakdown, append([]string{"by", "tag"}, more...)...).Data {
			got = append(got, fmt.Sprint(g.Value, of(g.Counts)))
		}
		if fmt.Sprint(got) != "[y[3 2 0] x[2 2 0]]" {
			t.Errorf("by tag with %v: %v, want y[3 2 0] x[2 2 0]", more, got)
		}
	}
	f.unread = true
	for _, target := range []string{summary + "?tag=x", breakdown + "?by=tag", links} {
		if w := f.raw("mine", target); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s answers %d before all links are known: %s", target, w.Code, w.Body)
		}
	}
}

func TestTotalsAreOfAllTime(t *testing.T) {
	f := newFixture(t)
	a := uuid.New()
	f.insert(
		click{at: "2003-02-01T10:20:30Z", link: a, visitor: 1}, click{at: "2026-11-30T10:11:12Z", link: a, visitor: 1, country: "DE", device: "mobile"},
		click{at: "2026-11-30T14:00:00Z", visitor: 2, bot: true},
	)
	check := func(want counts, first, last string, params ...string) {
		t.Helper()
		got := ask[query.Totals](f, totals, params...)
		text := func(t *time.Time) string {
			if t == nil {
				return ""
			}
			return t.Format(time.RFC3339)
		}
		if of(got.Counts) != want || text(got.FirstClickAt) != first || text(got.LastClickAt) != last {
			t.Errorf("%v: got %v from %s to %s, want %v from %s to %s", params, of(got.Counts), text(got.FirstClickAt), text(got.LastClickAt), want, first, last)
		}
	}
	check(counts{2, 2, 1}, "2003-02-01T10:00:00Z", "2026-11-30T10:11:12Z")
	check(counts{3, 3, 1}, "2003-02-01T10:00:00Z", "2026-11-30T14:00:00Z", "bots", "include")
	check(counts{2, 2, 0}, "2003-02-01T10:00:00Z", "2026-11-30T10:11:12Z", "link_id", a.String())
	check(counts{1, 1, 0}, "2026-11-30T10:00:00Z", "2026-11-30T10:11:12Z", "country", "DE")
	check(counts{1, 1, 0}, "2026-11-30T10:00:00Z", "2026-11-30T10:11:12Z", "country", "DE", "device", "mobile", "link_id", a.String())
	check(counts{0, 0, 0}, "", "", "country", "FR")
	if got := wrong(t, f.get("mine", totals, "from", "2026-11-30")); got != "from:unknown" {
		t.Errorf("a period: %s", got)
	}
}
