package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// targetHost is the host of a URL with its port, or the scheme of one that has no host,
// with its colon.
func targetHost(url string) string {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok {
		return url
	}
	host, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return scheme + ":"
	}
	if end := strings.IndexAny(host, `/?#\`); end >= 0 {
		host = host[:end]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	if host == "" {
		return scheme + ":"
	}
	return host
}

// display is a host for people: labels in punycode as the letters they stand
// for, where these cannot be taken for others. Whoever shows it shows the punycode
// beside it if the two differ.
func display(host string) string {
	if !strings.Contains(host, "xn--") {
		return host
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		if letters, err := idna.Lookup.ToUnicode(label); err == nil && unmistakable(letters) {
			labels[i] = letters
		}
	}
	return strings.Join(labels, ".")
}

// appendHost appends a host that is broken at its dots where it is too long for a line.
func appendHost(dst []byte, host string) []byte {
	for i, label := range strings.Split(host, ".") {
		if i > 0 {
			dst = append(dst, ".<wbr>"...)
		}
		if i == maxLabels {
			return append(dst, "…"...)
		}
		dst = appendText(dst, label, maxHost)
	}
	return dst
}

// maxLabels is more than a host of maxHost characters has.
const maxLabels = 128

// mixes are the scripts that one label may be written in: each alone, and those of the
// languages that use several. Latin stands with none, because whatever else looks like
// its letters is then meant to. What is on no line is seldom used for names and seldom
// known to whoever reads it.
//
//nolint:gochecknoglobals // a constant list; Go has no constant slices
var mixes = [][]*unicode.RangeTable{
	{unicode.Latin},
	{unicode.Han, unicode.Hiragana, unicode.Katakana},
	{unicode.Han, unicode.Bopomofo},
	{unicode.Han, unicode.Hangul},
	{unicode.Cyrillic},
	{unicode.Greek},
	{unicode.Arabic},
	{unicode.Armenian},
	{unicode.Bengali},
	{unicode.Devanagari},
	{unicode.Ethiopic},
	{unicode.Georgian},
	{unicode.Gujarati},
	{unicode.Gurmukhi},
	{unicode.Hebrew},
	{unicode.Kannada},
	{unicode.Khmer},
	{unicode.Lao},
	{unicode.Malayalam},
	{unicode.Myanmar},
	{unicode.Oriya},
	{unicode.Sinhala},
	{unicode.Tamil},
	{unicode.Telugu},
	{unicode.Thaana},
	{unicode.Thai},
	{unicode.Tibetan},
}

// lookalikes are letters of Cyrillic and Greek that pass for Latin ones. A label of
// nothing else can be a whole other name.
const lookalikes = "асԁеһіјӏорԛѕԝхуъьҽпгѵѡкмнтвэ" + "αβγεηικνορτυχω"

// unmistakable says whether a label in letters shows what it is.
func unmistakable(label string) bool {
	other := false // a letter that is like no Latin one
	for _, mix := range mixes {
		if !writtenIn(label, mix) {
			continue
		}
		for _, r := range label {
			other = other || unicode.IsLetter(r) && !strings.ContainsRune(lookalikes, r)
		}
		return other
	}
	return false
}

func writtenIn(label string, scripts []*unicode.RangeTable) bool {
	for _, r := range label {
		plain := r == '-' || '0' <= r && r <= '9'
		long := r == 'ー' && len(scripts) == 3 // of both kana, and so of no script
		if !plain && !long && (!unicode.In(r, scripts...) || !usual(r)) {
			return false
		}
	}
	return true
}

// usual leaves out what looks like usual letters: Latin beyond that of living languages
// (phonetic, full width).
func usual(r rune) bool {
	return !unicode.Is(unicode.Latin, r) || r < utf8.RuneSelf || 0xc0 <= r && r <= 0x24f || 0x1e00 <= r && r <= 0x1eff
}
