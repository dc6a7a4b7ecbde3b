package target

import "strings"

// SafeBeneath says whether what a visitor asks for beneath a slug, from its slash on, may
// go into a target's path: no segment of it leads upwards, however it is written.
func SafeBeneath(suffix []byte) bool {
	for at := 0; at < len(suffix); {
		end := at + 1
		for end < len(suffix) && suffix[end] != '/' && suffix[end] != '\\' {
			end++
		}
		if dots(suffix[at+1 : end]) {
			return false
		}
		at = end
	}
	return true
}

// dots says whether a segment is . or .., each dot as it is or as %2E.
func dots(segment []byte) bool {
	n := 0
	for i := 0; i < len(segment); n++ {
		switch {
		case segment[i] == '.':
			i++
		case len(segment)-i >= 3 && segment[i] == '%' && segment[i+1] == '2' && segment[i+2]|0x20 == 'e':
			i += 3
		default:
			return false
		}
	}
	return n == 1 || n == 2
}

// AppendBeneath appends the destination with a suffix, which begins with a slash, behind
// its path. The suffix keeps its spelling, but for bytes that no URL may have. A
// destination that has no path of this kind (mailto:) stays as it is.
func AppendBeneath(dst []byte, destination string, suffix []byte) []byte {
	scheme := strings.Index(destination, "://")
	if scheme < 0 {
		return append(dst, destination...)
	}
	end := len(destination)
	if tail := strings.IndexAny(destination[scheme+3:], "?#"); tail >= 0 {
		end = scheme + 3 + tail
	}
	base := destination[:end]
	if strings.HasSuffix(base[scheme+3:], "/") {
		base = base[:len(base)-1]
	}
	dst = append(dst, base...)
	const hex = "0123456789ABCDEF"
	for _, c := range suffix {
		switch {
		case c == '#', c == '?', c == '\\', c <= ' ', c >= 0x7f:
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, destination[end:]...)
}
