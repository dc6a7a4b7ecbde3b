package page

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The icons, each the inside of a drawing of 24 by 24.
const (
	iconLink   = `<path d="M9 15l6-6M11 6l1.5-1.5a4.2 4.2 0 0 1 6 6L17 12M13 18l-1.5 1.5a4.2 4.2 0 0 1-6-6L7 12"/>`
	iconBroken = `<path d="M11 6l1.5-1.5a4.2 4.2 0 0 1 6 6L17 12M13 18l-1.5 1.5a4.2 4.2 0 0 1-6-6L7 12M4 4l16 16"/>`
	iconClock  = `<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/>`
	iconLock   = `<rect x="5" y="11" width="14" height="9" rx="2"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>`
)

// open begins a page up to its heading. meta is HTML.
func open(dst []byte, title, meta, icon string) []byte {
	dst = append(dst, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>"...)
	dst = appendText(dst, title, maxTitle+maxAddress)
	dst = append(dst, "</title>\n"...)
	dst = append(dst, meta...)
	dst = append(dst, "<style>"+style+"</style>\n</head>\n<body>\n<main>\n"+
		`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">`...)
	dst = append(dst, icon...)
	return append(dst, "</svg>\n"...)
}

const (
	noIndex = "<meta name=\"robots\" content=\"noindex\">\n"
	end     = "</main>\n</body>\n</html>\n"
)

// Longest texts that are shown, in characters. Longer ones are cut and say so.
const (
	maxTitle   = 200
	maxText    = 400
	maxHost    = 253
	maxAddress = maxHost + 1 + 128
)

// appendText appends a text of somebody else's for an element or a quoted attribute. It
// has no line ends, no characters that cannot be seen, and none that turn the direction
// of what follows.
func appendText(dst []byte, s string, limit int) []byte {
	begin, space := len(dst), false // whether a space is due
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = true
			s = s[size:]
			continue
		case hidden(r):
			s = s[size:]
			continue
		}
		if limit == 0 {
			return append(dst, "…"...)
		}
		limit--
		if space && len(dst) > begin {
			dst = append(dst, ' ')
		}
		space = false
		switch r {
		case '&':
			dst = append(dst, "&amp;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '"':
			dst = append(dst, "&#34;"...)
		case '\'':
			dst = append(dst, "&#39;"...)
		default:
			dst = utf8.AppendRune(dst, r) // what is no UTF-8 becomes U+FFFD
		}
		s = s[size:]
	}
	return dst
}

// hidden says whether a character is not seen or changes how its neighbours are: the
// format characters but for those that emoji and some scripts are written with.
func hidden(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) && r > 0xffff
}

// appendElement appends a text in an element, set apart from its surroundings: one that
// is written from right to left turns nothing else.
func appendElement(dst []byte, name, s string, limit int) []byte {
	dst = append(dst, "<"+name+` dir="auto">`...)
	dst = appendText(dst, s, limit)
	return append(dst, "</"+name+">\n"...)
}

// appendHeading appends a heading of ours.
func appendHeading(dst []byte, text string) []byte {
	return append(dst, "<h1>"+text+"</h1>\n"...)
}

// appendParagraph appends a paragraph of ours.
func appendParagraph(dst []byte, class, text string) []byte {
	dst = append(dst, "<p"...)
	if class != "" {
		dst = append(dst, ` class="`+class+`"`...)
	}
	dst = append(dst, '>')
	dst = append(dst, text...)
	return append(dst, "</p>\n"...)
}

// web says whether a URL may be linked to and loaded.
func web(url string) bool {
	scheme, rest, ok := strings.Cut(url, "://")
	return ok && rest != "" && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"))
}
