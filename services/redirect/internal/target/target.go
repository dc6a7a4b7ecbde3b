// Package target puts a visitor's query into a link's destination, for links that ask
// for it.
//
// It promises that both keep their own spelling and order, byte for byte, that the
// fragment stays last, that names are compared as a reader of the query would
// understand them (decoded), and that it allocates nothing when dst has room.
//
// It refuses to touch the path, and to let a visitor begin a fragment.
package target

import "strings"

// Mode says what becomes of the visitor's query.
type Mode uint8

// The modes. A parameter of both sides appears twice with Add, and once otherwise.
const (
	Off Mode = iota
	Add
	VisitorWins
	OwnerWins
)

// Append appends the destination with the visitor's query in it, which comes without
// its question mark.
func Append(dst []byte, destination string, query []byte, mode Mode) []byte {
	if mode == Off || len(query) == 0 {
		return append(dst, destination...)
	}
	fragment := ""
	if hash := strings.IndexByte(destination, '#'); hash >= 0 {
		destination, fragment = destination[:hash], destination[hash:]
	}
	base, own, hasQuery := strings.Cut(destination, "?")
	dst = append(dst, base...)
	separator := byte('?')
	add := func(parameter []byte) {
		dst = append(dst, separator)
		dst = appendWithoutFragment(dst, parameter)
		separator = '&'
	}
	switch {
	case !hasQuery:
	case mode == VisitorWins:
		for rest := own; rest != ""; {
			var parameter string
			parameter, rest, _ = strings.Cut(rest, "&")
			if !contains(query, parameter) {
				dst = append(append(dst, separator), parameter...)
				separator = '&'
			}
		}
	case own != "":
		dst = append(append(dst, '?'), own...)
		separator = '&'
	}
	for rest := query; len(rest) > 0; {
		parameter := rest
		if and := indexByte(rest, '&'); and >= 0 {
			parameter, rest = rest[:and], rest[and+1:]
		} else {
			rest = nil
		}
		if mode == OwnerWins && contains(own, parameter) {
			continue
		}
		add(parameter)
	}
	return append(dst, fragment...)
}

// appendWithoutFragment escapes what would begin a fragment. Browsers never send it.
func appendWithoutFragment(dst, parameter []byte) []byte {
	for _, c := range parameter {
		if c == '#' {
			dst = append(dst, "%23"...)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

type text interface{ ~string | ~[]byte }

func indexByte[T text](s T, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return -1
}

// contains says whether a query has a parameter of the same name. One without a name
// is like no other.
func contains[Q, P text](query Q, parameter P) bool {
	end := len(parameter)
	if equals := indexByte(parameter, '='); equals >= 0 {
		end = equals
	}
	if end == 0 {
		return false
	}
	for at := 0; at < len(query); {
		name := query[at:]
		next := len(query)
		if and := indexByte(name, '&'); and >= 0 {
			name, next = name[:and], at+and+1
		}
		if equals := indexByte(name, '='); equals >= 0 {
			name = name[:equals]
		}
		if same(name, parameter[:end]) {
			return true
		}
		at = next
	}
	return false
}

// same compares two names as they decode: %XX, and + for a space.
func same[A, B text](a A, b B) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x, nextI := decoded(a, i)
		y, nextJ := decoded(b, j)
		if x != y {
			return false
		}
		i, j = nextI, nextJ
	}
	return i == len(a) && j == len(b)
}

func decoded[T text](s T, i int) (c byte, next int) {
	switch {
	case s[i] == '+':
		return ' ', i + 1
	case s[i] == '%' && i+2 < len(s):
		hi, ok1 := digit(s[i+1])
		lo, ok2 := digit(s[i+2])
		if ok1 && ok2 {
			return hi<<4 | lo, i + 3
		}
	}
	return s[i], i + 1
}

func digit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
