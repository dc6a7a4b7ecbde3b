package address

import "unicode/utf8"

// AppendHost appends Host(host) to dst. It does not allocate when dst has room
// and the host is written the usual way.
func AppendHost(dst, host []byte) []byte {
	for _, c := range host {
		if c == ':' || c == '[' || c >= utf8.RuneSelf {
			return append(dst, Host(string(host))...)
		}
	}
	if n := len(host); n > 0 && host[n-1] == '.' {
		host = host[:n-1]
	}
	for _, c := range host {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// AppendSlugKey appends the slug key of the escaped path of a request to dst, as
// SlugFromPath does. It does not allocate when dst has room and the path is plain
// ASCII without escapes.
func AppendSlugKey(dst, path []byte) ([]byte, bool) {
	plain := path
	if len(plain) > 0 && plain[0] == '/' {
		plain = plain[1:]
	}
	for _, c := range plain {
		if c == '%' || c >= utf8.RuneSelf {
			slug, ok := SlugFromPath(string(path))
			return append(dst, slug...), ok
		}
	}
	if n := len(plain); n > 0 && plain[n-1] == '/' {
		plain = plain[:n-1]
	}
	return append(dst, plain...), len(plain) > 0
}

// Fold turns a slug key into that of a domain whose slugs ignore case: what
// FoldedSlugKey makes of the slug. It changes key in place, and allocates only for what
// is not ASCII.
func Fold(key []byte) []byte {
	for i, c := range key {
		if c >= utf8.RuneSelf {
			return append(key[:0], fold(string(key))...)
		}
		if 'A' <= c && c <= 'Z' {
			key[i] = c + 'a' - 'A'
		}
	}
	return key
}
