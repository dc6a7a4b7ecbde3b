package link

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSlugsThatMayBeMade(t *testing.T) {
	check := func(slug string, want Code) {
		t.Helper()
		var got Code
		if err := checkSlug(slug); err != nil {
			got = err.code
		}
		if got != want {
			t.Errorf("checkSlug(%q) = %q, want %q", slug, got, want)
		}
	}
	ok := Code("")

	check("/", CodeInvalid)
	check("///", CodeInvalid)
	check(".", CodeInvalid)
	check("..", CodeInvalid)
	check(" ", CodeInvalid)
	check("", CodeRequired)
	check("/outpainting", CodeInvalid)
	check("outpainting/", CodeInvalid)
	check("a//b", CodeInvalid)
	check("a/../b", CodeInvalid)
	check("a/./b", CodeInvalid)
	for _, slug := range []string{"a?b", "a#b", "50%", "a b", `a\b`, "a;b", "a&b", "a+b", "a%2Fb", "<x>", `a"b`, "a:b", "a@b", "a=b", "a,b", "a'b", "a|b"} {
		check(slug, CodeInvalid)
	}
	check("v1.2_final~x", ok)
	check("LoKE2", ok)
	check("3e", ok)
	check("spring/sale", ok)
	check("a/b/c/d", ok)
	check("café", ok)
	check("cafe\u0301", ok)
	check("❤️", ok)
	check("❤", ok)
	check("👍🏽", ok)
	check("🇩🇪", ok)
	check("↔", ok)
	check("日本語/東京", ok)
	check("नमस्ते", ok)
	check("١٢٣", ok)

	check("a\u200Bb", CodeInvalid) // zero-width space
	check("a\u202Eb", CodeInvalid) // right-to-left override
	check("a\u200Db", CodeInvalid) // zero-width joiner
	check("a\x00b", CodeInvalid)
	check("a\nb", CodeInvalid)
	check("a\u00A0b", CodeInvalid) // no-break space
	check("a\u2800b", CodeInvalid) // braille blank, a symbol
	check("a\u3164b", CodeInvalid) // Hangul filler, a letter
	check("a\u00ADb", CodeInvalid) // soft hyphen
	check("a\uFE0Eb", CodeInvalid) // the other variation selector
	check("a\uFFFDb", CodeInvalid)
	check("a\xffb", CodeInvalid)
	check("\uFE0F", CodeInvalid) // nothing is left of it
	check("a/\uFE0F/b", CodeInvalid)
	check("a/\uFE0F", CodeInvalid)
	check("\u0301a", CodeInvalid)  // a mark without a base
	check("a\u037Eb", CodeInvalid) // becomes ';' in NFC
	check("½", CodeInvalid)
	check("a∑b", CodeInvalid)
	check("a…b", CodeInvalid)

	check(strings.Repeat("x", 128), ok)
	check(strings.Repeat("x", 129), CodeTooLong)
	check(strings.Repeat("é", 128), ok)
	check(strings.Repeat("é", 129), CodeTooLong)
	check(strings.Repeat("e\u0301", 128), ok) // counted in normal form
	check("a"+strings.Repeat("\uFE0F", 5000), CodeTooLong)

	for _, slug := range []string{
		"api", "API", "Admin", "login", "dashboard", "docs", "v1", "metrics", "healthz", "robots.txt", "favicon.ico",
		".well-known/acme", ".well-known", "a\uFE0Fpi", "doc\u017F", "api/x", "openapi.json",
	} {
		check(slug, CodeReserved)
	}
	check("poster.qr", CodeReserved)
	check("poster.QR", CodeReserved)
	check(".qr", CodeReserved)
	check("poster+", CodeReserved)
	check("poster+\uFE0F", CodeReserved)
	check("apis", ok)
	check("my/api", ok)
	check("qr", ok)
	check("a.qr.b", ok)
}

func TestSlugKeyFollowsTheDomain(t *testing.T) {
	strict, loose := Domain{CaseSensitive: true}, Domain{}
	check := func(d Domain, slug, want string) {
		t.Helper()
		if got := d.SlugKey(slug); got != want {
			t.Errorf("SlugKey(%q) = %q, want %q", slug, got, want)
		}
	}
	check(strict, "SaLe", "SaLe")
	check(loose, "SaLe", "sale")
	check(strict, "cafe\u0301", "café")
	check(loose, "CAFE\u0301", "café")
	check(strict, "❤\uFE0F", "❤")
}

func TestGeneratedSlugsAreSevenBase62CharactersAndAllOfThemOccur(t *testing.T) {
	seen := map[rune]int{}
	const draws = 5000
	for range draws {
		slug, err := GenerateSlug()
		if err != nil {
			t.Fatal(err)
		}
		if utf8.RuneCountInString(slug) != 7 || strings.Trim(slug, base62) != "" {
			t.Fatalf("got %q", slug)
		}
		for _, r := range slug {
			seen[r]++
		}
	}
	// 565 of each on average; 24 is the standard deviation. Six of them off means a bias.
	const mean, tolerance = draws * 7 / 62, 150
	for _, r := range base62 {
		if n := seen[r]; n < mean-tolerance || n > mean+tolerance {
			t.Errorf("%q came %d times, expected about %d", r, n, mean)
		}
	}
}
