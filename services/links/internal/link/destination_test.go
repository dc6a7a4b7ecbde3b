package link

import (
	"strings"
	"testing"
)

func TestDestinationsAreStoredAsGiven(t *testing.T) {
	check := func(raw, want string) {
		t.Helper()
		got, err := parseDestination(raw, nil)
		if err != nil || got.url != want {
			t.Errorf("parseDestination(%q) = %q, %v; want %q", raw, got.url, err, want)
		}
	}
	same := func(raw string) {
		t.Helper()
		check(raw, raw)
	}
	same("https://e.test/?q=LIKE+%27%25admin%25%27")
	same("https://e.test/l?url=%2F_%23%2Fmeet%2F19")
	same("https://e.test/bar%3Dbaz")
	same("https://e.test/#/c?email=u%2Bt%40x.test")
	same("https://e.test/?a=1+1&b=1%201")
	same("https://e.test/%c3%a9?x=%2f")
	check("HTTP://E.TEST/?Id=AbC&U=https://x.test/D", "http://e.test/?Id=AbC&U=https://x.test/D")
	same("https://e.test/?q=it's+ok")
	same("https://e.test/#/route?x=1")
	check("http://www.tübingen.test/ä?ö=ü", "http://www.xn--tbingen-n2a.test/%C3%A4?%C3%B6=%C3%BC")
	check("http://ÄPFEL.test", "http://xn--pfel-koa.test")
	same("https://e.test/?debug&x=&y=1")
	same("https://e.test/a//b/../c/")
	check("https://e.test/x?r=Dallas%20%2F%20Fort area&s=1,2", "https://e.test/x?r=Dallas%20%2F%20Fort%20area&s=1,2")
	same("http://e.test:7/")
	same("http://e.test:65535/")
	same("http://[2001:db8::1]:8080/x")
	check("http://[2001:DB8::1]", "http://[2001:db8::1]")
	same("https://e.test")
	same("https://e.test?x=1")
	same("https://e.test#x")
	same("https://e.test./x")
	same("https://my_host.e.test/")
	same("https://e.test/100%")
	same(`https://e.test/<>"{}|\^`)
	same("https://e.test/@user:pw@x")
	same("https://e.test/" + strings.Repeat("a", 2048-15))
	same("https://e.test/" + strings.Repeat("a", 8000-15))
}

func TestDestinationsThatAreRefused(t *testing.T) {
	check := func(raw string, want Code) {
		t.Helper()
		got, err := parseDestination(raw, nil)
		if err == nil || err.code != want {
			t.Errorf("parseDestination(%q) = %q, %v; want %q", raw, got.url, err, want)
		}
	}
	check("https://e.test/"+strings.Repeat("a", 8001-15), CodeTooLong)
	check("http://e.test:65536/", CodeInvalid)
	check("http://e.test:0/", CodeInvalid)
	check("http://e.test:/", CodeInvalid)
	check("http://e.test:+80/", CodeInvalid)
	check("http://e.test:80:80/", CodeInvalid)
	check("http://[2001:db8::1/", CodeInvalid)
	check("http://[2001:db8::1]8080/", CodeInvalid)
	check("http://[fe80::1%25eth0]/", CodeInvalid)
	check("http://[127.0.0.1]/", CodeInvalid)
	check("e.test/x", CodeInvalid)
	check("//e.test/x", CodeInvalid)
	check("www.e.test", CodeInvalid)
	check("e.test:8080/x", CodeNotAllowed) // e.test is a scheme here
	check("localhost:3000", CodeNotAllowed)
	check("https://", CodeInvalid)
	check("https:///x", CodeInvalid)
	check("https:/e.test", CodeInvalid)
	check("https:e.test", CodeInvalid)
	check(`https:\\e.test`, CodeInvalid)
	check("https%3A%2F%2Fe.test%2Fx", CodeInvalid)
	check("not a url", CodeInvalid)
	check("", CodeRequired)
	check("javascript:alert(1)", CodeNotAllowed)
	check("JaVaScRiPt:x", CodeNotAllowed)
	check(" javascript:x", CodeInvalid)
	check(" https://e.test/", CodeInvalid)
	check("java\tscript:x", CodeInvalid)
	check("javascript://e.test/%0aalert(1)", CodeNotAllowed)
	check("data:text/html,x", CodeNotAllowed)
	check("vbscript:x", CodeNotAllowed)
	check("file:///etc/passwd", CodeNotAllowed)
	check("blob:https://e.test/1", CodeNotAllowed)
	check("mailto:a@x.test", CodeNotAllowed)
	check("https://user:pw@e.test/", CodeNotAllowed)
	check("https://user@e.test/", CodeNotAllowed)
	check(`https://e.test\@evil.test/`, CodeNotAllowed)
	check(`https://e.test\x`, CodeInvalid)
	check("https://e.test/\r\nSet-Cookie: a=b", CodeInvalid)
	check("https://e.test/\x00", CodeInvalid)
	check("https://e.test/\x7f", CodeInvalid)
	check("https://e.test/\xff", CodeInvalid)
	check("https://e%2Etest/", CodeInvalid)
	check("https://e..test/", CodeInvalid)
	check("https://.e.test/", CodeInvalid)
	check("https://e test/", CodeInvalid)
	check("https://"+strings.Repeat("a", 64)+".test/", CodeInvalid)
	check("https://a\u202Eb.test/", CodeInvalid)
}

func TestEveryAliasOfAHostIsTheSameHost(t *testing.T) {
	for _, raw := range []string{"https://go.test", "https://GO.test.", "https://go.test:8443/x", "https://ｇｏ.test/", "https://go。test/"} {
		if got, err := parseDestination(raw, nil); err != nil || got.host != "go.test" {
			t.Errorf("parseDestination(%q).host = %q, %v", raw, got.host, err)
		}
	}
}

func TestOtherSchemesOnlyFromTheList(t *testing.T) {
	schemes := []string{"mailto", "myapp"}
	check := func(raw, want string) {
		t.Helper()
		got, err := parseDestination(raw, schemes)
		if (err == nil) != (want != "") || got.url != want {
			t.Errorf("parseDestination(%q) = %q, %v; want %q", raw, got.url, err, want)
		}
	}
	check("mailto:a@x.test", "mailto:a@x.test")
	check("MyApp://Open/Ä b", "myapp://Open/%C3%84%20b")
	check("myapp:", "")
	check("myapp://user:pw@host/", "")
	check("tel:+4912345", "")
	for scheme, want := range map[string]bool{"mailto": true, "javascript": false, "data": false, "": false, "Mailto": false, "a b": false} {
		if got := CheckExtraScheme(scheme); got != want {
			t.Errorf("CheckExtraScheme(%q) = %v", scheme, got)
		}
	}
}
