package link

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/linkstream/linkstream/services/internal/address"
)

const (
	// maxSlugRunes bounds a slug in normal form, in characters.
	maxSlugRunes = 128
	// maxSlugBytes bounds a slug as written: variation selectors and decomposed
	// letters vanish in the normal form, and must not be a way to store megabytes.
	maxSlugBytes = 4 * 4 * maxSlugRunes
)

// reservedWords cannot be the first segment of a slug, in any case: they are or
// may become addresses of the service itself.
//
//nolint:gochecknoglobals // a constant list; Go has no constant slices
var reservedWords = []string{
	".well-known", "admin", "api", "assets", "dashboard", "debug", "docs", "favicon.ico", "healthz",
	"login", "logout", "metrics", "openapi.json", "readyz", "robots.txt", "sitemap.xml", "static", "v1",
}

// qrSuffix makes an address the QR code of a link. (The preview page's suffix is
// '+', which no slug may contain anyway.)
const qrSuffix = ".qr"

// checkSlug holds a slug against the rules for new ones. It says nothing about
// how the slug is stored: key does.
func checkSlug(slug string) *ruleError {
	switch {
	case slug == "":
		return broken(CodeRequired, "a slug has at least one character; leave it out to get a generated one")
	case !utf8.ValidString(slug):
		return broken(CodeInvalid, "the slug is not valid UTF-8")
	case len(slug) > maxSlugBytes:
		return broken(CodeTooLong, "a slug has at most 128 characters")
	case strings.HasPrefix(slug, "/"), strings.HasSuffix(slug, "/"), strings.Contains(slug, "//"):
		return broken(CodeInvalid, "a slash stands single between two segments")
	}
	// The rules see what look-ups see, so that no spelling gets around them.
	key := address.SlugKey(slug)
	if key == "" || strings.HasSuffix(key, "/") {
		return broken(CodeInvalid, "a segment has at least one visible character")
	}
	if utf8.RuneCountInString(key) > maxSlugRunes {
		return broken(CodeTooLong, "a slug has at most 128 characters")
	}
	first, _, _ := strings.Cut(key, "/")
	for _, word := range reservedWords {
		if strings.EqualFold(first, word) {
			return broken(CodeReserved, "this word is reserved for the service itself")
		}
	}
	if n := len(key) - len(qrSuffix); n >= 0 && strings.EqualFold(key[n:], qrSuffix) || strings.HasSuffix(key, "+") {
		return broken(CodeReserved, "slugs that end in .qr or + are the QR code and the preview page of another link")
	}
	for segment := range strings.SplitSeq(key, "/") {
		if err := checkSegment(segment); err != nil {
			return err
		}
	}
	return nil
}

func checkSegment(segment string) *ruleError {
	switch segment {
	case "":
		return broken(CodeInvalid, "a segment has at least one visible character")
	case ".", "..":
		return broken(CodeInvalid, "a segment cannot be . or ..: browsers resolve it away")
	}
	for i, r := range segment {
		switch {
		case r < utf8.RuneSelf:
			if !isSlugASCII(r) {
				return broken(CodeInvalid, "a slug has letters, digits, - _ . ~ and single slashes between segments")
			}
		case invisible(r):
			return broken(CodeInvalid, "a slug has no invisible characters")
		case unicode.Is(unicode.M, r):
			if i == 0 {
				return broken(CodeInvalid, "a segment begins with a character of its own, not with a combining mark")
			}
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !isEmoji(r):
			return broken(CodeInvalid, "beyond ASCII a slug has letters, digits and emoji only")
		}
	}
	return nil
}

func isSlugASCII(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	case r == '-', r == '_', r == '.', r == '~':
		return true
	}
	return false
}

// invisible says whether a reader cannot see r, so that two addresses would look
// the same. Some letters and symbols of Unicode are blank: the Hangul fillers are
// in the first table, the others are named.
func invisible(r rune) bool {
	switch r {
	case '\u2800', // braille blank
		'\u034F',           // combining grapheme joiner
		'\uFFFC', '\uFFFD': // what programs put where something is missing
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.C, unicode.Z)
}

// isEmoji is a superset of the emoji of Unicode: Go has no table of them. Most are
// "other symbols"; arrows and geometric shapes are mathematical ones, skin tones
// are modifiers, and four are punctuation.
func isEmoji(r rune) bool {
	switch {
	case unicode.Is(unicode.So, r):
		return true
	case r >= 0x1F3FB && r <= 0x1F3FF:
		return true
	case unicode.Is(unicode.Sm, r):
		return r >= 0x2190 && r <= 0x2BFF && (r < 0x2200 || r > 0x22FF)
	}
	return r == '\u203C' || r == '\u2049' || r == '\u3030' || r == '\u303D'
}

// SlugKey is the form in which the domain stores and looks up a slug.
func (d *Domain) SlugKey(slug string) string {
	if d.CaseSensitive {
		return address.SlugKey(slug)
	}
	return address.FoldedSlugKey(slug)
}
