package gram_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/links/internal/gram"
)

// Guards I60.
func TestASetHasWhateverILIKEFinds(t *testing.T) {
	a, b := uuid.UUID{1}, uuid.UUID{2}
	check := func(text, piece string, want bool) {
		t.Helper()
		set := gram.NewSet(a)
		set.Add("before")
		set.Add(text)
		set.Add("after")
		got := true
		for _, g := range gram.Of(a, piece) {
			got = got && slices.Contains(set.Grams(), g)
		}
		if got != want {
			t.Errorf("%q may be in %q: %t, want %t", piece, text, got, want)
		}
	}
	check("Spring SALE 2026", "spring", true)
	check("spring sale", "G SA", true)
	check("spring sale", "ngsa", false)
	check("Spring", "", true)
	check("Spring", "xy", true) // too short to tell
	check("Spring", "xyz", true)
	check("Spring", "wxyz", false)
	check("Spring", "xyzé", true)
	check("Café au lait", "U LAI", true)
	check("Café au lait", "café au", true)
	check("Café au lait", "cafe", false) // ILIKE does not find it either
	check("\u0130stanbul", "ista", true) // the lower case of U+0130 is i in some locales
	check("ist", "\u0130st", true)
	check("300 \u212A", "00 k", true)
	check("https://e.test/a?b=c\x00d", "B=C", true)
	check("a\nbc", "A\nbc", true)
	check("spring\nsale", "ing\nsale", true)
	check("spring\nsale", "gsale", false)
	check("spring\nsale", "spring\nwxyz", false)
	check("a\x00\x00\x00\x00b", "\x00\x00\x00\x00b", true)

	if g := gram.Of(a, "spring"); len(g) != 3 || slices.Equal(g, gram.Of(b, "spring")) {
		t.Errorf("got %v; want three, and others in another workspace", g)
	}
	// They are stored.
	if g := gram.Of(a, "abcde"); !slices.Equal(g, golden) {
		t.Errorf("got %v, want %v", g, golden)
	}
}

var golden = []int32{-719442656, -47076271}
