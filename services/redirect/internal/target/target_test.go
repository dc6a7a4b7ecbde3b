package target_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/redirect/internal/target"
)

func TestAVisitorsQueryGoesIntoTheTarget(t *testing.T) {
	check := func(mode target.Mode, destination, query, want string) {
		t.Helper()
		if got := string(target.Append(nil, destination, []byte(query), mode)); got != want {
			t.Errorf("%s with %q, mode %d: %s, want %s", destination, query, mode, got, want)
		}
	}
	check(target.Off, "https://e.test/?a=1#f", "b=2", "https://e.test/?a=1#f")
	for _, mode := range []target.Mode{target.Add, target.VisitorWins, target.OwnerWins} {
		check(mode, "https://e.test/?a=1#f", "", "https://e.test/?a=1#f")
		check(mode, "https://e.test/map/?id=287#!ct/12?z/17", "utm_source=a", "https://e.test/map/?id=287&utm_source=a#!ct/12?z/17")
		check(mode, "https://e.test/?35=a&7=b", "9=c", "https://e.test/?35=a&7=b&9=c")
		check(mode, "https://e.test/", "foo%20bar=1&a.b=2&c[]=3&c[]=4", "https://e.test/?foo%20bar=1&a.b=2&c[]=3&c[]=4")
		check(mode, "https://e.test", "a", "https://e.test?a")
		check(mode, "https://e.test/?", "a=1", "https://e.test/?a=1")
		check(mode, "https://e.test/#f?x=1", "a=1", "https://e.test/?a=1#f?x=1")
		check(mode, "https://e.test/?x=%zz&y", "=1&&%=2", "https://e.test/?x=%zz&y&=1&&%=2")
		check(mode, "https://e.test/?a=1", "b=2#evil", "https://e.test/?a=1&b=2%23evil")
	}
	check(target.Add, "https://e.test/?ref=OWN", "ref=THEM&x=1", "https://e.test/?ref=OWN&ref=THEM&x=1")
	check(target.OwnerWins, "https://e.test/?ref=OWN", "ref=THEM&x=1", "https://e.test/?ref=OWN&x=1")
	check(target.VisitorWins, "https://e.test/?ref=OWN", "ref=THEM&x=1", "https://e.test/?ref=THEM&x=1")
	check(target.VisitorWins, "https://e.test/?a=1&ref=OWN&z=2#f", "ref=THEM", "https://e.test/?a=1&z=2&ref=THEM#f")
	check(target.OwnerWins, "https://e.test/?a%5B%5D=1", "a[]=2&A[]=3", "https://e.test/?a%5B%5D=1&A[]=3")
	check(target.VisitorWins, "https://e.test/?a+b=1&c=2", "a%20b=3", "https://e.test/?c=2&a%20b=3")
	check(target.OwnerWins, "https://e.test/?ref=1", "ref&refx=2&re=3", "https://e.test/?ref=1&refx=2&re=3")
	check(target.OwnerWins, "https://e.test/?ref=1", "ref=2", "https://e.test/?ref=1")
}

func TestMergingAllocatesNothing(t *testing.T) {
	room, query := make([]byte, 0, 512), []byte("ref=THEM&utm_source=a&x=%20")
	for _, mode := range []target.Mode{target.Off, target.Add, target.VisitorWins, target.OwnerWins} {
		if got := testing.AllocsPerRun(1000, func() { target.Append(room, "https://e.test/?ref=OWN&a=1#f", query, mode) }); got != 0 {
			t.Errorf("mode %d allocates %v times", mode, got)
		}
	}
}

// Whatever a visitor sends, the target's site, path and fragment stay the owner's.
func FuzzAppend(f *testing.F) {
	f.Add("a=1&b=2", uint8(1))
	f.Add("#x", uint8(2))
	f.Add("%2", uint8(3))
	f.Fuzz(func(t *testing.T, query string, mode uint8) {
		if strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return // the edge refuses them before, or they are not of interest here
		}
		const destination = "https://e.test/p/?a=1&b=%202#frag"
		got := string(target.Append(nil, destination, []byte(query), target.Mode(mode%4)))
		u, err := url.Parse(got)
		if err != nil {
			t.Fatalf("%s is no URL: %v", got, err)
		}
		if u.Host != "e.test" || u.Path != "/p/" || u.Fragment != "frag" || u.Scheme != "https" {
			t.Errorf("%s leads elsewhere", got)
		}
	})
}
