package link_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

func TestHostsOfNewDomains(t *testing.T) {
	var rules link.Rules
	check := func(raw, host string, code link.Code) {
		t.Helper()
		c, err := rules.CheckNewDomain(link.DomainChange{Host: link.Some(raw)})
		var wrong link.FieldErrors
		switch {
		case code == "":
			if err != nil || c.Host() != host {
				t.Errorf("%q: %v, %v; want %q", raw, c, err, host)
			}
		case !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].Field != "host" || wrong[0].Code != code:
			t.Errorf("%q: %v, want %s", raw, err, code)
		}
	}
	check("go.example.com", "go.example.com", "")
	check(" Go.Example.COM. ", "go.example.com", "")
	check("bücher.example", "xn--bcher-kva.example", "")
	check("BÜCHER.example", "xn--bcher-kva.example", "")
	check("bu\u0308cher.example", "xn--bcher-kva.example", "")
	check("xn--bcher-kva.example", "xn--bcher-kva.example", "")
	check("例え.テスト", "xn--r8jz45g.xn--zckzah", "")
	check("a。b", "a.b", "") // the ideographic full stop is a dot
	check("promo.localhost", "promo.localhost", "")
	check("1.example", "1.example", "")

	check("", "", link.CodeRequired)
	check(" ", "", link.CodeRequired)
	check("https://go.example.com", "", link.CodeInvalid)
	check("go.example.com/", "", link.CodeInvalid)
	check("user@go.example.com", "", link.CodeInvalid)
	check("go.example.com:8080", "", link.CodeInvalid)
	check("go..example.com", "", link.CodeInvalid)
	check(".example.com", "", link.CodeInvalid)
	check("go.example.com..", "", link.CodeInvalid)
	check("-a.example.com", "", link.CodeInvalid)
	check("a-.example.com", "", link.CodeInvalid)
	check("a_b.example.com", "", link.CodeInvalid)
	check("*.example.com", "", link.CodeInvalid)
	check("a b.example.com", "", link.CodeInvalid)
	check("a\x00.example.com", "", link.CodeInvalid)
	check("a\xff.example.com", "", link.CodeInvalid)
	check("xn--a.example", "", link.CodeInvalid)
	check("a\u200d.example", "", link.CodeInvalid)
	check(strings.Repeat("a", 64)+".example", "", link.CodeInvalid)
	check(strings.Repeat("a.", 127)+"a", "", link.CodeInvalid)
	check("127.0.0.1", "", link.CodeNotAllowed)
	check("127.1", "", link.CodeNotAllowed)
	check("0x7f.0x1", "", link.CodeNotAllowed)
	check("::1", "", link.CodeNotAllowed)
	check("[2001:db8::1]", "", link.CodeNotAllowed)
	check("localhost", "", link.CodeNotAllowed)
	check("intranet", "", link.CodeNotAllowed)
}

func TestURLsOfDomains(t *testing.T) {
	var rules link.Rules
	c, err := rules.CheckDomainEdit(link.DomainChange{HomeURL: link.Some("HTTPS://Example.com/a b"), FallbackURL: link.Some("")})
	if err != nil {
		t.Fatal(err)
	}
	d := link.DomainRecord{FallbackURL: "https://old.test/"}
	c.Apply(&d)
	if d.HomeURL != "https://example.com/a%20b" || d.FallbackURL != "" || c.Hosts()["home_url"] != "example.com" || len(c.Hosts()) != 1 {
		t.Errorf("got %+v, hosts %v", d, c.Hosts())
	}
	_, err = rules.CheckNewDomain(link.DomainChange{HomeURL: link.Some("javascript:alert(1)"), FallbackURL: link.Some("/home")})
	var wrong link.FieldErrors
	if !errors.As(err, &wrong) || len(wrong) != 3 || wrong[0].Field != "host" || wrong[1].Field != "home_url" || wrong[2].Field != "fallback_url" {
		t.Errorf("got %v", err)
	}
}

func TestHostsAreShownInUnicode(t *testing.T) {
	check := func(host, want string) {
		t.Helper()
		if d := (link.DomainRecord{Domain: link.Domain{Host: host}}); d.UnicodeHost() != want {
			t.Errorf("%q is shown as %q, want %q", host, d.UnicodeHost(), want)
		}
	}
	check("go.example.com", "go.example.com")
	check("xn--bcher-kva.example", "bücher.example")
	check("localhost", "localhost")
	check("xn--a.example", "xn--a.example")
}

// A host that was taken is taken again as it is, and is the one that an edge makes of the
// Host header of a visitor.
func FuzzHostsOfNewDomains(f *testing.F) {
	for _, host := range []string{"go.example.com", "BÜCHER.example.", "a。b", "xn--bcher-kva.example", "faß.de", "☃.net", "1.2.3.4", "a.0x1", "-.-", "a.b:1"} {
		f.Add(host)
	}
	var rules link.Rules
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := rules.CheckNewDomain(link.DomainChange{Host: link.Some(raw)})
		if err != nil {
			return
		}
		host := c.Host()
		if again, err := rules.CheckNewDomain(link.DomainChange{Host: link.Some(host)}); err != nil || again.Host() != host {
			t.Errorf("%q gives %q, which gives %v, %v", raw, host, again, err)
		}
		if parsed, ok := link.ParseHost(host); !ok || parsed != host || address.Host(host+".:8080") != host {
			t.Errorf("%q gives %q, which links name as %q and edges as %q", raw, host, parsed, address.Host(host+".:8080"))
		}
		d := link.DomainRecord{Domain: link.Domain{Host: host}}
		if back, err := rules.CheckNewDomain(link.DomainChange{Host: link.Some(d.UnicodeHost())}); err != nil || back.Host() != host {
			t.Errorf("%q is shown as %q, which gives %v, %v", host, d.UnicodeHost(), back, err)
		}
	})
}
