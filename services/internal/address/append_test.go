package address_test

import (
	"testing"
	"unicode/utf8"

	"github.com/linkstream/linkstream/services/internal/address"
)

func FuzzAppendHost(f *testing.F) {
	for _, s := range []string{"", ".", "s.test", "S.TEST", "s.test.", "s.test:8080", "S.Test.:80", "[::1]:8080", "::1", "a:b:c", "É.test", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, host []byte) {
		if got, want := string(address.AppendHost(nil, host)), address.Host(string(host)); got != want {
			t.Errorf("AppendHost(%q) = %q, Host says %q", host, got, want)
		}
	})
}

func FuzzAppendSlugKey(f *testing.F) {
	for _, s := range []string{"", "/", "//", "///", "/abc", "/abc/", "/a//", "/a+b", "/caf%C3%A9", "/cafe%CC%81", "/a%2Fb", "/%", "/é", "/\xff", "abc"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, path []byte) {
		want, wantOK := address.SlugFromPath(string(path))
		got, ok := address.AppendSlugKey([]byte("x"), path)
		if ok != wantOK || (ok && string(got) != "x"+want) {
			t.Errorf("AppendSlugKey(%q) = %q, %t; SlugFromPath says %q, %t", path, got, ok, want, wantOK)
		}
	})
}

// An edge folds what it has decoded, links what was written, and the origin folds what
// the edge has folded.
func FuzzFold(f *testing.F) {
	for _, s := range []string{"", "Sale", "CAFÉ", "CAFE\u0301", "İstanbul", "\u212aelvin", "ΣΑΣ", "Straße", "ẞ", "ǅ", "A\u030a", "\u1f88", "a/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, slug string) {
		if !utf8.ValidString(slug) {
			return
		}
		key := address.SlugKey(slug)
		folded := string(address.Fold([]byte(key)))
		if want := address.FoldedSlugKey(slug); folded != want {
			t.Errorf("Fold(%q) = %q, FoldedSlugKey says %q", key, folded, want)
		}
		if again := string(address.Fold([]byte(folded))); again != folded {
			t.Errorf("Fold(%q) = %q, and again %q", key, folded, again)
		}
	})
}

func TestPlainAddressesDoNotAllocate(t *testing.T) {
	host, path, buf := []byte("Go.Test"), []byte("/launch/now/"), make([]byte, 0, 64)
	got := testing.AllocsPerRun(100, func() {
		buf = address.AppendHost(buf[:0], host)
		buf, _ = address.AppendSlugKey(buf, path)
		buf = address.Fold(buf)
	})
	if got > 0 {
		t.Errorf("normalising a plain address allocates %v times", got)
	}
}
