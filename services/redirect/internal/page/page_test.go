package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files anew")

func made() time.Time { return time.Date(2026, 11, 30, 23, 59, 0, 0, time.FixedZone("", 3600)) }

// all are the pages as visitors see them.
func all() map[string][]byte {
	fixed := NewFixed()
	return map[string][]byte{
		"home": fixed.Home, "unknown": fixed.Unknown, "not-started": fixed.NotStarted, "gone": fixed.Gone,
		"unavailable": fixed.Unavailable, "too-many": fixed.TooMany, "method": fixed.Method, "bad": fixed.Bad,
		"preview": AppendPreview(nil, &Preview{
			Host: "go.example.com", Slug: "spring/sale", Title: "Spring sale: everything must go", Destination: "https://shop.example.com/sale?x=1", Created: made(),
		}),
		"preview-idn": AppendPreview(nil, &Preview{
			Host: "xn--bcher-kva.example", Slug: "❤", Destination: "https://www.xn--mnchen-3ya.example:8443/", Created: made(), Varies: true,
		}),
		"preview-protected": AppendPreview(nil, &Preview{Host: "go.example.com", Slug: "board", Created: made()}),
		"password":          AppendPassword(nil, NotTried, 0),
		"password-wrong":    AppendPassword(nil, Wrong, 0),
		"password-wait":     AppendPassword(nil, TooManyTries, 90*time.Second),
		"card": AppendCard(nil, &Card{
			Host: "go.example.com", Title: "Spring sale", Text: "Everything must go, until Sunday.",
			Image: "https://cdn.example.com/sale.png?w=1200&h=630", Destination: "https://shop.example.com/sale?a=1&b=2",
		}),
		"card-bare": AppendCard(nil, &Card{Host: "go.example.com"}),
	}
}

func TestGoldenFiles(t *testing.T) {
	for name, got := range all() {
		path := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what it was; if that is meant, look at it and run the test with -update", name)
		}
	}
}

func TestEveryPageIsSmallAndWhole(t *testing.T) {
	for name, body := range all() {
		text := string(body)
		if len(body) >= 4000 {
			t.Errorf("%s has %d bytes", name, len(body))
		}
		if !utf8.Valid(body) {
			t.Errorf("%s is not UTF-8", name)
		}
		for _, want := range []string{"<!doctype html>", `<html lang="en">`, "<title>", `name="viewport"`, "<h1"} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%s has %s %d times", name, want, strings.Count(text, want))
			}
		}
		for _, never := range []string{"<script", " style=", " on", "javascript:", "<img", "<link", "@import", "url("} {
			if strings.Contains(text, never+"load") || never != " on" && strings.Contains(text, never) {
				t.Errorf("%s has %s", name, never)
			}
		}
		if index := strings.Contains(text, `content="noindex"`); index == strings.HasPrefix(name, "card") {
			t.Errorf("%s: noindex is %t", name, index)
		}
		wellFormed(t, name, text)
	}
}

// wellFormed finds what is open at the end, or closed without having been open.
func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.Replace(text, "<!doctype html>", "", 1)))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}

func TestTheHashIsThatOfTheStyle(t *testing.T) {
	sum := sha256.Sum256([]byte(style))
	if want := "sha256-" + base64.StdEncoding.EncodeToString(sum[:]); styleHash != want {
		t.Errorf("styleHash is %s, want %s", styleHash, want)
	}
	for _, lines := range []string{Lines, FormLines, ImageLines} {
		if !strings.HasSuffix(lines, "\r\n") || strings.Contains(strings.ReplaceAll(lines, "\r\n", ""), "\n") {
			t.Errorf("%q are no lines of a header", lines)
		}
	}
}

func TestForeignTextsStayTexts(t *testing.T) {
	const evil = "\"'><script>alert(1)</script>&amp;\u202egnp.exe\u2028\x00\n\t\xff<!--"
	pages := map[string][]byte{
		"preview": AppendPreview(nil, &Preview{Host: "s.test" + evil, Slug: evil, Title: evil, Destination: "https://h" + evil, Created: made()}),
		"scheme":  AppendPreview(nil, &Preview{Host: "s.test", Slug: "//evil.test", Title: evil, Destination: "javascript" + evil + ":x", Created: made()}),
		"card":    AppendCard(nil, &Card{Host: evil, Title: evil, Text: evil, Image: "https://" + evil, Destination: "https://" + evil}),
		"bad URLs": AppendCard(nil, &Card{
			Host: "s.test", Title: "x", Image: "javascript:alert(1)", Destination: "javascript:alert(1)",
		}),
	}
	for name, body := range pages {
		text := string(body)
		for _, never := range []string{"<script", "<!--", "\u202e", "\x00", "\u2028", "\xff", "javascript:alert", `href="//`} {
			if strings.Contains(text, never) {
				t.Errorf("%s has %q:\n%s", name, never, text)
			}
		}
		if !utf8.Valid(body) {
			t.Errorf("%s is not UTF-8", name)
		}
		wellFormed(t, name, text)
	}
}

func FuzzPages(f *testing.F) {
	f.Add("a", "b", "https://e.test/x")
	f.Add("xn--bcher-kva.example", "\u202e<b>\x00", "//")
	f.Fuzz(func(t *testing.T, host, text, url string) {
		for _, body := range [][]byte{
			AppendPreview(nil, &Preview{Host: host, Slug: text, Title: text, Destination: url, Created: made()}),
			AppendCard(nil, &Card{Host: host, Title: text, Text: text, Image: url, Destination: url}),
		} {
			if !utf8.Valid(body) || len(body) > 200<<10 {
				t.Errorf("%q, %q, %q: %d bytes, UTF-8 %t", host, text, url, len(body), utf8.Valid(body))
			}
			// Every tag is ours: what came from outside begins none.
			for _, tag := range strings.Split(string(body), "<")[1:] {
				name := strings.TrimLeft(tag, "/!")
				if end := strings.IndexAny(name, " >"); end < 0 || !strings.Contains(" doctype html head meta title style body main svg path rect h1 p bdi wbr dl dt dd time a ", " "+name[:end]+" ") {
					t.Errorf("%q, %q, %q: a tag %.20q", host, text, url, tag)
				}
			}
		}
	})
}

func TestTextsAreCut(t *testing.T) {
	check := func(in string, limit int, want string) {
		t.Helper()
		if got := string(appendText(nil, in, limit)); got != want {
			t.Errorf("appendText(%q, %d) = %q, want %q", in, limit, got, want)
		}
	}
	check("abc", 3, "abc")
	check("abcd", 3, "abc…")
	check("  a \r\n b\t", 9, "a b")
	check("a<b", 9, "a&lt;b")
	check("\U0001F469\u200d\U0001F680", 9, "\U0001F469\u200d\U0001F680")
	check("a\u200b\u2066b\ufeff", 9, "ab")
	huge := strings.Repeat("\"", 100_000)
	for name, n := range map[string]int{
		"preview": len(AppendPreview(nil, &Preview{Host: "s.test", Slug: "a", Title: huge, Destination: "https://e.test/" + huge, Created: made()})),
		"card":    len(AppendCard(nil, &Card{Host: "s.test", Title: huge, Text: huge, Image: "https://" + huge, Destination: "https://" + huge})),
	} {
		if n > 16<<10 {
			t.Errorf("the %s of huge texts has %d bytes", name, n)
		}
	}
}

func TestAPreviewBehindAPasswordShowsNothing(t *testing.T) {
	body := string(AppendPreview(nil, &Preview{Host: "s.test", Slug: "a", Created: made()}))
	if strings.Contains(body, "30 November") || !strings.Contains(body, previewProtected) || !strings.Contains(body, `href="/a"`) {
		t.Errorf("the page is %s", body)
	}
}

func TestTargetHosts(t *testing.T) {
	check := func(url, want string) {
		t.Helper()
		if got := targetHost(url); got != want {
			t.Errorf("targetHost(%q) = %q, want %q", url, got, want)
		}
	}
	check("https://e.test/x", "e.test")
	check("https://e.test:8443", "e.test:8443")
	check("https://e.test?x@y", "e.test")
	check("https://e.test#@y.test", "e.test")
	check(`https://e.test\@y.test/`, "e.test")
	check("https://user:pw@e.test/@z", "e.test")
	check("http://[2001:db8::1]:80/", "[2001:db8::1]:80")
	check("mailto:a@e.test", "mailto:")
	check("myapp://", "myapp:")
}

func TestHostsAreShownAsWhatTheyAre(t *testing.T) {
	check := func(host, want string) {
		t.Helper()
		if got := display(host); got != want {
			t.Errorf("display(%q) = %q, want %q", host, got, want)
		}
	}
	check("e.test", "e.test")
	check("xn--bcher-kva.example", "bücher.example")
	check("www.xn--mnchen-3ya.example:8443", "www.münchen.example:8443")
	check("xn--e1afmkfd.xn--p1ai", "пример.рф")
	check("xn--fsq.xn--0zwm56d", "例.测试")
	check("xn--r8jz45g.xn--zckzah", "例え.テスト")
	check("xn--80ak6aa92e.com", "xn--80ak6aa92e.com") // аррӏе, all Cyrillic
	check("xn--pple-43d.com", "xn--pple-43d.com")     // аpple, one letter Cyrillic
	check("xn--oogle-qmc.com", "xn--oogle-qmc.com")   // a phonetic ɡ
	check("xn--a.example", "xn--a.example")           // no punycode
	check("xn--i-7iq.example", "xn--i-7iq.example")   // i❤: no letter
	check("xn--a-0hc.example", "xn--a-0hc.example")   // Latin and Hebrew
	check("xn--99zt52a.example:80", "納豆.example:80")  // a port behind it
}

func TestWaits(t *testing.T) {
	check := func(wait time.Duration, want string) {
		t.Helper()
		if got := string(appendWait(nil, wait)); got != want {
			t.Errorf("%v is said as %q, want %q", wait, got, want)
		}
	}
	check(0, "a second")
	check(time.Second, "a second")
	check(1001*time.Millisecond, "2 seconds")
	check(59*time.Second, "59 seconds")
	check(60*time.Second, "a minute")
	check(90*time.Second, "2 minutes")
	check(59*time.Minute, "59 minutes")
	check(time.Hour, "an hour")
	check(25*time.Hour, "25 hours")
}
