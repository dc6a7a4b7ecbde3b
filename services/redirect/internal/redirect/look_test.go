package redirect_test

import (
	"bytes"
	"image/png"
	"strings"
	"sync"
	"testing"
	"time"

	qr "github.com/piglig/go-qr"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/domains"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
)

func withURLs(s *redirect.Settings) { s.ShortURLs = address.URLs{Scheme: "https", Port: 8443} }

// made is the id of a link from 29 November 2025.
func made(r *linkcache.Record) {
	r.LinkID = [16]byte{0x01, 0x9a, 0xcf, 0x12, 0xdc, 0x00, 0x70, 0x00, 0x80}
}

// Guards I69.
func TestAPreviewShowsWhereALinkLeads(t *testing.T) {
	w := newWorld(t)
	w.domains.Take(1, []domains.Domain{{Host: "s.test"}, {Host: "off.test", NoPreview: true, Fallback: fallback}, {Host: "go.test", FoldCase: true, Fallback: fallback}})
	w.put(t, "a/b", func(r *linkcache.Record) { made(r); r.Destination = "https://www.example.com:8443/secret/path?x=1" })
	w.put(t, "café", made)
	w.putAt(t, "go.test", "sale", made)
	w.putAt(t, "off.test", "a", made)
	for _, path := range []string{"/a/b+", "/a/b%2B", "/a/b+/", "/a/b+?utm_source=x", "/a/b+?qr"} {
		r := w.asks(t, "s.test", path, 200, "")
		if r.header["Cache-Control"] != "private, no-store" || r.header["X-Robots-Tag"] != "noindex" || !strings.HasPrefix(r.header["Server-Timing"], "cache;desc=") {
			t.Errorf("%s: %v", path, r.header)
		}
		for _, want := range []string{"www.<wbr>example.<wbr>com:8443<", "s.test/a/b", "29 November 2025", `href="/a/b"`} {
			if !strings.Contains(r.body, want) {
				t.Errorf("%s: the page lacks %q", path, want)
			}
		}
		if strings.Contains(r.body, "secret") {
			t.Errorf("%s: the page shows more than the host", path)
		}
	}
	if r := w.asks(t, "s.test", "/caf%C3%A9+", 200, ""); !strings.Contains(r.body, `href="/caf%C3%A9"`) || !strings.Contains(r.body, "s.test/café") {
		t.Errorf("the page of a slug with an accent: %s", r.body)
	}
	w.asks(t, "go.test", "/SALE+", 200, "")
	if r := w.send(t, "HEAD", "/a/b+", "s.test"); r.status != 200 || r.body != "" {
		t.Errorf("HEAD: %d with %q", r.status, r.body)
	}
	// Where it is switched off there is none, and no look-up.
	if r := w.asks(t, "off.test", "/a+", 404, ""); r.header["Server-Timing"] != "" {
		t.Error("a preview that is switched off is looked up")
	}
	w.asks(t, "off.test", "/a.qr", 200, "")
	w.asks(t, "off.test", "/a", 302, "https://e.test/") // the only click
	w.clicked(t, 1)
}

func TestThereIsNothingToLookAtWhereNothingRedirects(t *testing.T) {
	w := newWorld(t, withURLs)
	w.domains.Take(1, ours())
	now := time.Now().UnixMilli()
	w.putAt(t, "go.test", "later", func(r *linkcache.Record) { r.StartsAt = now + 3_600_000 })
	w.putAt(t, "go.test", "expired", func(r *linkcache.Record) { r.ExpiresAt, r.Fallback = now-1, "https://own.test/" })
	w.putAt(t, "go.test", "deleted", func(r *linkcache.Record) { r.Destination, r.Flags = "", linkcache.FlagDeleted })
	w.putAt(t, "go.test", "newer", func(r *linkcache.Record) { r.Flags = 1 << 14 })
	for _, ending := range []string{"+", ".qr", ".QR"} {
		w.asks(t, "go.test", "/never"+ending, 404, "")
		w.asks(t, "go.test", "/later"+ending, 404, "")
		w.asks(t, "go.test", "/deleted"+ending, 404, "")
		w.asks(t, "go.test", "/expired"+ending, 410, "")
		w.asks(t, "go.test", "/newer"+ending, 503, "")
		w.asks(t, "go.test", "/"+ending, 404, "")
	}
	w.clicked(t, 0)
}

// Guards I69.
func TestTheQRCodeOfALink(t *testing.T) {
	w := newWorld(t, withURLs)
	w.put(t, "launch", nil)
	w.put(t, "café", nil)
	read := func(path, want string) {
		t.Helper()
		r := w.asks(t, "s.test", path, 200, "")
		if r.header["Content-Type"] != "image/png" || r.header["Cache-Control"] != "public, max-age=3600" || r.header["X-Content-Type-Options"] != "nosniff" {
			t.Errorf("%s: %v", path, r.header)
		}
		img, err := png.Decode(strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := qr.Decode(img); err != nil || got != want {
			t.Errorf("%s says %q, %v; want %q", path, got, err, want)
		}
	}
	read("/launch.qr?format=png", "https://s.test:8443/launch?qr")
	read("/launch.QR?format=png&size=300&color=%23123456", "https://s.test:8443/launch?qr")
	read("/caf%C3%A9.qr?format=png", "https://s.test:8443/caf%C3%A9?qr")
	if r := w.asks(t, "s.test", "/launch.qr", 200, ""); r.header["Content-Type"] != "image/svg+xml" || !strings.HasPrefix(r.body, "<svg") ||
		r.header["Content-Security-Policy"] != "default-src 'none'; img-src data:" {
		t.Errorf("an SVG: %v %.100s", r.header, r.body)
	}
	if r := w.send(t, "HEAD", "/launch.qr?format=png", "s.test"); r.status != 200 || r.body != "" || r.header["Content-Type"] != "image/png" {
		t.Errorf("HEAD: %d %v", r.status, r.header)
	}
	r := w.asks(t, "s.test", "/launch.qr?size=1&color=<b>", 400, "")
	if r.header["Content-Type"] != "text/plain; charset=utf-8" || !strings.Contains(r.body, "size: ") || !strings.Contains(r.body, "color: ") || strings.Contains(r.body, "<b>") {
		t.Errorf("bad options: %v %q", r.header, r.body)
	}
	w.clicked(t, 0)
}

// Guards I69.
func TestAScanIsAClickOfItsOwnKind(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", func(r *linkcache.Record) { r.Flags, r.Destination = linkcache.FlagForwardAdd, "https://e.test/?x=1" })
	check := func(path, location string) {
		t.Helper()
		w.asks(t, "s.test", path, 302, location)
	}
	check("/a?qr", "https://e.test/?x=1")
	check("/a?qr=", "https://e.test/?x=1")
	check("/a?qr&utm_source=app", "https://e.test/?x=1&utm_source=app")
	check("/a?qr=1", "https://e.test/?x=1&qr=1")
	check("/a?b&qr", "https://e.test/?x=1&b&qr")
	check("/a", "https://e.test/?x=1")
	sources := map[string]int{}
	for _, c := range w.clicked(t, 6) {
		sources[c.GetSource()]++
		if c.GetSource() == "qr" && bytes.Contains(c.GetQuery(), []byte("qr")) {
			t.Errorf("the mark is in the click: %q", c.GetQuery())
		}
	}
	if sources["qr"] != 3 || sources[""] != 3 {
		t.Errorf("clicks by source: %v", sources)
	}
}

// Redirects do not wait for those who have codes drawn, however many.
func TestDrawingHoldsUpNobodyElse(t *testing.T) {
	w := newWorld(t, withURLs)
	w.put(t, "a", nil)
	facttest.Eventually(t, "it is a hit", func() bool { w.beat(t); return w.get(t, "/a").header["Server-Timing"] == "cache;desc=l1" })
	var drawing sync.WaitGroup
	for range 20 {
		drawing.Go(func() {
			if r := w.get(t, "/a.qr?format=png&size=2048"); r.status != 200 && r.status != 503 {
				t.Errorf("a code: %d", r.status)
			}
		})
	}
	for range 20 {
		if r := w.get(t, "/a"); r.status != 302 {
			t.Errorf("a redirect: %d", r.status)
		}
	}
	drawing.Wait()
}

func TestPagesCannotDoAnything(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", nil)
	for _, path := range []string{"/", "/never", "/a+"} {
		r := w.get(t, path)
		policy := r.header["Content-Security-Policy"]
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || r.header["Referrer-Policy"] != "no-referrer" || r.header["X-Content-Type-Options"] != "nosniff" {
			t.Errorf("%s: %v", path, r.header)
		}
	}
}
