package address_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/address"
)

func TestHost(t *testing.T) {
	check := func(in, want string) {
		t.Helper()
		if got := address.Host(in); got != want {
			t.Errorf("Host(%q) = %q, want %q", in, got, want)
		}
	}
	check("s.test", "s.test")
	check("S.TEST", "s.test")
	check("s.test.", "s.test")
	check("s.test:8080", "s.test")
	check("S.Test.:8080", "s.test")
	check("127.0.0.1:8080", "127.0.0.1")
	check("[::1]:8080", "::1")
	check("[::1]", "::1")
	check("", "")
}

func TestSlugFromPath(t *testing.T) {
	check := func(path, want string, wantOK bool) {
		t.Helper()
		got, ok := address.SlugFromPath(path)
		if got != want || ok != wantOK {
			t.Errorf("SlugFromPath(%q) = %q, %v; want %q, %v", path, got, ok, want, wantOK)
		}
	}
	check("/launch", "launch", true)
	check("/launch/", "launch", true)
	check("/LoKE2", "LoKE2", true)
	check("/spring/sale/", "spring/sale", true)
	check("/caf%C3%A9", "café", true)
	check("/cafe%CC%81", "café", true)
	check("/%E2%9D%A4%EF%B8%8F", "❤", true)
	check("/%E2%9D%A4", "❤", true)
	check("/a+b", "a+b", true)
	check("/a%20b", "a b", true)
	check("/", "", false)
	check("//", "", false)
	check("", "", false)
	check("/a%2Fb", "", false)
	check("/a%2", "", false)
	check("/a%zz", "", false)
	check("/%FF", "", false)
}

func TestFoldedSlugKey(t *testing.T) {
	check := func(in, want string) {
		t.Helper()
		if got := address.FoldedSlugKey(in); got != want {
			t.Errorf("FoldedSlugKey(%q) = %q, want %q", in, got, want)
		}
	}
	check("SaLe", "sale")
	check("CAFÉ", "café")
}

// An edge normalises every request: the usual address must cost nothing.
func TestNormalAddressesAllocateNothing(t *testing.T) {
	if got := testing.AllocsPerRun(1000, func() {
		address.Host("go.test:8080")
		address.SlugFromPath("/launch")
	}); got != 0 {
		t.Errorf("normalising allocates %v times, the budget is 0", got)
	}
}

func FuzzSlugFromPath(f *testing.F) {
	for _, seed := range []string{"/launch", "/caf%C3%A9", "/%", "/%00", "/a//b", "/e\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		key, ok := address.SlugFromPath(path)
		if ok && address.SlugKey(key) != key && key[len(key)-1] != '/' {
			t.Errorf("the key %q of %q is not in normal form", key, path)
		}
	})
}
