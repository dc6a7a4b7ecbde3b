package option

import "bytes"

// preferred is the language that an Accept-Language header asks for before all others:
// the one of the highest quality, and of several the first. It is a part of the header,
// as it stands there. nil is no language: none is named, any would do, or all are refused.
func preferred(header []byte) []byte {
	var best []byte
	most := 0
	for len(header) > 0 {
		element := header
		if comma := bytes.IndexByte(header, ','); comma >= 0 {
			element, header = header[:comma], header[comma+1:]
		} else {
			header = nil
		}
		tag, parameters := element, []byte(nil)
		if semicolon := bytes.IndexByte(element, ';'); semicolon >= 0 {
			tag, parameters = element[:semicolon], element[semicolon+1:]
		}
		if tag = bytes.Trim(tag, " \t"); len(tag) == 0 {
			continue
		}
		if q, ok := quality(parameters); ok && q > most {
			best, most = tag, q
		}
	}
	if len(best) == 1 && best[0] == '*' {
		return nil
	}
	return best
}

// quality reads a weight (RFC 9110, section 12.4.2) in thousandths: 1000 where none is
// given. What is no weight makes its language count for nothing.
func quality(parameters []byte) (thousandths int, ok bool) {
	parameters = bytes.Trim(parameters, " \t")
	if len(parameters) == 0 {
		return 1000, true
	}
	if len(parameters) < 3 || parameters[0]|0x20 != 'q' || parameters[1] != '=' {
		return 0, false
	}
	digits := parameters[2:]
	if digits[0] != '0' && digits[0] != '1' || len(digits) > 5 || len(digits) > 1 && digits[1] != '.' {
		return 0, false
	}
	n := int(digits[0]-'0') * 1000
	scale := 100
	for _, c := range digits[min(2, len(digits)):] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n += int(c-'0') * scale
		scale /= 10
	}
	return n, n <= 1000
}
