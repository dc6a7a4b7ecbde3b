package address_test

import (
	"bytes"
	"testing"

	"github.com/linkstream/linkstream/services/internal/address"
)

func TestURLs(t *testing.T) {
	check := func(u address.URLs, host, slug, link, scan string) {
		t.Helper()
		if got := u.Link(host, slug); got != link {
			t.Errorf("the link is %q, want %q", got, link)
		}
		if got := u.Scan(host, slug); got != scan {
			t.Errorf("the QR code says %q, want %q", got, scan)
		}
	}
	check(address.URLs{Scheme: "https"}, "s.test", "a/b", "https://s.test/a/b", "https://s.test/a/b?qr")
	check(address.URLs{Scheme: "https"}, "s.test", "//e.test", "https://s.test/e.test", "https://s.test/e.test?qr")
	check(address.URLs{Scheme: "http", Port: 8080}, "localhost", "é?", "http://localhost:8080/%C3%A9%3F", "http://localhost:8080/%C3%A9%3F?qr")
}

// Guards I69.
func TestTheMarkOfAQRCode(t *testing.T) {
	check := func(query, want string, wantScanned bool) {
		t.Helper()
		rest, scanned := address.CutScan([]byte(query))
		if string(rest) != want || scanned != wantScanned {
			t.Errorf("CutScan(%q) = %q, %t; want %q, %t", query, rest, scanned, want, wantScanned)
		}
	}
	check("qr", "", true)
	check("qr=", "", true)
	check("qr&utm_source=x&qr", "utm_source=x&qr", true)
	check("qr=&a", "a", true)
	check("qr&", "", true)
	check("", "", false)
	check("q", "q", false)
	check("qr=1", "qr=1", false)
	check("qrs", "qrs", false)
	check("QR", "QR", false)
	check("a&qr", "a&qr", false)
	check("%71r", "%71r", false)
}

func TestViews(t *testing.T) {
	check := func(slug, want string, wantView address.View) {
		t.Helper()
		got, view := address.CutView([]byte(slug))
		if string(got) != want || view != wantView {
			t.Errorf("CutView(%q) = %q, %v; want %q, %v", slug, got, view, want, wantView)
		}
	}
	check("launch", "launch", address.Redirect)
	check("launch+", "launch", address.Preview)
	check("launch.qr", "launch", address.QRCode)
	check("launch.QR", "launch", address.QRCode)
	check("launch.qr+", "launch.qr", address.Preview)
	check("launch+.qr", "launch+", address.QRCode)
	check("launch++", "launch+", address.Preview)
	check("❤+", "❤", address.Preview)
	check("a/b.qr", "a/b", address.QRCode)
	check("+", "", address.Preview)
	check(".qr", "", address.QRCode)
	check("", "", address.Redirect)
	for _, plain := range []string{"qr", "r", "R", ".r", "xqr", "x.q", "x.qr.y", "x.Qs", "a+b"} {
		check(plain, plain, address.Redirect)
	}
}

func TestViewsAndMarksDoNotAllocate(t *testing.T) {
	slug, query := []byte("launch"), []byte("qr&a=b")
	if got := testing.AllocsPerRun(100, func() {
		slug, _ = address.CutView(slug)
		if rest, ok := address.CutScan(query); !ok || !bytes.Equal(rest, query[3:]) {
			t.Error("the mark is not found")
		}
	}); got > 0 {
		t.Errorf("it allocates %v times", got)
	}
}
