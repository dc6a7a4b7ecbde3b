package option

// hasParameter says whether the query has one of the values: a parameter of that name,
// with that value where one is asked for. Both are compared as they decode.
func (p Program) hasParameter(query []byte) bool {
	for at := 0; at < len(p); {
		var name, want string
		name, at = p.text(at)
		exact := p[at] == 1
		at++
		if exact {
			want, at = p.text(at)
		}
		if queryHas(query, name, want, exact) {
			return true
		}
	}
	return false
}

func queryHas(query []byte, name, want string, exact bool) bool {
	for at := 0; at < len(query); {
		end, equals := at, -1
		for end < len(query) && query[end] != '&' {
			if query[end] == '=' && equals < 0 {
				equals = end
			}
			end++
		}
		own, value := query[at:end], query[end:end]
		if equals >= 0 {
			own, value = query[at:equals], query[equals+1:end]
		}
		if decodesTo(own, name) && (!exact || decodesTo(value, want)) {
			return true
		}
		at = end + 1
	}
	return false
}

// decodesTo compares what is encoded (%XX, and + for a space) with a text.
func decodesTo(encoded []byte, s string) bool {
	at := 0
	for i := 0; i < len(encoded); i++ {
		c := encoded[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(encoded):
			high, ok1 := digit(encoded[i+1])
			low, ok2 := digit(encoded[i+2])
			if ok1 && ok2 {
				c, i = high<<4|low, i+2
			}
		}
		if at >= len(s) || s[at] != c {
			return false
		}
		at++
	}
	return at == len(s)
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
