package redirect_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
)

// The table of the contract, row by row.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	now := time.Now().UnixMilli()
	w.put(t, "plain", nil)
	for _, status := range []int{301, 307, 308} {
		w.put(t, fmt.Sprint("s", status), func(r *linkcache.Record) { r.Status = status })
	}
	w.put(t, "expired", func(r *linkcache.Record) { r.ExpiresAt = now - 1 })
	w.put(t, "fallback", func(r *linkcache.Record) { r.ExpiresAt, r.Fallback, r.Status = now-1, "https://f.test/?x=%2F", 301 })
	w.put(t, "running", func(r *linkcache.Record) { r.StartsAt, r.ExpiresAt = now-1, now+3_600_000 })
	w.put(t, "ending", func(r *linkcache.Record) { r.Status, r.ExpiresAt = 301, now+60_000 })
	w.put(t, "later", func(r *linkcache.Record) { r.StartsAt = now + 3_600_000 })
	w.put(t, "deleted", func(r *linkcache.Record) { r.Destination, r.Flags = "", linkcache.FlagDeleted })
	w.put(t, "newer", func(r *linkcache.Record) { r.Flags = 1 << 14 })

	const noStore, maxAge = "private, no-store", "private, max-age=90"
	check := func(method, path string, status int, location, cacheControl string) response {
		t.Helper()
		r := w.send(t, method, path, "s.test")
		if r.status != status || r.header["Location"] != location || r.header["Cache-Control"] != cacheControl {
			t.Errorf("%s %s: %d, Location %q, Cache-Control %q; want %d, %q, %q", method, path,
				r.status, r.header["Location"], r.header["Cache-Control"], status, location, cacheControl)
		}
		if _, named := r.header["Server"]; named {
			t.Errorf("%s %s: the server names itself", method, path)
		}
		if r.status != 405 && r.header["X-Robots-Tag"] != "noindex" {
			t.Errorf("%s %s: X-Robots-Tag %q", method, path, r.header["X-Robots-Tag"])
		}
		if strings.HasPrefix(r.header["Content-Type"], "text/html") && method == "GET" {
			for _, want := range []string{"<!doctype html>", `<html lang="en">`, "<title>"} {
				if !strings.Contains(r.body, want) {
					t.Errorf("%s %s: the page has no %s", method, path, want)
				}
			}
			if strings.Contains(r.body, "<script") {
				t.Errorf("%s %s: the page has a script", method, path)
			}
		}
		if method == "HEAD" && r.body != "" {
			t.Errorf("HEAD %s has a body", path)
		}
		return r
	}
	const to = "https://e.test/"
	for _, method := range []string{"GET", "HEAD"} {
		check(method, "/plain", 302, to, noStore)
		check(method, "/s301", 301, to, maxAge)
		check(method, "/s307", 307, to, noStore)
		check(method, "/s308", 308, to, maxAge)
		check(method, "/expired", 410, "", noStore)
		check(method, "/fallback", 302, "https://f.test/?x=%2F", noStore)
		check(method, "/running", 302, to, noStore)
		check(method, "/ending", 301, to, noStore) // a browser must not keep it past its end
		check(method, "/later", 404, "", noStore)
		check(method, "/deleted", 404, "", noStore)
		check(method, "/never", 404, "", noStore)
		check(method, "/%zz", 404, "", noStore)
		check(method, "//", 404, "", noStore)
		check(method, "/"+strings.Repeat("x", 3000), 404, "", noStore)
		if r := check(method, "/newer", 503, "", noStore); r.header["Retry-After"] == "" {
			t.Error("503 without Retry-After")
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE"} {
		if r := check(method, "/plain", 405, "", ""); r.header["Allow"] != "GET, HEAD" {
			t.Errorf("%s: Allow is %q", method, r.header["Allow"])
		}
	}
}

func TestWellKnownPathsAreNoLookUp(t *testing.T) {
	w := newWorld(t)
	for _, host := range []string{"s.test", "go.test", "localhost", "unknown.test"} {
		check := func(path string, status int, contentType, contains string) {
			t.Helper()
			r := w.send(t, "GET", path, host)
			if r.status != status || r.header["Content-Type"] != contentType || !strings.Contains(r.body, contains) {
				t.Errorf("%s%s: %d %s %q", host, path, r.status, r.header["Content-Type"], r.body)
			}
			if timing, ok := r.header["Server-Timing"]; ok {
				t.Errorf("%s%s: looked up, %s", host, path, timing)
			}
		}
		check("/robots.txt", 200, "text/plain; charset=utf-8", "User-agent: *")
		check("/favicon.ico", 204, "", "")
		check("/", 200, "text/html; charset=utf-8", "<h1>")
		check("/?utm_source=x", 200, "text/html; charset=utf-8", "<h1>")
	}
	if got := w.origin.Asked(); got != 0 {
		t.Errorf("the origin was asked %d times", got)
	}
	if got := facttest.Metric(t, w.registry, "cache_l1_miss_total", ""); got != 0 {
		t.Errorf("%v look-ups", got)
	}
	w.clicked(t, 0)
}

func TestHostSpelling(t *testing.T) {
	w := newWorld(t)
	w.put(t, "promo", nil)
	w.putAt(t, "go.test", "promo", func(r *linkcache.Record) { r.Destination = "https://go-target.test/" })
	check := func(host, location string) {
		t.Helper()
		if r := w.send(t, "GET", "/promo", host); r.header["Location"] != location {
			t.Errorf("Host %q: %d %q, want %q", host, r.status, r.header["Location"], location)
		}
	}
	for _, host := range []string{"s.test", "S.TEST", "s.test.", "s.test:8080", "S.Test.:80", "localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080"} {
		check(host, "https://e.test/")
	}
	check("GO.test:80", "https://go-target.test/")
	check("unknown.test", "")
	check("10.0.0.1", "")

	// A request line with the whole URL names the host.
	if r := w.send(t, "GET", "http://go.test/promo?x=1", "s.test"); r.header["Location"] != "https://go-target.test/" {
		t.Errorf("absolute form: %d %q", r.status, r.header["Location"])
	}
}

// The targets of the shared cases, byte for byte.
//
// Guards I12.
func TestTargetsAreByteExact(t *testing.T) {
	w := newWorld(t)
	var file struct {
		Cases []struct {
			Name         string `json:"name"`
			Destination  string `json:"destination"`
			Location     string `json:"location"`
			Visit        string `json:"visit"`
			ForwardQuery string `json:"forward_query"`
			Create       int    `json:"create"`
		} `json:"cases"`
	}
	readCases(t, "testdata/targets.json", &file)
	modes := map[string]linkcache.Flags{
		"add": linkcache.FlagForwardAdd, "visitor_wins": linkcache.FlagForwardVisitorWins, "owner_wins": linkcache.FlagForwardOwnerWins,
	}
	n := 0
	for i, c := range file.Cases {
		if c.Create != http.StatusCreated || c.Location == "" {
			continue
		}
		n++
		slug, forward := fmt.Sprint("t", i), modes[c.ForwardQuery]
		w.put(t, slug, func(r *linkcache.Record) {
			r.Destination, r.Flags = c.Location, forward
			if forward != 0 { // as given, which in these cases needs no change
				r.Destination = c.Destination
			}
		})
		for range 2 { // from a cache too
			if r := w.get(t, "/"+slug+c.Visit); r.status != 302 || r.header["Location"] != c.Location {
				t.Errorf("%s: %d %q, want %q", c.Name, r.status, r.header["Location"], c.Location)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d cases were tried", n)
	}
}

func TestSlugsAreFoundHoweverTheyAreWritten(t *testing.T) {
	w := newWorld(t)
	var file struct {
		Cases []struct {
			Name       string   `json:"name"`
			Slug       string   `json:"slug"`
			Create     int      `json:"create"`
			DomainCase string   `json:"domain_case"`
			Redirects  []string `json:"redirects"`
			NotFound   []string `json:"not_found"`
		} `json:"cases"`
	}
	readCases(t, "testdata/slugs.json", &file)
	n := 0
	for _, c := range file.Cases {
		if c.Create != http.StatusCreated {
			continue
		}
		host, key, fold := fmt.Sprintf("d%d.test", n), address.SlugKey(c.Slug), c.DomainCase == "insensitive"
		n++
		if fold {
			key = address.FoldedSlugKey(c.Slug)
		}
		w.domains.Take(uint64(n), []domains.Domain{{Host: host, FoldCase: fold}}) //nolint:gosec // small
		w.putAt(t, host, key, nil)
		for _, path := range c.Redirects {
			if r := w.send(t, "GET", path, host); r.status != 302 {
				t.Errorf("%s: %s gives %d", c.Name, path, r.status)
			}
		}
		for _, path := range c.NotFound {
			if r := w.send(t, "GET", path, host); r.status != 404 {
				t.Errorf("%s: %s gives %d, want 404", c.Name, path, r.status)
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d cases were tried", n)
	}
}

func readCases(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func TestNothingFromTheVisitorChangesTheTarget(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", nil)
	for _, query := range []string{"?url=https://evil.test/", "?redir_url=//evil.test", "?next=/x", "?to=a%0d%0aX:%20y", "?a=b#c"} {
		r := w.get(t, "/a"+query, "X-Forwarded-Host: evil.test", "Forwarded: host=evil.test", "X-Original-URL: /b", "X-Rewrite-URL: /b", "CF-IPCountry: XX")
		if r.status != 302 || r.header["Location"] != "https://e.test/" {
			t.Errorf("%s: %d %q", query, r.status, r.header["Location"])
		}
	}
}

func TestExpiryIsCheckedAtTheRequest(t *testing.T) {
	w := newWorld(t)
	at := time.Now().Add(700 * time.Millisecond).Truncate(time.Millisecond) // as records have it
	w.put(t, "ends", func(r *linkcache.Record) { r.ExpiresAt = at.UnixMilli() })
	w.put(t, "begins", func(r *linkcache.Record) { r.StartsAt = at.UnixMilli() })
	if r := w.get(t, "/ends"); r.status != 302 {
		t.Errorf("before its end: %d", r.status)
	}
	if r := w.get(t, "/begins"); r.status != 404 {
		t.Errorf("before its start: %d", r.status)
	}
	facttest.Eventually(t, "it has ended", func() bool { return w.get(t, "/ends").status == 410 })
	facttest.Eventually(t, "it has begun", func() bool { return w.get(t, "/begins").status == 302 })
	if early := time.Until(at); early > 0 {
		t.Errorf("%v too early", early)
	}
}

func TestServerTimingSaysWhoAnswered(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", nil)
	first := w.get(t, "/a").header["Server-Timing"]
	if first != "cache;desc=l2" && first != "cache;desc=origin" {
		t.Errorf("the first look-up says %q", first)
	}
	facttest.Eventually(t, "it is a hit", func() bool { w.beat(t); return w.get(t, "/a").header["Server-Timing"] == "cache;desc=l1" })
	if got := facttest.Metric(t, w.registry, "redirect_duration_seconds", "l1"); got == 0 {
		t.Error("no duration of hits")
	}
}

// Guards I10.
func TestNobodyToAskIs503NeverA404(t *testing.T) {
	w := newWorld(t)
	w.put(t, "known", nil)
	facttest.Eventually(t, "it is a hit", func() bool { w.beat(t); return w.get(t, "/known").header["Server-Timing"] == "cache;desc=l1" })
	w.redis.Kill()
	w.origin.Close()
	for range 6 {
		if r := w.get(t, "/cold"); r.status != 503 || r.header["Retry-After"] == "" {
			t.Errorf("an unknown link: %d, Retry-After %q; want 503", r.status, r.header["Retry-After"])
		}
		if r := w.get(t, "/known"); r.status != 302 || r.header["Location"] != "https://e.test/" {
			t.Errorf("a known link: %d %q", r.status, r.header["Location"])
		}
	}
	facttest.Eventually(t, "it says stale", func() bool { return w.get(t, "/known").header["Server-Timing"] == "cache;desc=stale" })
}

func TestUnreadableRequests(t *testing.T) {
	w := newWorld(t)
	if r := w.get(t, "/a", "Cookie: "+strings.Repeat("c", 8<<10)); r.status != 404 {
		t.Errorf("ordinary long cookies: %d", r.status)
	}
	// The answer may be lost with the connection, whose rest nobody reads.
	client := noRedirects(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.addr+"/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Cookie", strings.Repeat("c", 64<<10))
	if res, err := client.Do(req); err == nil {
		_ = res.Body.Close()
	}
	facttest.Eventually(t, "a head that is too long is refused", func() bool { return facttest.Metric(t, w.registry, "redirect_responses_total", "431") == 1 })
	if r := w.send(t, "GET", "/a b", "s.test"); r.status != 400 && r.status != 404 {
		t.Errorf("a malformed line: %d", r.status)
	}
}

func TestKeepAliveConnectionsDoNotMixAnswers(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.put(t, fmt.Sprint("k", i), func(r *linkcache.Record) { r.Destination = fmt.Sprintf("https://e.test/%d", i) })
	}
	client := noRedirects(t)
	for round := range 3 {
		for i := range 20 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/k%d", w.addr, i), nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if got, want := res.Header.Get("Location"), fmt.Sprintf("https://e.test/%d", i); got != want {
				t.Errorf("round %d: %q, want %q", round, got, want)
			}
		}
	}
}
