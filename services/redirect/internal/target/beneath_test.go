package target_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/redirect/internal/target"
)

func TestBeneath(t *testing.T) {
	check := func(destination, suffix, want string) {
		t.Helper()
		if got := target.AppendBeneath([]byte("x"), destination, []byte(suffix)); string(got) != "x"+want {
			t.Errorf("%q beneath %q is %q, want %q", suffix, destination, got[1:], want)
		}
	}
	check("https://e.test", "/a/b", "https://e.test/a/b")
	check("https://e.test/", "/a", "https://e.test/a")
	check("https://e.test/docs", "/a", "https://e.test/docs/a")
	check("https://e.test/docs/", "/a/", "https://e.test/docs/a/")
	check("https://e.test/docs?x=/y#z", "/a", "https://e.test/docs/a?x=/y#z")
	check("https://e.test?x", "/a", "https://e.test/a?x")
	check("https://e.test#f/", "/a", "https://e.test/a#f/")
	check("https://e.test/", "//evil.test", "https://e.test//evil.test")
	check("https://e.test/", "/%2F%c3%A9;v=1+2", "https://e.test/%2F%c3%A9;v=1+2")
	check("https://e.test/", "/é#?\\", "https://e.test/%C3%A9%23%3F%5C")
	check("mailto:a@e.test", "/a", "mailto:a@e.test")

	for suffix, want := range map[string]bool{
		"/a": true, "/": true, "/a..b/...": true, "/..a": true, "/a/": true, "/%2e%2e%2e": true,
		"/.": false, "/..": false, "/a/../b": false, "/%2e%2E/x": false, "/.%2e": false, "/a/%2E": false, "/a\\..\\b": false, "//..": false,
	} {
		if got := target.SafeBeneath([]byte(suffix)); got != want {
			t.Errorf("SafeBeneath(%q) = %t", suffix, got)
		}
	}
}
