package enrich

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/agent"
)

const (
	chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"
)

func TestCachesAreBounded(t *testing.T) {
	read := 0
	c := newCache(100, func(key []byte) string { read++; return string(key) })
	for i := range 1000 {
		key := []byte(time.Duration(i).String())
		if got := c.get(key); got != string(key) {
			t.Fatalf("%s is %s", key, got)
		}
	}
	if n := len(c.recent) + len(c.old); n > 200 {
		t.Errorf("%d keys remembered, want at most 200", n)
	}
	before := read
	c.get([]byte(time.Duration(999).String()))
	if read != before {
		t.Error("a recent key is read again")
	}
}

func TestReferrers(t *testing.T) {
	tables := NewTables()
	check := func(header, host, source, medium string) {
		t.Helper()
		if got := tables.readReferrer([]byte(header)); got != (referrer{host, source, medium}) {
			t.Errorf("%q is %+v, want %q %q %q", header, got, host, source, medium)
		}
	}
	unknown := func(header, host string) {
		t.Helper()
		if host == "" {
			check(header, "", "", "")
			return
		}
		check(header, host, host, mediumReferral)
	}
	unknown("", "")
	unknown("https://News.Example.com/a?b=c", "news.example.com")
	unknown("http://example.com:8080/", "example.com")
	unknown("https://example.com./", "example.com")
	unknown("https://user:secret@example.com/", "example.com")
	unknown("https://[2001:db8::1]:443/", "2001:db8::1")
	unknown("not a url", "")
	unknown("https://%zz/", "")
	unknown("/relative", "")
	unknown("https://"+strings.Repeat("a", 500)+".com/", strings.Repeat("a", maxText))
	check("https://www.google.de/", "www.google.de", "Google", "search")
	check("https://www.bing.com/images/search?q=x", "www.bing.com", "Bing Images", "search")
	check("https://www.bing.com/chat", "www.bing.com", "Copilot", "ai")
	check("https://t.co/abc", "t.co", "Twitter", "social")
	check("https://l.instagram.com/?u=x", "l.instagram.com", "Instagram", "social")
	check("https://m.facebook.com/", "m.facebook.com", "Facebook", "social")
	check("https://old.reddit.com/r/x", "old.reddit.com", "Reddit", "social")
	check("https://mail.google.com/mail/u/0", "mail.google.com", "Gmail", "email")
	check("https://chatgpt.com/", "chatgpt.com", "ChatGPT", "ai")
	check("https://www.perplexity.ai/search", "www.perplexity.ai", "Perplexity", "ai")
	check("https://gemini.google.com/app", "gemini.google.com", "Gemini", "ai")
	check("https://maps.google.com/", "maps.google.com", "Google", mediumReferral)
	check("android-app://com.google.android.gm/", "com.google.android.gm", "Gmail", "email")
	check("android-app://com.linkedin.android", "com.linkedin.android", "LinkedIn", "social")
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

// noPlaces knows nothing.
func noPlaces() *Places { return &Places{} }

func wire(c events.Click) *Click {
	if c.Host == "" {
		c.Host = "go.test"
	}
	if c.TimeUnixMicro == 0 {
		c.TimeUnixMicro = time.Date(2026, 11, 30, 10, 0, 0, 123_456_000, time.UTC).UnixMicro()
	}
	var out Click
	if err := out.Decode(events.AppendClick(nil, &c)); err != nil {
		panic(err)
	}
	return &out
}

func rowOf(e *Enricher, c *Click, key Key) Row {
	var row Row
	e.Fill(&row, c, c.TimeUnixMicro, false, &key)
	return row
}

func TestRow(t *testing.T) {
	row := rowOf(New(NewTables(), noPlaces()), wire(events.Click{
		ID: [16]byte{1}, WorkspaceID: [16]byte{2}, LinkID: [16]byte{3}, LinkVersion: 4, Host: "Go.Test", SlugKey: "été",
		Status: 302, EdgeRegion: "fra", Edge: "fra-0", UserAgent: []byte(iphone), Referrer: []byte("https://a.test/"),
		AcceptLanguage: []byte("fr"), Query: []byte("utm_source=x"), Purpose: []byte("prefetch;prerender"),
		TargetQuery: "utm_source=y&utm_medium=email", Variant: 2, Rule: 300, Source: "scan",
	}), Key{})
	row.Visitor = 0
	want := Row{
		TimeUnixMilli: time.Date(2026, 11, 30, 10, 0, 0, 123_000_000, time.UTC).UnixMilli(),
		ClickID:       [16]byte{1}, WorkspaceID: [16]byte{2}, LinkID: [16]byte{3}, LinkVersion: 4, Host: "go.test", Slug: "été",
		Status: 302, EdgeRegion: "fra", Edge: "fra-0", Bot: true, BotKind: agent.Prefetch, Device: "mobile", OS: "iOS", Browser: "Safari",
		Language: "fr", Referrer: "a.test", ReferrerSource: "a.test", ReferrerMedium: mediumReferral,
		Campaign: Campaign{Source: "x", Medium: "email"}, Variant: 2, Rule: 255, Source: "scan",
	}
	if row != want {
		t.Errorf("got  %+v\nwant %+v", row, want)
	}
}

func TestClocksThatAreAhead(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	check := func(offset, want time.Duration, wantAhead bool) {
		t.Helper()
		at, ahead := At(&Click{TimeUnixMicro: now.Add(offset).UnixMicro()}, now)
		if at != now.Add(want).UnixMicro() || ahead != wantAhead {
			t.Errorf("%v ahead is %v ahead, marked %v", offset, time.UnixMicro(at).Sub(now), ahead)
		}
	}
	check(0, 0, false)
	check(-time.Hour, -time.Hour, false)
	check(-400*24*time.Hour, -400*24*time.Hour, false) // late clicks count when they were made
	check(MaxAhead, MaxAhead, false)
	check(MaxAhead+time.Microsecond, 0, true)
	check(24*time.Hour, 0, true)
}

func TestVisitorIsSomebodyForADay(t *testing.T) {
	day1, day2 := NewKey(), NewKey()
	click := func(workspace byte, address []byte, ua string) *Click {
		return wire(events.Click{WorkspaceID: [16]byte{workspace}, Address: address, UserAgent: []byte(ua)})
	}
	v4, mapped := []byte{192, 0, 2, 1}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1}
	e := New(NewTables(), noPlaces())
	base := rowOf(e, click(1, v4, "a"), day1).Visitor
	same := func(what string, c *Click, key Key, want bool) {
		t.Helper()
		if other := rowOf(e, c, key).Visitor; (other == base) != want {
			t.Errorf("%s: same visitor is %v, want %v", what, other == base, want)
		}
	}
	same("again", click(1, v4, "a"), day1, true)
	same("the same address over IPv6", click(1, mapped, "a"), day1, true)
	same("another agent", click(1, v4, "b"), day1, false)
	same("another address", click(1, []byte{192, 0, 2, 2}, "a"), day1, false)
	same("no address", click(1, nil, "a"), day1, false)
	same("another workspace", click(2, v4, "a"), day1, false)
	same("another day", click(1, v4, "a"), day2, false)
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

// Whatever bytes a record holds, it is refused or becomes a row of valid, bounded
// texts, by the same rules as the generated decoder's.
func FuzzRow(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\xff\xff\xff"))
	f.Add(events.AppendClick(nil, &events.Click{
		TimeUnixMicro: minTimeUnixMicro, Host: "h", UserAgent: []byte("\xff\xfe\x00"), Referrer: []byte("http://\xff/%zz"),
		AcceptLanguage: []byte("\xc3"), Query: []byte("utm_source=%ff%00&utm_term=\xff"), Purpose: []byte{0xff}, Address: []byte{1, 2, 3, 4},
	}))
	f.Add(events.AppendClick(nil, &events.Click{
		TimeUnixMicro: minTimeUnixMicro, Host: "h", Status: 1 << 31, Query: []byte(strings.Repeat("utm_source=é", 999)),
		TargetQuery: "UTM_TERM=\xff", Variant: 1 << 20, Source: "scan",
	}))
	f.Add(append(events.AppendClick(nil, &events.Click{TimeUnixMicro: minTimeUnixMicro, Host: "h", Edge: "e"}), 0x50, 0x01, 0x0b, 0x0c))
	e := New(NewTables(), noPlaces())
	f.Fuzz(func(t *testing.T, value []byte) {
		var click Click
		err := click.Decode(value)
		var generated eventspb.Click
		wantErr := events.DecodeClick(value, &generated)
		if at := generated.GetTimeUnixUs(); wantErr == nil && (at < minTimeUnixMicro || at >= maxTimeUnixMicro) {
			wantErr = errors.New("time")
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("decoding says %v, the generated decoder %v", err, wantErr)
		}
		if err != nil {
			return
		}
		same := func(field string, got, want []byte) {
			t.Helper()
			if !bytes.Equal(got, want) {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		}
		same("id", click.ID, generated.GetId())
		same("workspace_id", click.WorkspaceID, generated.GetWorkspaceId())
		same("link_id", click.LinkID, generated.GetLinkId())
		same("host", click.Host, []byte(generated.GetHost()))
		same("slug_key", click.SlugKey, []byte(generated.GetSlugKey()))
		same("edge_region", click.EdgeRegion, []byte(generated.GetEdgeRegion()))
		same("edge", click.Edge, []byte(generated.GetEdge()))
		same("address", click.Address, generated.GetAddress())
		same("user_agent", click.UserAgent, generated.GetUserAgent())
		same("referrer", click.Referrer, generated.GetReferrer())
		same("accept_language", click.AcceptLanguage, generated.GetAcceptLanguage())
		same("query", click.Query, generated.GetQuery())
		same("purpose", click.Purpose, generated.GetPurpose())
		same("target_query", click.TargetQuery, generated.GetTargetQuery())
		same("source", click.Source, []byte(generated.GetSource()))
		if click.TimeUnixMicro != generated.GetTimeUnixUs() || click.LinkVersion != generated.GetLinkVersion() ||
			click.Status != generated.GetStatus() || click.Variant != generated.GetVariant() || click.Rule != generated.GetRule() {
			t.Errorf("numbers differ: %+v, %v", click, &generated)
		}

		row := rowOf(e, &click, Key{})
		c := row.Campaign
		for _, s := range []string{
			row.Device, row.OS, row.Browser, row.BotKind, row.Language, row.Referrer, row.ReferrerSource, row.ReferrerMedium,
			c.Source, c.Medium, c.Name, c.Term, c.Content, row.Host,
		} {
			if !utf8.ValidString(s) || len(s) > maxText {
				t.Errorf("%q is no valid text of at most %d bytes", s, maxText)
			}
		}
		for _, s := range []string{row.Slug, row.Edge, row.EdgeRegion, row.Source} {
			if !utf8.ValidString(s) || len(s) > maxSlug {
				t.Errorf("%q is no valid text of at most %d bytes", s, maxSlug)
			}
		}
	})
}

func TestWithoutAddress(t *testing.T) {
	check := func(value, want string) {
		t.Helper()
		before := strings.Clone(value)
		in := []byte(value)
		if got := WithoutAddress(in); string(got) != want {
			t.Errorf("%q becomes %q, want %q", value, got, want)
		}
		if string(in) != before {
			t.Errorf("%q was changed in place", before)
		}
	}
	check("", "")
	check("\xff not protobuf", "\xff not protobuf")
	check("ab\x5a\x04\xc0\x00\x02\x01cd", "ab\x5a\x04\x00\x00\x00\x00cd")
	check("\x5a\x10"+strings.Repeat("\x20", 16)+"z", "\x5a\x10"+strings.Repeat("\x00", 16)+"z")
	check("\x5a\x10\x20\x01", "\x5a\x10\x00\x00") // cut off
	check("Z\x05abcdef", "Z\x05abcdef")
	whole := events.AppendClick(nil, &events.Click{Address: []byte{192, 0, 2, 77}, UserAgent: []byte(chrome)})
	for n := range whole {
		if got := WithoutAddress(whole[:n]); bytes.Contains(got, []byte{192, 0, 2, 77}) {
			t.Errorf("cut to %d bytes it has the address still", n)
		}
	}
}
