// Package untrusted makes texts of bytes that strangers sent.
//
// It promises valid UTF-8 without NUL and of bounded length, which every database, page
// and log takes.
package untrusted

import (
	"strings"
	"unicode/utf8"
)

// Text makes bytes of a visitor a text: what is not UTF-8, and NUL, becomes U+FFFD. It
// has at most limit bytes, cut between two characters.
func Text(b []byte, limit int) string {
	return Cut(strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD"), limit)
}

// Cut is the first limit bytes of a text, or less: it does not cut into a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
