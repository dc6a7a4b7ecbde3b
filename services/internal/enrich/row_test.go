package enrich

import (
	"bytes"
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
