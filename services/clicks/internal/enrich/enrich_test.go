package enrich

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
)

const (
	chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
)

func TestAgents(t *testing.T) {
	a := newAgents()
	check := func(ua string, want agent) {
		t.Helper()
		for range 2 { // read, then remembered
			if got := a.parse(ua); got != want {
				t.Errorf("%q is %+v, want %+v", ua, got, want)
			}
		}
	}
	check("", agent{})
	check(chrome, agent{device: "desktop", os: "Windows", browser: "Chrome"})
	check(iphone, agent{device: "mobile", os: "iOS", browser: "Safari"})
	check("Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
		agent{device: "tablet", os: "iOS", browser: "Safari"})
	check("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
		agent{device: "desktop", os: "macOS", browser: "Safari"})
	check("Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", agent{device: "desktop", os: "Linux", browser: "Firefox"})
	check("Mozilla/5.0 (Linux; Android 14; SM-X700) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
		agent{device: "tablet", os: "Android", browser: "Chrome"})
	check("Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
		agent{device: "mobile", os: "Android", browser: "Chrome"})
	check("curl/8.5.0", agent{})
	check("Go-http-client/1.1", agent{})
	check("python-requests/2.32.0", agent{})

	bot := func(ua string, want bool) {
		t.Helper()
		if got := a.parse(ua).bot; got != want {
			t.Errorf("%q: bot is %v, want %v", ua, got, want)
		}
	}
	bot("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true)
	bot("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)", true)
	bot("facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", true)
	bot("Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)", true)
	bot("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", true)
	bot("SkypeUriPreview Preview/0.5", true)
	bot("Baiduspider+(+http://www.baidu.com/search/spider.htm)", true)
	bot("Mozilla/5.0 (Linux; Android 13; CUBOT P80) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", false)
	bot(iphone, false)
	bot("curl/8.5.0", false)
}

func TestAgentsAreForgotten(t *testing.T) {
	a := newAgents()
	for i := range 3 * cachedAgents {
		a.parse(strings.Repeat("x", i%97) + string(rune('a'+i%26)) + time.Duration(i).String())
	}
	if n := len(a.recent) + len(a.old); n > 2*cachedAgents {
		t.Errorf("%d agents remembered, want at most %d", n, 2*cachedAgents)
	}
}

func TestReferrerHost(t *testing.T) {
	check := func(header, want string) {
		t.Helper()
		if got := referrerHost([]byte(header)); got != want {
			t.Errorf("referrerHost(%q) = %q, want %q", header, got, want)
		}
	}
	check("", "")
	check("https://News.Example.com/a?b=c", "news.example.com")
	check("http://example.com:8080/", "example.com")
	check("https://example.com./", "example.com")
	check("https://user:secret@example.com/", "example.com")
	check("https://[2001:db8::1]:443/", "2001:db8::1")
	check("android-app://com.google.android.gm/", "com.google.android.gm")
	check("not a url", "")
	check("https://%zz/", "")
	check("/relative", "")
	check("https://"+strings.Repeat("a", 500)+".com/", strings.Repeat("a", maxText))
}

func TestLanguage(t *testing.T) {
	check := func(header, want string) {
		t.Helper()
		if got := language([]byte(header)); got != want {
			t.Errorf("language(%q) = %q, want %q", header, got, want)
		}
	}
	check("", "")
	check("de", "de")
	check("de-CH, fr;q=0.8", "de")
	check("EN-us;q=0.9,de", "en")
	check("pt_BR", "pt")
	check("gsw-CH", "gsw")
	check("*", "")
	check("x", "")
	check("english", "")
	check("d\xff", "")
	check(" fr ,en", "fr")
}

func TestCampaign(t *testing.T) {
	check := func(query string, want Campaign) {
		t.Helper()
		if got := campaign([]byte(query)); got != want {
			t.Errorf("campaign(%q) = %+v, want %+v", query, got, want)
		}
	}
	check("", Campaign{})
	check("a=b", Campaign{})
	check("utm_source=news&utm_medium=email&utm_campaign=spring+sale&utm_term=%C3%BC&utm_content=x%26y",
		Campaign{Source: "news", Medium: "email", Name: "spring sale", Term: "ü", Content: "x&y"})
	check("UTM_Source=News", Campaign{Source: "News"})
	check("utm_source=&utm_source=a&utm_source=b", Campaign{Source: "a"})
	check("utm_source", Campaign{})
	check("utm_source=%zz", Campaign{Source: "%zz"})
	check("utm_source=%ff", Campaign{Source: "\uFFFD"})
	check("utm_source=a%00b", Campaign{Source: "a\uFFFDb"})
	check("utm_source="+strings.Repeat("%C3%BC", 200), Campaign{Source: strings.Repeat("ü", 127)})
}

func wire(c events.Click) *eventspb.Click {
	if c.Host == "" {
		c.Host = "go.test"
	}
	if c.TimeUnixMicro == 0 {
		c.TimeUnixMicro = time.Date(2026, 11, 30, 10, 0, 0, 123_456_000, time.UTC).UnixMicro()
	}
	var out eventspb.Click
	if err := events.DecodeClick(events.AppendClick(nil, &c), &out); err != nil {
		panic(err)
	}
	return &out
}

func TestRow(t *testing.T) {
	row := New().Row(wire(events.Click{
		ID: [16]byte{1}, WorkspaceID: [16]byte{2}, LinkID: [16]byte{3}, LinkVersion: 4, Host: "Go.Test", SlugKey: "été",
		Status: 302, EdgeRegion: "fra", Edge: "fra-0", UserAgent: []byte(iphone), Referrer: []byte("https://a.test/"),
		AcceptLanguage: []byte("fr"), Query: []byte("utm_source=x"), Purpose: []byte("prefetch;prerender"),
	}), Key{})
	row.Visitor = 0
	want := Row{
		TimeUnixMilli: time.Date(2026, 11, 30, 10, 0, 0, 123_000_000, time.UTC).UnixMilli(),
		ClickID:       [16]byte{1}, WorkspaceID: [16]byte{2}, LinkID: [16]byte{3}, LinkVersion: 4, Host: "go.test", Slug: "été",
		Status: 302, EdgeRegion: "fra", Edge: "fra-0", Bot: true, Device: "mobile", OS: "iOS", Browser: "Safari",
		Language: "fr", Referrer: "a.test", Campaign: Campaign{Source: "x"},
	}
	if row != want {
		t.Errorf("got  %+v\nwant %+v", row, want)
	}
}

func TestVisitorIsSomebodyForADay(t *testing.T) {
	day1, day2 := NewKey(), NewKey()
	click := func(workspace byte, address []byte, ua string) *eventspb.Click {
		return wire(events.Click{WorkspaceID: [16]byte{workspace}, Address: address, UserAgent: []byte(ua)})
	}
	v4, mapped := []byte{192, 0, 2, 1}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1}
	e := New()
	base := e.Row(click(1, v4, "a"), day1).Visitor
	same := func(what string, other uint64, want bool) {
		t.Helper()
		if (other == base) != want {
			t.Errorf("%s: same visitor is %v, want %v", what, other == base, want)
		}
	}
	same("again", e.Row(click(1, v4, "a"), day1).Visitor, true)
	same("in another process", New().Row(click(1, v4, "a"), day1).Visitor, true)
	same("the same address over IPv6", e.Row(click(1, mapped, "a"), day1).Visitor, true)
	same("another agent", e.Row(click(1, v4, "b"), day1).Visitor, false)
	same("another address", e.Row(click(1, []byte{192, 0, 2, 2}, "a"), day1).Visitor, false)
	same("no address", e.Row(click(1, nil, "a"), day1).Visitor, false)
	same("another workspace", e.Row(click(2, v4, "a"), day1).Visitor, false)
	same("another day", e.Row(click(1, v4, "a"), day2).Visitor, false)
}

// shelf is a KeyStore of a test: it counts what it is asked.
type shelf struct {
	keys  map[Day]Key
	asked int
	err   error
}

func (s *shelf) VisitorKey(_ context.Context, day Day, candidate Key) (Key, error) {
	s.asked++
	if s.err != nil {
		return Key{}, s.err
	}
	if _, ok := s.keys[day]; !ok {
		s.keys[day] = candidate
	}
	return s.keys[day], nil
}

func TestVisitorsShareKeysOfRecentDays(t *testing.T) {
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	store := &shelf{keys: map[Day]Key{}}
	clock := func() time.Time { return now }
	a, b := NewVisitors(store, clock), NewVisitors(store, clock)
	today := DayOf(now.UnixMicro())
	key := func(v *Visitors, day Day) Key {
		t.Helper()
		k, err := v.Key(t.Context(), day)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	for d := today - keyDays; d <= today+daysAhead; d++ {
		if key(a, d) != key(b, d) {
			t.Errorf("two ingesters have different keys for day %d", d-today)
		}
	}
	asked := store.asked
	key(a, today)
	if store.asked != asked {
		t.Error("a known key is asked for again")
	}
	late := today - keyDays - 1
	mine := key(a, late)
	if mine == key(b, late) || mine != key(a, late) {
		t.Error("a late click's key must be the process's own, and stay")
	}
	if store.asked != asked {
		t.Error("a key of a day that is over is stored")
	}
	for i := range Day(10 * privateKeys) {
		key(a, late-i)
	}
	if len(a.private) > privateKeys {
		t.Errorf("%d private keys remembered", len(a.private))
	}
	yesterday := today - keyDays
	old := key(a, yesterday)
	now = now.Add(time.Hour)
	if key(a, yesterday) == old {
		t.Error("a key is used after its time")
	}

	store.err = errors.New("away")
	if _, err := NewVisitors(store, clock).Key(t.Context(), today); !errors.Is(err, store.err) {
		t.Errorf("the store's error is lost: %v", err)
	}
}

// Whatever bytes a record holds, it is refused or becomes a row of valid,
// bounded texts.
func FuzzRow(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\xff\xff\xff"))
	f.Add(events.AppendClick(nil, &events.Click{
		TimeUnixMicro: 1, Host: "h", UserAgent: []byte("\xff\xfe\x00"), Referrer: []byte("http://\xff/%zz"),
		AcceptLanguage: []byte("\xc3"), Query: []byte("utm_source=%ff%00&utm_term=\xff"), Purpose: []byte{0xff}, Address: []byte{1, 2, 3, 4},
	}))
	f.Add(events.AppendClick(nil, &events.Click{TimeUnixMicro: 1<<63 - 1, Host: "h", Status: 1 << 31, Query: []byte(strings.Repeat("utm_source=é", 999))}))
	e := New()
	f.Fuzz(func(t *testing.T, value []byte) {
		var click eventspb.Click
		if events.DecodeClick(value, &click) != nil {
			return
		}
		row := e.Row(&click, Key{})
		c := row.Campaign
		for _, s := range []string{row.Device, row.OS, row.Browser, row.Language, row.Referrer, c.Source, c.Medium, c.Name, c.Term, c.Content} {
			if !utf8.ValidString(s) || len(s) > maxText {
				t.Errorf("%q is no valid text of at most %d bytes", s, maxText)
			}
		}
		for _, s := range []string{row.Host, row.Slug, row.Edge, row.EdgeRegion} {
			if !utf8.ValidString(s) {
				t.Errorf("%q is not UTF-8", s)
			}
		}
	})
}
