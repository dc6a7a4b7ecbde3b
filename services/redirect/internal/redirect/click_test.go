package redirect_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

func TestAClickSaysWhatWasAnswered(t *testing.T) {
	w := newWorld(t)
	r := w.put(t, "café", func(r *linkcache.Record) {
		r.Version, r.Status, r.Destination = 9, 307, "https://e.test/?a=1&utm_campaign=x#utm_f"
	})
	before := time.Now()
	got := w.get(t, "/cafe%CC%81/?utm_source=a&x=%2F", "User-Agent: UA/1 \xff", "Referer: https://r.test/?q=1",
		"Accept-Language: fr;q=0.9", "Sec-Purpose: prefetch")
	if got.status != 307 {
		t.Fatalf("answered %d", got.status)
	}
	c := w.clicked(t, 1)[0]
	check := func(field, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	check("host", c.GetHost(), "s.test")
	check("slug_key", c.GetSlugKey(), "café")
	check("region", c.GetEdgeRegion(), "fra")
	check("edge", c.GetEdge(), "redirect-fra-0")
	check("user_agent", string(c.GetUserAgent()), "UA/1 \xff")
	check("referrer", string(c.GetReferrer()), "https://r.test/?q=1")
	check("accept_language", string(c.GetAcceptLanguage()), "fr;q=0.9")
	check("query", string(c.GetQuery()), "utm_source=a&x=%2F")
	check("target_query", string(c.GetTargetQuery()), "a=1&utm_campaign=x")
	check("purpose", string(c.GetPurpose()), "prefetch")
	check("address", string(c.GetAddress()), "\x7f\x00\x00\x01")
	check("link_id", string(c.GetLinkId()), string(r.LinkID[:]))
	check("workspace_id", string(c.GetWorkspaceId()), string(r.WorkspaceID[:]))
	if c.GetStatus() != 307 || c.GetLinkVersion() != 9 {
		t.Errorf("status %d, version %d", c.GetStatus(), c.GetLinkVersion())
	}
	at := time.UnixMicro(c.GetTimeUnixUs())
	if at.Before(before.Add(-time.Millisecond)) || at.After(time.Now()) {
		t.Errorf("time is %v", at)
	}
	if id := c.GetId(); id[6]>>4 != 7 || id[8]>>6 != 2 {
		t.Errorf("id %x is no UUIDv7", id)
	}
}

func TestOnlyAnsweredGetsOfALinkAreClicks(t *testing.T) {
	w := newWorld(t)
	past := time.Now().UnixMilli() - 1
	w.put(t, "a", nil)
	w.put(t, "gone", func(r *linkcache.Record) { r.ExpiresAt = past })
	w.put(t, "fallback", func(r *linkcache.Record) { r.ExpiresAt, r.Fallback = past, "https://f.test/" })
	for _, path := range []string{"/gone", "/never", "/", "/robots.txt", "/favicon.ico"} {
		w.get(t, path)
	}
	w.send(t, "HEAD", "/a", "s.test")
	w.send(t, "POST", "/a", "s.test", "Content-Length: 0")
	w.get(t, "/a")
	w.get(t, "/fallback")
	var slugs []string
	ids := map[string]bool{}
	for _, c := range w.clicked(t, 2) {
		slugs = append(slugs, c.GetSlugKey())
		ids[string(c.GetId())] = true
	}
	if len(ids) != 2 {
		t.Error("two clicks have one id")
	}
	if s := strings.Join(slugs, " "); s != "a fallback" && s != "fallback a" {
		t.Errorf("clicks of %s", s)
	}
	accepted, produced := facttest.Metric(t, w.registry, "clicks_accepted_total", ""), facttest.Metric(t, w.registry, "clicks_produced_total", "")
	if accepted != 2 || produced != 2 {
		t.Errorf("accepted %v, produced %v", accepted, produced)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", nil)
	w.get(t, "/a?"+strings.Repeat("q", 3000), "User-Agent: "+strings.Repeat("u", 1000), "Referer: "+strings.Repeat("r", 3000),
		"Accept-Language: "+strings.Repeat("l", 1000), "Purpose: "+strings.Repeat("p", 100))
	c := w.clicked(t, 1)[0]
	for _, f := range []struct {
		name string
		got  []byte
		want int
	}{
		{"user_agent", c.GetUserAgent(), 512},
		{"referrer", c.GetReferrer(), 2048},
		{"accept_language", c.GetAcceptLanguage(), 256},
		{"query", c.GetQuery(), 2048},
		{"purpose", c.GetPurpose(), 64},
	} {
		if len(f.got) != f.want {
			t.Errorf("%s has %d bytes, want %d", f.name, len(f.got), f.want)
		}
	}
}

// asVisitor returns whose click it is.
func asVisitor(t *testing.T, w *world, headers ...string) netip.Addr {
	t.Helper()
	w.put(t, "a", nil)
	w.get(t, "/a", headers...)
	addr, _ := netip.AddrFromSlice(w.clicked(t, 1)[0].GetAddress())
	return addr
}

func TestVisitorsAddress(t *testing.T) {
	check := func(name, want string, trusted []string, headers ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if got := asVisitor(t, newWorld(t, trusting(trusted...)), headers...); got.String() != want {
				t.Errorf("the visitor is %s, want %s", got, want)
			}
		})
	}
	proxies := []string{"127.0.0.0/8", "10.0.0.0/8"}
	check("behind proxies", "203.0.113.9", proxies, "X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.1.1.1")
	check("several lines", "203.0.113.9", proxies, "X-Forwarded-For: 6.6.6.6, 203.0.113.9", "X-Forwarded-For: 10.1.1.1")
	check("with a port, version 6", "2001:db8::1", proxies, "X-Forwarded-For: 9.9.9.9, [2001:db8::1]:4711,10.1.1.1")
	check("nonsense stops it", "10.1.1.1", proxies, "X-Forwarded-For: 203.0.113.9, unknown, 10.1.1.1")
	check("all trusted", "10.2.2.2", proxies, "X-Forwarded-For: 10.2.2.2, 10.1.1.1")
	check("no header", "127.0.0.1", proxies)
	check("no trust", "127.0.0.1", nil, "X-Forwarded-For: 6.6.6.6", "X-Real-IP: 6.6.6.6", "Forwarded: for=6.6.6.6", "CF-Connecting-IP: 6.6.6.6")
}

func TestClicksDoNotShareBuffers(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", nil)
	const n = 200
	for i := range n {
		w.get(t, "/a", "User-Agent: "+strings.Repeat(string(rune('a'+i%26)), 20))
	}
	seen := map[string]int{}
	for _, c := range w.clicked(t, n) {
		ua := c.GetUserAgent()
		if len(ua) != 20 || !bytes.Equal(ua, bytes.Repeat(ua[:1], 20)) {
			t.Errorf("user agent %q", ua)
		}
		seen[string(ua[:1])]++
	}
	if len(seen) != 26 {
		t.Errorf("%d different user agents, want 26", len(seen))
	}
}
