package webapp

import (
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

const page = `<!doctype html><script type="module" src="/assets/app-1a2b.js"></script>`

func build(t *testing.T, files map[string]string) *Handler {
	t.Helper()
	dist := fstest.MapFS{".keep": {}}
	for name, content := range files {
		dist[name] = &fstest.MapFile{Data: []byte(content)}
	}
	h, err := New(dist)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(t *testing.T, h http.Handler, path string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPathsOfTheRouterGetThePage(t *testing.T) {
	script := strings.Repeat("console.log(1);", 200)
	h := build(t, map[string]string{index: page, "assets/app-1a2b.js": script, "theme.js": "1", "licences.txt": "©"})
	check := func(path string, status int, wantType, wantCache, wantBody string) {
		t.Helper()
		answer := get(t, h, path, nil)
		if answer.StatusCode != status {
			t.Errorf("%s: status %d, want %d", path, answer.StatusCode, status)
		}
		if got := answer.Header.Get("Content-Type"); got != wantType {
			t.Errorf("%s: type %q, want %q", path, got, wantType)
		}
		if got := answer.Header.Get("Cache-Control"); got != wantCache {
			t.Errorf("%s: cache %q, want %q", path, got, wantCache)
		}
		if got := body(t, answer.Body); wantBody != "" && got != wantBody {
			t.Errorf("%s: body %.80q, want %.80q", path, got, wantBody)
		}
	}
	const html, js = "text/html; charset=utf-8", "text/javascript; charset=utf-8"
	check("/", 200, html, "no-cache", page)
	check("/index.html", 200, html, "no-cache", page)
	check("/login", 200, html, "no-cache", page)
	check("/links/0190/stats", 200, html, "no-cache", page)
	check("/assets/app-1a2b.js", 200, js, "public, max-age=31536000, immutable", script)
	check("/theme.js", 200, js, "no-cache", "1")
	check("/licences.txt", 200, "text/plain; charset=utf-8", "no-cache", "©")
	check("/assets/app-old.js", 404, "text/plain; charset=utf-8", "", "")
	check("/assets/none", 404, "text/plain; charset=utf-8", "", "")
	check("/missing.png", 404, "text/plain; charset=utf-8", "", "")
	check("/.keep", 404, "text/plain; charset=utf-8", "", "")
	check("/../../etc/passwd", 200, html, "no-cache", page)
}

func TestAProgramWithoutTheAppSaysSo(t *testing.T) {
	h := build(t, nil)
	if h.Built() {
		t.Error("an empty build counts as built")
	}
	for _, path := range []string{"/", "/login"} {
		answer := get(t, h, path, nil)
		if got := body(t, answer.Body); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(got, "make web") {
			t.Errorf("%s: %d %q, want 503 that names `make web`", path, answer.StatusCode, got)
		}
	}
	if !build(t, map[string]string{index: page}).Built() {
		t.Error("a build with its page does not count as built")
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	w := httptest.NewRecorder()
	build(t, map[string]string{index: page}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestCompressedFormIsSentToWhoTakesIt(t *testing.T) {
	script := strings.Repeat("console.log(1);", 200)
	h := build(t, map[string]string{index: page, "assets/a-1.js": script})
	check := func(accept, want string) {
		t.Helper()
		answer := get(t, h, "/assets/a-1.js", http.Header{"Accept-Encoding": {accept}})
		if got := answer.Header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: encoding %q, want %q", accept, got, want)
		}
		if answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: no Vary", accept)
		}
		var reader io.Reader = answer.Body
		if want == "gzip" {
			zip, err := gzip.NewReader(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			reader = zip
		}
		if got := body(t, reader); got != script {
			t.Errorf("Accept-Encoding %q: another content", accept)
		}
	}
	check("gzip, deflate, br, zstd", "gzip")
	check("br, GZIP;q=0.5", "gzip")
	check("gzip;q=0", "")
	check("gzip; q=0", "")
	check("br", "")
	check("", "")

	first := get(t, h, "/assets/a-1.js", http.Header{"Accept-Encoding": {"gzip"}})
	again := get(t, h, "/assets/a-1.js", http.Header{"Accept-Encoding": {"gzip"}, "If-None-Match": {first.Header.Get("ETag")}})
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("with its ETag: %d, want 304", again.StatusCode)
	}
	plain := get(t, h, "/assets/a-1.js", nil)
	if plain.Header.Get("ETag") == first.Header.Get("ETag") {
		t.Error("two encodings share one strong ETag")
	}
}

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	h := Secure(build(t, map[string]string{index: page}))
	for _, path := range []string{"/", "/missing.js"} {
		header := get(t, h, path, nil).Header
		check := func(name, want string) {
			t.Helper()
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		check("Content-Security-Policy", "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'")
		check("X-Content-Type-Options", "nosniff")
		check("Referrer-Policy", "same-origin")
		check("X-Frame-Options", "DENY")
		check("Cross-Origin-Opener-Policy", "same-origin")
	}
	if strings.Contains(policy, "unsafe") {
		t.Error("the policy allows inline code")
	}
}
