package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/wire"
)

const redirect = "HTTP/1.1 302 Found\r\nDate: x\r\nContent-Length: 5\r\nLocation: https://e.test/?a=b\r\n\r\nhello"

func TestScanFindsTheEnd(t *testing.T) {
	for i := range len(redirect) {
		if a, whole, err := wire.Scan([]byte(redirect[:i])); whole || err != nil {
			t.Fatalf("of the first %d bytes: %+v, %t, %v; want more to come", i, a, whole, err)
		}
	}
	for _, rest := range []string{"", "HTTP/1.1 200 OK\r\n"} {
		a, whole, err := wire.Scan([]byte(redirect + rest))
		if !whole || err != nil || a.Len != len(redirect) || a.Status != 302 || string(a.Location) != "https://e.test/?a=b" {
			t.Errorf("followed by %q: %+v, %t, %v", rest, a, whole, err)
		}
	}
	none := "HTTP/1.1 204 No Content\r\n\r\n"
	if a, whole, err := wire.Scan([]byte(none)); !whole || err != nil || a.Len != len(none) || a.Location != nil {
		t.Errorf("without a body: %+v, %t, %v", a, whole, err)
	}
}

func TestScanRefuses(t *testing.T) {
	check := func(answer string, want error) {
		t.Helper()
		if _, whole, err := wire.Scan([]byte(answer)); whole || !errors.Is(err, want) {
			t.Errorf("Scan(%.40q) = %t, %v; want %v", answer, whole, err, want)
		}
	}
	check("SSH-2.0-OpenSSH\r\n\r\n", wire.ErrNoHTTP)
	check("\r\n\r\n", wire.ErrNoHTTP)
	check("HTTP/1.1 abc\r\n\r\n", wire.ErrNoHTTP)
	check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", wire.ErrNoLength)
	check("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", wire.ErrNoLength)
	check("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", wire.ErrNoLength)
	check("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", wire.ErrTooLong)
	check("HTTP/1.1 200 OK\r\n"+strings.Repeat("x", wire.MaxAnswer), wire.ErrTooLong)
}

func TestSlugs(t *testing.T) {
	seen := map[string]int{}
	for n := range 100_000 {
		for _, n := range []int{n, 1_000_000_000 + n, 2_000_000_000 + n} {
			slug := wire.Slug(n)
			if before, double := seen[slug]; double || len(slug) != wire.SlugLen {
				t.Fatalf("slug %d = %q, which is %d's too", n, slug, before)
			}
			seen[slug] = n
		}
	}
	if got := string(wire.NewRequest("s.test").For(12)); !strings.HasPrefix(got, "GET /"+wire.Slug(12)+" HTTP/1.1\r\nHost: s.test\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
		t.Errorf("the request is %q", got)
	}
}

func TestLeads(t *testing.T) {
	check := func(location string, want bool) {
		t.Helper()
		if got := wire.Leads([]byte(location), 7); got != want {
			t.Errorf("Leads(%q, 7) = %t", location, got)
		}
	}
	right := wire.Target(wire.Slug(7))
	check(right, true)
	check(wire.Target(wire.Slug(8)), false)
	check(right+"x", false)
	check("x"+right[1:], false)
	check(right[:len(right)-1]+"x", false)
	check("", false)
}

func TestNothingIsAllocated(t *testing.T) {
	request, answer := wire.NewRequest("s.test"), []byte(redirect)
	if n := testing.AllocsPerRun(100, func() {
		request.For(9)
		if a, _, _ := wire.Scan(answer); wire.Leads(a.Location, 9) {
			t.Error("it leads elsewhere")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWhatElseAnAnswerSays(t *testing.T) {
	check := func(answer, cache string, closes bool) {
		t.Helper()
		if got := string(wire.Cache([]byte(answer))); got != cache || wire.Closes([]byte(answer)) != closes {
			t.Errorf("%q comes from %q, closes: %v", answer, got, !closes)
		}
	}
	check("HTTP/1.1 302 Found\r\nServer-Timing: cache;desc=l1\r\nContent-Length: 0\r\n\r\n", "l1", false)
	check("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "", true)
	request := wire.NewRequestBy("Monitor/1.0", "a.test").For(3)
	if !strings.Contains(string(request), "\r\nUser-Agent: Monitor/1.0\r\n") || !strings.HasPrefix(string(request), "GET /"+wire.Slug(3)+" ") {
		t.Errorf("a monitor asks %q", request)
	}
}
