package redirect_test

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	clicklimit "github.com/linkstream/linkstream/services/redirect/internal/limit"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

const (
	chrome = "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	iphone = "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
	slack  = "User-Agent: Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"
	google = "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)

// counting is an edge whose links with a limit are counted in a Redis of their own.
func counting(t *testing.T) (home *redistest.Server, option func(*redirect.Settings)) {
	t.Helper()
	home = redistest.Start(t)
	client := home.Client(t)
	return home, func(s *redirect.Settings) { s.Counter = clicklimit.New(client, prometheus.NewRegistry()) }
}

// unlocking is an edge that asks the world's origin for passwords.
func unlocking(limiter *ratelimit.Limiter, origin *lateOrigin) func(*redirect.Settings) {
	return func(s *redirect.Settings) {
		s.Passwords = origin
		s.Unlocking = redirect.Unlocking{Limiter: limiter, For: time.Hour}
	}
}

// lateOrigin is the line to an origin that is known later than the settings.
type lateOrigin struct{ *lookup.OriginClient }

// newUnlocking is a world with passwords, whose guesses this process counts.
func newUnlocking(t *testing.T, limiter *ratelimit.Limiter, options ...func(*redirect.Settings)) *world {
	t.Helper()
	late := &lateOrigin{}
	w := newWorld(t, append(options, unlocking(limiter, late))...)
	late.OriginClient = lookup.NewOriginClient(w.origin.URL)
	t.Cleanup(late.Close)
	return w
}

// link makes a link with options, as a change of it would.
func (w *world) link(t *testing.T, host, slug string, edit func(*eventspb.LinkChanged)) *eventspb.LinkChanged {
	t.Helper()
	w.revision++
	id := make([]byte, 16)
	copy(id, slug)
	ev := &eventspb.LinkChanged{
		LinkId: id, WorkspaceId: make([]byte, 16), Version: 1, Revision: w.revision, Kind: eventspb.LinkChanged_KIND_UPDATED,
		Address: &eventspb.Address{Host: host, Slug: slug, SlugKey: slug}, Destination: "https://own.test/", StatusCode: 302,
	}
	if edit != nil {
		edit(ev)
	}
	entries, err := linkcache.Entries(ev)
	if err == nil {
		_, err = w.store.Put(t.Context(), entries)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.origin.Put(ev)
	return ev
}

func always(destination string) *eventspb.Rule {
	return rule(destination, eventspb.Condition_KIND_BOT, "true", "false")
}

func rule(destination string, kind eventspb.Condition_Kind, values ...string) *eventspb.Rule {
	return &eventspb.Rule{Destination: destination, Conditions: []*eventspb.Condition{{Kind: kind, Values: values}}}
}

func to(destination string) *eventspb.Split {
	return &eventspb.Split{Variants: []*eventspb.Variant{{Destination: destination, Weight: 1}}}
}

// All options with all others, by the order of adr/0013.
//
// Guards I63.
func TestTheOrderOfDecisions(t *testing.T) {
	_, counts := counting(t)
	w := newWorld(t, counts)
	now := time.Now()
	options := []struct {
		name   string
		set    func(*eventspb.LinkChanged)
		status int // of an option that ends the decision
	}{
		{"disabled", func(ev *eventspb.LinkChanged) { ev.Disabled = true }, 410},
		{"not started", func(ev *eventspb.LinkChanged) { ev.StartsAt = timestamppb.New(now.Add(time.Hour)) }, 404},
		{"expired", func(ev *eventspb.LinkChanged) { ev.ExpiresAt = timestamppb.New(now.Add(-time.Second)) }, 410},
		{"limit", func(ev *eventspb.LinkChanged) { ev.MaxClicks = 1 }, 410},
		{"password", func(ev *eventspb.LinkChanged) { ev.Password = &eventspb.Password{UnlockKey: make([]byte, 32)} }, 200},
		{"rules", func(ev *eventspb.LinkChanged) { ev.Rules = []*eventspb.Rule{always("https://rule.test/?o=1")} }, 0},
		{"variants", func(ev *eventspb.LinkChanged) { ev.Split = to("https://variant.test/?o=1") }, 0},
		{"query", func(ev *eventspb.LinkChanged) { ev.ForwardQuery = eventspb.LinkChanged_FORWARD_QUERY_OWNER_WINS }, 0},
		{"utm", func(ev *eventspb.LinkChanged) { ev.Utm = &eventspb.Utm{Source: "s"} }, 0},
	}
	for set := range 1 << len(options) {
		slug := fmt.Sprint("x", set)
		has := map[string]bool{}
		status, name := 0, []string{}
		ev := w.link(t, "s.test", slug, func(ev *eventspb.LinkChanged) {
			ev.Destination = "https://own.test/?o=1"
			for i, o := range options {
				if set>>i&1 == 1 {
					o.set(ev)
					has[o.name] = true
					name = append(name, o.name)
					if status == 0 {
						status = o.status
					}
				}
			}
		})
		if has["limit"] && status == 410 && !has["disabled"] && !has["expired"] { // it is used up
			spend(t, w, ev)
		}
		want := ""
		if status == 0 {
			status, want = 302, "https://own.test/?o=1"
			if has["variants"] {
				want = "https://variant.test/?o=1"
			}
			if has["rules"] {
				want = "https://rule.test/?o=1"
			}
			if has["utm"] {
				want += "&utm_source=s"
			}
			if has["query"] {
				want += "&q=2"
			}
		}
		r := w.get(t, "/"+slug+"?o=9&q=2&utm_source=mine", chrome)
		if has["query"] && !has["utm"] && status == 302 {
			want += "&utm_source=mine"
		}
		if r.status != status || r.header["Location"] != want {
			t.Errorf("%v: %d, %q; want %d, %q", name, r.status, r.header["Location"], status, want)
		}
		if status == 200 && !strings.Contains(r.body, `name="password"`) {
			t.Errorf("%v: the page asks for no password", name)
		}
	}
}

// spend uses up a link's limit by a twin that has nothing but the limit.
func spend(t *testing.T, w *world, ev *eventspb.LinkChanged) {
	t.Helper()
	w.link(t, "s.test", "twin-"+ev.GetAddress().GetSlug(), func(twin *eventspb.LinkChanged) {
		twin.LinkId, twin.MaxClicks, twin.MaxClicksSince = ev.GetLinkId(), ev.GetMaxClicks(), ev.GetMaxClicksSince()
	})
	if r := w.get(t, "/twin-"+ev.GetAddress().GetSlug(), chrome); r.status != 302 {
		t.Fatalf("the twin answers %d", r.status)
	}
}

// Guards I62.
func TestALimitIsSpentByPeopleAlone(t *testing.T) {
	_, counts := counting(t)
	w := newWorld(t, counts, func(s *redirect.Settings) { s.MonitorAgents = []string{"MyMonitor"} })
	w.link(t, "s.test", "one", func(ev *eventspb.LinkChanged) { ev.MaxClicks = 1 })
	check := func(what, method string, status int, headers ...string) {
		t.Helper()
		r := w.send(t, method, "/one", "s.test", headers...)
		if r.status != status || (status == 302) != (r.header["Location"] == "https://own.test/") {
			t.Errorf("%s: %d, %v; want %d", what, r.status, r.header, status)
		}
		if status == 302 && r.header["Cache-Control"] != "private, no-store" {
			t.Errorf("%s: a browser keeps it: %v", what, r.header)
		}
	}
	check("a preview bot", "GET", 302, slack)
	check("a crawler", "GET", 302, google)
	check("HEAD", "HEAD", 302, chrome)
	check("a prefetch", "GET", 302, chrome, "Sec-Purpose: prefetch;prerender")
	check("a monitor", "GET", 302, "User-Agent: MyMonitor/1")
	check("a person", "GET", 302, chrome)
	check("another person", "GET", 410, chrome)
	check("a preview bot, too late", "GET", 410, slack)
	check("HEAD, too late", "HEAD", 410, chrome)
	if got := len(w.clicked(t, 5)); got != 5 {
		t.Errorf("%d clicks", got)
	}
}

// Guards I62.
func TestNPlusOneVisitorsAtOnce(t *testing.T) {
	_, counts := counting(t)
	w := newWorld(t, counts)
	w.link(t, "s.test", "some", func(ev *eventspb.LinkChanged) { ev.MaxClicks, ev.FallbackUrl = 20, "https://over.test/" })
	var given, over atomic.Int64
	var visitors sync.WaitGroup
	for range 60 {
		visitors.Go(func() {
			switch r := w.get(t, "/some", chrome); r.header["Location"] {
			case "https://own.test/":
				given.Add(1)
			case "https://over.test/":
				over.Add(1)
			default:
				t.Errorf("%d, %v", r.status, r.header)
			}
		})
	}
	visitors.Wait()
	if given.Load() != 20 || over.Load() != 40 {
		t.Errorf("%d redirects and %d to the fallback, want 20 and 40", given.Load(), over.Load())
	}
	// An edit is no new limit; a raised one gives the difference.
	raised := func(ev *eventspb.LinkChanged) { ev.MaxClicks, ev.Title = 21, "raised" }
	w.link(t, "s.test", "some", raised)
	w.flush(t)
	if r := w.get(t, "/some", chrome); r.status != 302 {
		t.Errorf("one more: %d", r.status)
	}
	if r := w.get(t, "/some", chrome); r.status != 410 {
		t.Errorf("no more: %d", r.status)
	}
	w.link(t, "s.test", "some", func(ev *eventspb.LinkChanged) { raised(ev); ev.MaxClicksSince = 9 })
	w.flush(t)
	if r := w.get(t, "/some", chrome); r.status != 302 {
		t.Errorf("set anew: %d", r.status)
	}
}

// flush has the edge ask again for everything.
func (w *world) flush(t *testing.T) {
	t.Helper()
	m := linkcache.Message{Keys: []string{linkcache.Key("s.test", "some")}, Revision: w.revision, Previous: -1}
	if err := w.store.Publish(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "the invalidation is heard", func() bool {
		return facttest.Metric(t, w.registry, "cache_invalidation_total", "pubsub") >= 1
	})
	w.beat(t)
}

func TestNobodyCountsNobodyRedirects(t *testing.T) {
	home, counts := counting(t)
	w := newWorld(t, counts)
	w.link(t, "s.test", "some", func(ev *eventspb.LinkChanged) { ev.MaxClicks = 20 })
	if r := w.get(t, "/some", chrome); r.status != 302 {
		t.Errorf("with Redis: %d", r.status)
	}
	home.Kill()
	if r := w.get(t, "/some", chrome); r.status != 503 || r.header["Retry-After"] == "" || r.header["Location"] != "" {
		t.Errorf("without Redis: %d, %v", r.status, r.header)
	}
	home.Restart(t)
	facttest.Eventually(t, "it redirects again", func() bool { return w.get(t, "/some", chrome).status == 302 })

	none := newWorld(t)
	none.link(t, "s.test", "some", func(ev *eventspb.LinkChanged) { ev.MaxClicks = 20 })
	if r := none.get(t, "/some", chrome); r.status != 503 {
		t.Errorf("where nobody ever counts: %d", r.status)
	}
}

func TestRulesVariantsAndTheirClicks(t *testing.T) {
	w := newWorld(t)
	w.link(t, "s.test", "a", func(ev *eventspb.LinkChanged) {
		ev.StatusCode = 301
		ev.Rules = []*eventspb.Rule{
			rule("https://never.test/", eventspb.Condition_KIND_COUNTRY, "DE"),
			rule("https://phone.test/?utm_source=p", eventspb.Condition_KIND_DEVICE, "mobile"),
			rule("https://fr.test/", eventspb.Condition_KIND_LANGUAGE, "fr"),
		}
		ev.Split = &eventspb.Split{Variants: []*eventspb.Variant{{Destination: "https://no.test/"}, {Destination: "https://b.test/", Weight: 1}}}
	})
	check := func(location string, headers ...string) {
		t.Helper()
		r := w.get(t, "/a", headers...)
		if r.status != 301 || r.header["Location"] != location || r.header["Cache-Control"] != "private, no-store" {
			t.Errorf("%v: %d, %v; want %q", headers, r.status, r.header, location)
		}
	}
	check("https://phone.test/?utm_source=p", iphone)
	check("https://fr.test/", chrome, "Accept-Language: fr-CA,en;q=0.5")
	check("https://b.test/", chrome, "Accept-Language: en;q=0.9, fr;q=0.1")
	got := map[string]int{}
	for _, c := range w.clicked(t, 3) {
		got[fmt.Sprint(c.GetRule(), c.GetVariant(), " ", string(c.GetTargetQuery()))]++
	}
	for _, want := range []string{"2 0 utm_source=p", "3 0 ", "0 2 "} {
		if got[want] != 1 {
			t.Errorf("clicks by rule, variant and target's query: %v; want one of %q", got, want)
		}
	}
}

// From Redis, from the origin and from memory a link is the same.
func TestOptionsAreKeptInMemory(t *testing.T) {
	w := newWorld(t)
	w.link(t, "s.test", "all", func(ev *eventspb.LinkChanged) {
		ev.Title, ev.FallbackUrl = "The title", "https://f.test/"
		ev.Rules = []*eventspb.Rule{rule("https://phone.test/", eventspb.Condition_KIND_DEVICE, "mobile")}
	})
	check := func(cache string) {
		t.Helper()
		facttest.Eventually(t, "it comes from "+cache, func() bool {
			w.beat(t)
			return w.send(t, "HEAD", "/all", "s.test").header["Server-Timing"] == "cache;desc="+cache
		})
		if r := w.get(t, "/all", iphone); r.header["Location"] != "https://phone.test/" {
			t.Errorf("%s: %v", cache, r.header)
		}
		if r := w.get(t, "/all+", chrome); !strings.Contains(r.body, "The title") || !strings.Contains(r.body, "own.<wbr>test") {
			t.Errorf("%s: the preview is %.2000s", cache, r.body)
		}
	}
	check("l1")
	monitored := newWorld(t, func(s *redirect.Settings) { s.MonitorAgents = []string{"iPhone"} }) // never from memory
	monitored.link(t, "s.test", "all", func(ev *eventspb.LinkChanged) { ev.Rules = []*eventspb.Rule{always("https://rule.test/")} })
	if r := monitored.get(t, "/all", iphone); r.header["Location"] != "https://rule.test/" || r.header["Server-Timing"] == "cache;desc=l1" {
		t.Errorf("a monitor: %v", r.header)
	}
}

func TestOptionsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.put(t, "bad", func(r *linkcache.Record) { r.Flags, r.Options = linkcache.FlagRules, `{"r":1}` })
	w.put(t, "newer", func(r *linkcache.Record) { r.Flags = 1 << 13 })
	for _, path := range []string{"/bad", "/newer", "/bad+"} {
		if r := w.get(t, path, chrome); r.status != 503 {
			t.Errorf("%s: %d, %v", path, r.status, r.header)
		}
	}
}

func TestADisabledLinkIsGone(t *testing.T) {
	w := newWorld(t)
	w.link(t, "s.test", "off", func(ev *eventspb.LinkChanged) { ev.Disabled = true })
	w.link(t, "s.test", "led", func(ev *eventspb.LinkChanged) { ev.Disabled, ev.FallbackUrl = true, "https://f.test/" })
	for path, status := range map[string]int{"/off": 410, "/off+": 410, "/off.qr": 410, "/led": 302} {
		if r := w.get(t, path, chrome); r.status != status || strings.Contains(r.header["Location"]+r.body, "own.test") {
			t.Errorf("%s: %d, %v", path, r.status, r.header)
		}
	}
}

func TestACardForPreviewBots(t *testing.T) {
	w := newWorld(t)
	w.link(t, "s.test", "card", func(ev *eventspb.LinkChanged) {
		ev.Preview = &eventspb.Preview{Title: "Now <b>", Text: "It is here.", Image: "https://i.test/c.png"}
		ev.Rules = []*eventspb.Rule{always("https://rule.test/")}
	})
	r := w.get(t, "/card", slack)
	if r.status != 200 || !strings.Contains(r.body, `<meta property="og:title" content="Now &lt;b&gt;">`) || !strings.Contains(r.body, "https://i.test/c.png") ||
		r.header["Location"] != "" || r.header["Cache-Control"] != "private, no-store" || !strings.HasPrefix(r.header["Content-Security-Policy"], "default-src 'none'") {
		t.Errorf("%d, %v, %s", r.status, r.header, r.body)
	}
	for _, agent := range []string{chrome, google} {
		if r := w.get(t, "/card", agent); r.status != 302 || r.header["Location"] != "https://rule.test/" {
			t.Errorf("%s: %d, %v", agent, r.status, r.header)
		}
	}
	w.clicked(t, 2)
}

func TestBeneathALink(t *testing.T) {
	w := newWorld(t)
	forward := func(destination string) func(*eventspb.LinkChanged) {
		return func(ev *eventspb.LinkChanged) { ev.Destination, ev.ForwardPath = destination, true }
	}
	w.domains.Take(1, []domains.Domain{{Host: "s.test", Fallback: "https://nowhere.test/"}, {Host: "fold.test", FoldCase: true}})
	w.link(t, "s.test", "docs", forward("https://docs.test/v1?own=1#top"))
	w.link(t, "s.test", "docs/api", forward("https://api.test/"))
	w.link(t, "s.test", "docs/plain", nil)
	w.link(t, "s.test", "both", func(ev *eventspb.LinkChanged) {
		forward("https://own.test/")(ev)
		ev.ForwardQuery = eventspb.LinkChanged_FORWARD_QUERY_ADD
		ev.Rules = []*eventspb.Rule{rule("https://phone.test/m/", eventspb.Condition_KIND_DEVICE, "mobile")}
	})
	w.link(t, "fold.test", "docs", forward("https://folded.test"))
	check := func(host, path, location string, headers ...string) {
		t.Helper()
		for range 2 { // from Redis or the origin, then from memory
			if r := w.send(t, "GET", path, host, append(headers, chrome)...); r.status != 302 || r.header["Location"] != location {
				t.Errorf("%s%s: %d, %q; want %q", host, path, r.status, r.header["Location"], location)
			}
		}
	}
	check("s.test", "/docs", "https://docs.test/v1?own=1#top")
	check("s.test", "/docs/", "https://docs.test/v1?own=1#top")
	check("s.test", "/docs/a/b%2Fc/d%20e", "https://docs.test/v1/a/b%2Fc/d%20e?own=1#top")
	check("s.test", "/docs/a/b/c/d/e/f/g/", "https://docs.test/v1/a/b/c/d/e/f/g/?own=1#top")
	check("s.test", "/docs/"+strings.Repeat("x", 3000), "https://docs.test/v1/"+strings.Repeat("x", 3000)+"?own=1#top")
	check("s.test", "/docs/c++", "https://docs.test/v1/c++?own=1#top")
	check("s.test", "/docs/a.qr", "https://docs.test/v1/a.qr?own=1#top")
	check("s.test", "/docs/api/x", "https://api.test/x")
	check("s.test", "/docs/plain", "https://own.test/")
	check("s.test", "/docs/plain/x", "https://docs.test/v1/plain/x?own=1#top")
	check("s.test", "/both/x?a=1", "https://own.test/x?a=1")
	check("fold.test", "/DOCS/Ab", "https://folded.test/Ab")
	for _, path := range []string{"/docs/../x", "/docs/%2e%2E/x", "/docs/a/..", "/never/x", "/docsx/y", "/a/b/c/d"} {
		check("s.test", path, "https://nowhere.test/")
	}
	if r := w.send(t, "GET", "/both/x", "s.test", iphone); r.header["Location"] != "https://phone.test/m/x" {
		t.Errorf("beneath a rule's target: %v", r.header)
	}
	if r := w.send(t, "GET", "/never/x", "fold.test"); r.status != 404 {
		t.Errorf("nothing above: %d", r.status)
	}
}

// A link that is there is asked for once, however many segments it has.
func TestALinkIsLookedUpOnce(t *testing.T) {
	w := newWorld(t)
	w.link(t, "s.test", "a/b/c", nil)
	facttest.Eventually(t, "it is a hit", func() bool { w.beat(t); return w.get(t, "/a/b/c").header["Server-Timing"] == "cache;desc=l1" })
	asked := w.origin.Asked()
	for range 10 {
		w.get(t, "/a/b/c")
	}
	if got := w.origin.Asked(); got != asked {
		t.Errorf("the origin was asked %d times more", got-asked)
	}
}

func form(password string) string { return "password=" + url.QueryEscape(password) }

func newLimiter(t *testing.T, server *redistest.Server) *ratelimit.Limiter {
	t.Helper()
	if server == nil {
		return ratelimit.New(nil, ratelimit.Timeout, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	}
	return ratelimit.New(server.Client(t), ratelimit.Timeout, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
}
