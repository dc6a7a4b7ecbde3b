package redirect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
)

const (
	home     = "https://home.test/%7Eus/?a=b&c=<d>"
	fallback = "https://fallback.test/%2F?x=1#y"
)

// ours are the domains of most tests here: one with everything, one that has nothing.
func ours() []domains.Domain {
	return []domains.Domain{
		{Host: "s.test"},
		{Host: "go.test", FoldCase: true, Home: home, Fallback: fallback},
		{Host: "xn--bcher-kva.test", Home: home},
	}
}

// asks asks the edge and compares status and Location.
func (w *world) asks(t *testing.T, host, path string, status int, location string) response {
	t.Helper()
	r := w.send(t, "GET", path, host)
	if r.status != status || r.header["Location"] != location {
		t.Errorf("%s%s: %d %q, want %d %q", host, path, r.status, r.header["Location"], status, location)
	}
	return r
}

func TestHomeAndFallbackOfADomain(t *testing.T) {
	w := newWorld(t)
	w.domains.Take(1, ours())
	now := time.Now().UnixMilli()
	for _, host := range []string{"s.test", "go.test"} {
		w.putAt(t, host, "live", nil)
		w.putAt(t, host, "deleted", func(r *linkcache.Record) { r.Destination, r.Flags = "", linkcache.FlagDeleted })
		w.putAt(t, host, "later", func(r *linkcache.Record) { r.StartsAt = now + 3_600_000 })
		w.putAt(t, host, "expired", func(r *linkcache.Record) { r.ExpiresAt = now - 1 })
		w.putAt(t, host, "own", func(r *linkcache.Record) { r.ExpiresAt, r.Fallback = now-1, "https://own.test/" })
		w.putAt(t, host, "newer", func(r *linkcache.Record) { r.Flags = 1 << 14 })
	}
	for _, path := range []string{"/", "/?utm_source=x"} {
		r := w.asks(t, "go.test", path, 302, home)
		if r.header["Cache-Control"] != "private, no-store" || r.header["X-Robots-Tag"] != "noindex" || r.header["Server-Timing"] != "" {
			t.Errorf("the way home says %v", r.header)
		}
		w.asks(t, "s.test", path, 200, "")
		w.asks(t, "localhost", path, 200, "")
		w.asks(t, "unknown.test", path, 200, "")
	}
	w.asks(t, "GO.test:8080", "/", 302, home)
	w.asks(t, "xn--bcher-kva.test", "/", 302, home)
	w.asks(t, "go.test", "/robots.txt", 200, "")
	w.asks(t, "go.test", "/favicon.ico", 204, "")

	for range 2 { // from a cache, too
		w.asks(t, "go.test", "/live", 302, "https://e.test/")
		w.asks(t, "go.test", "/never", 302, fallback)
		w.asks(t, "go.test", "/deleted", 302, fallback)
		w.asks(t, "go.test", "/%zz", 302, fallback)
		w.asks(t, "go.test", "/expired", 302, fallback)
		w.asks(t, "go.test", "/own", 302, "https://own.test/")
		w.asks(t, "go.test", "/later", 404, "")
		w.asks(t, "go.test", "/newer", 503, "")
		w.asks(t, "s.test", "/never", 404, "")
		w.asks(t, "s.test", "/expired", 410, "")
		w.asks(t, "s.test", "/own", 302, "https://own.test/")
	}
	if r := w.send(t, "HEAD", "/never", "go.test"); r.status != 302 || r.header["Location"] != fallback || r.header["Cache-Control"] != "private, no-store" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}

	// A link that was made since is not hidden by the fallback that was served before.
	made := w.putAt(t, "go.test", "never", nil)
	message := linkcache.Message{Keys: []string{linkcache.Key("go.test", "never")}, Revision: made.Revision}
	if err := w.store.Publish(t.Context(), &message); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "the new link is served", func() bool {
		w.beat(t)
		return w.send(t, "GET", "/never", "go.test").header["Location"] == "https://e.test/"
	})
}

// An expired link that leads to its domain's fallback is a click, as one that leads to
// its own. What is no link has none.
func TestFallbacksAndClicks(t *testing.T) {
	w := newWorld(t)
	w.domains.Take(1, ours())
	w.putAt(t, "go.test", "expired", func(r *linkcache.Record) { r.ExpiresAt = 1 })
	for _, path := range []string{"/", "/never", "/%zz"} {
		w.asks(t, "go.test", path, 302, map[bool]string{true: home, false: fallback}[path == "/"])
	}
	w.asks(t, "go.test", "/Expired", 302, fallback)
	if c := w.clicked(t, 1)[0]; c.GetSlugKey() != "expired" || c.GetStatus() != 302 || c.GetHost() != "go.test" {
		t.Errorf("the click is %v", c)
	}
}

// Guards I50.
func TestSlugsIgnoreCaseWhereTheDomainSaysSo(t *testing.T) {
	w := newWorld(t)
	w.domains.Take(1, ours())
	w.putAt(t, "go.test", "sale", nil)
	w.putAt(t, "go.test", "café", nil)
	w.putAt(t, "s.test", "sale", nil)
	for _, path := range []string{"/sale", "/SALE", "/SaLe/", "/%53ale", "/CAF%C3%89", "/Cafe%CC%81", "/CAFE%CC%81"} {
		w.asks(t, "go.test", path, 302, "https://e.test/")
	}
	for _, path := range []string{"/SALE", "/Sale"} {
		w.asks(t, "s.test", path, 404, "")
	}
	// One link has one entry, however it is written.
	facttest.Eventually(t, "it is a hit", func() bool {
		w.beat(t)
		return w.send(t, "HEAD", "/sAlE", "go.test").header["Server-Timing"] == "cache;desc=l1"
	})
	if r := w.send(t, "HEAD", "/SALE", "go.test"); r.header["Server-Timing"] != "cache;desc=l1" {
		t.Errorf("another spelling is answered from %s", r.header["Server-Timing"])
	}
	for _, c := range w.clicked(t, 7) {
		if c.GetSlugKey() != "sale" && c.GetSlugKey() != "café" {
			t.Errorf("a click of %q", c.GetSlugKey())
		}
	}
}

// Guards I50.
func TestTheSameSlugOnTwoDomains(t *testing.T) {
	w := newWorld(t)
	w.domains.Take(1, ours())
	at := func(host string) string { return "https://e.test/" + host }
	for i, host := range []string{"s.test", "go.test"} {
		w.putAt(t, host, "promo", func(r *linkcache.Record) { r.Destination, r.LinkID = at(host), [16]byte{byte(i + 1)} })
	}
	for range 3 {
		w.asks(t, "s.test", "/promo", 302, at("s.test"))
		w.asks(t, "go.test", "/promo", 302, at("go.test"))
	}
	for _, c := range w.clicked(t, 6) {
		if want := map[string]byte{"s.test": 1, "go.test": 2}[c.GetHost()]; c.GetLinkId()[0] != want {
			t.Errorf("a click at %s counts for link %d", c.GetHost(), c.GetLinkId()[0])
		}
	}
}

// A host that the table lacks is not looked up, however many slugs are tried; but
// nobody is told that there is nothing before links has said so.
//
// Guards I51.
func TestAStrangeHostIsAskedForOnceAndNotLookedUp(t *testing.T) {
	w := newWorld(t)
	w.domains.Take(1, ours())
	has := ours()
	w.linksHas.Store(&has)
	for i := range 20 {
		w.asks(t, "strange.test", fmt.Sprint("/x", i), 404, "")
		w.asks(t, "10.0.0.1", fmt.Sprint("/x", i), 404, "")
	}
	w.asks(t, "localhost", "/x", 404, "")
	if n := w.origin.Asked(); n != 1 {
		t.Errorf("the origin was asked for %d links, want that of the local name", n)
	}

	// One that was made a moment ago, before the edge was told.
	more := append(ours(), domains.Domain{Host: "new.test", FoldCase: true, Fallback: fallback})
	w.linksHas.Store(&more)
	w.putAt(t, "new.test", "first", nil)
	w.asks(t, "new.test", "/FIRST", 302, "https://e.test/")
	w.asks(t, "new.test", "/second", 302, fallback)
	asked := w.asked.Load()
	w.asks(t, "new.test", "/first", 302, "https://e.test/")
	if w.asked.Load() != asked {
		t.Error("it is asked for again, though it is known")
	}
}

// While links is away nobody knows whether a strange host is a domain: what Redis has
// is served, and the rest is not a 404.
//
// Guards I10, I51.
func TestAStrangeHostWhileLinksIsAway(t *testing.T) {
	w := newWorld(t)
	w.domains.Take(1, ours())
	w.putAt(t, "new.test", "first", nil)
	w.origin.Close()
	w.asks(t, "new.test", "/first", 302, "https://e.test/")
	w.asks(t, "new.test", "/second", 503, "")
	if r := w.send(t, "GET", "/first", "new.test", "User-Agent: UptimeRobot/2.0"); r.status != 302 {
		t.Errorf("a monitor gets %d", r.status)
	}
}
