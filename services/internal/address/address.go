// Package address knows when two addresses are the same: it owns the normal form
// of hosts and slugs that links are stored, cached and looked up by.
//
// It promises that the links service, which stores an address, and the edge,
// which looks one up, agree to the byte. It does not decide which slugs may be
// made; that is the links service's business, and never applies to look-ups.
package address

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// variationSelector16 asks for the coloured form of an emoji. Keyboards add it
// or not; people cannot tell.
const variationSelector16 = '\uFE0F'

// Host is the normal form of a Host header or a domain in punycode: lower case,
// without port and trailing dot. It does not allocate when there is nothing to
// change.
func Host(s string) string {
	if strings.HasPrefix(s, "[") { // IPv6 literal: [::1]:8080
		if end := strings.IndexByte(s, ']'); end > 0 {
			s = s[1:end]
		}
	} else if colon := strings.LastIndexByte(s, ':'); colon >= 0 && strings.IndexByte(s, ':') == colon {
		s = s[:colon]
	}
	return strings.ToLower(strings.TrimSuffix(s, "."))
}

// SlugKey is the form of a decoded slug that look-ups use: without slash at
// the end, in NFC, without U+FE0F. Case is kept. It does not allocate for a slug
// that is in this form already.
func SlugKey(slug string) string {
	slug = strings.TrimSuffix(slug, "/")
	if isASCII(slug) {
		return slug
	}
	if strings.ContainsRune(slug, variationSelector16) {
		slug = strings.ReplaceAll(slug, string(variationSelector16), "")
	}
	return norm.NFC.String(slug)
}

// FoldedSlugKey is SlugKey for a domain whose slugs ignore case.
func FoldedSlugKey(slug string) string { return fold(SlugKey(slug)) }

func fold(key string) string { return norm.NFC.String(strings.ToLower(key)) }

// SlugFromPath decodes the escaped path of a request ("/caf%C3%A9/") into a
// slug key. It says false for a path that can be no slug: bad escapes, bytes that
// are not UTF-8, an escaped slash, nothing at all. A '+' stays a '+'.
func SlugFromPath(path string) (string, bool) {
	path = strings.TrimPrefix(path, "/")
	if strings.IndexByte(path, '%') >= 0 {
		var ok bool
		if path, ok = unescape(path); !ok {
			return "", false
		}
	}
	if path == "" || path == "/" || !utf8.ValidString(path) {
		return "", false
	}
	return SlugKey(path), true
}

func unescape(s string) (string, bool) {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		hi, ok1 := hexDigit(s[i+1])
		lo, ok2 := hexDigit(s[i+2])
		if !ok1 || !ok2 || hi<<4|lo == '/' {
			return "", false
		}
		b.WriteByte(hi<<4 | lo)
		i += 2
	}
	return b.String(), true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
