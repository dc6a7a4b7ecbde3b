package http1

import (
	"bytes"
	"net/http"
	"net/netip"
	"time"
)

// Request is one request. Its slices point into the connection's buffer and are
// good until it is answered.
type Request struct {
	Method []byte
	Target []byte // as sent, never cleaned
	Body   []byte
	// BodyUnread says that a body comes in chunks. It is not read, and the connection
	// ends with the answer.
	BodyUnread bool

	// The header fields that an edge looks at; empty for those not sent. Of a field
	// that may be sent once the first counts.
	Host           []byte
	UserAgent      []byte
	Referer        []byte
	AcceptLanguage []byte
	SecPurpose     []byte
	Purpose        []byte
	Cookie         []byte
	ContentType    []byte
	Traceparent    []byte
	ForwardedFor   [][]byte // X-Forwarded-For, every line

	Peer netip.Addr // who is connected
	Time time.Time  // when it was read

	minor     byte // of the version: 0 or 1
	bodyLen   int
	keepAlive bool // asked for, or the version's default
	expects   bool // 100-continue
	hasHost   bool
}

// Is says whether the request has this method.
func (r *Request) Is(method string) bool { return string(r.Method) == method }

// parse reads the head of the request at the start of b. It returns the head's
// length, 0 when it is not all there, or the status of a refusal.
func (r *Request) parse(b []byte) (n, refusal int) {
	*r = Request{ForwardedFor: r.ForwardedFor[:0], Peer: r.Peer, Time: r.Time, bodyLen: -1}
	// Empty lines before a request are forgiven (RFC 9112, section 2.2).
	for len(b)-n >= 2 && b[n] == '\r' && b[n+1] == '\n' {
		n += 2
	}
	line, n, refusal := nextLine(b, n)
	if n == 0 || refusal != 0 {
		return 0, refusal
	}
	if refusal := r.requestLine(line); refusal != 0 {
		return 0, refusal
	}
	for {
		line, n, refusal = nextLine(b, n)
		switch {
		case n == 0 || refusal != 0:
			return 0, refusal
		case len(line) == 0:
			if refusal := r.check(); refusal != 0 {
				return 0, refusal
			}
			return n, 0
		}
		if !r.field(line) {
			return 0, http.StatusBadRequest
		}
	}
}

// nextLine returns the line at b[at:] without its end, and where the next one begins:
// 0 when its end is not there yet.
func nextLine(b []byte, at int) (line []byte, next, refusal int) {
	end := bytes.IndexByte(b[at:], '\n')
	if end < 0 {
		if len(b) > maxHead {
			return nil, 0, http.StatusRequestHeaderFieldsTooLarge
		}
		return nil, 0, 0
	}
	next = at + end + 1
	if next > maxHead {
		return nil, 0, http.StatusRequestHeaderFieldsTooLarge
	}
	// A line ends with CR LF and has no other CR, no NUL: readers disagree about
	// everything else.
	if end == 0 || b[at+end-1] != '\r' {
		return nil, 0, http.StatusBadRequest
	}
	line = b[at : at+end-1]
	if bytes.IndexByte(line, '\r') >= 0 || bytes.IndexByte(line, 0) >= 0 {
		return nil, 0, http.StatusBadRequest
	}
	return line, next, 0
}

func (r *Request) requestLine(line []byte) (refusal int) {
	first := bytes.IndexByte(line, ' ')
	last := bytes.LastIndexByte(line, ' ')
	if first <= 0 || last-first < 2 || !isToken(line[:first]) {
		return http.StatusBadRequest
	}
	r.Method, r.Target = line[:first], line[first+1:last]
	for _, c := range r.Target {
		if c <= ' ' || c == 0x7f {
			return http.StatusBadRequest
		}
	}
	if r.Target[0] != '/' && string(r.Target) != "*" && !bytes.Contains(r.Target, []byte("://")) {
		return http.StatusBadRequest // no form of a target but CONNECT's
	}
	const version = "HTTP/1."
	v := line[last+1:]
	if len(v) != len(version)+1 || string(v[:len("HTTP/")]) != "HTTP/" {
		return http.StatusBadRequest
	}
	if string(v[:len(version)]) != version || v[len(version)] > '1' {
		return http.StatusHTTPVersionNotSupported
	}
	r.minor = v[len(version)] - '0'
	r.keepAlive = r.minor == 1
	return 0
}

// field takes one header field. It says false for what is none, and for those that
// make the request's end or meaning unclear.
func (r *Request) field(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !isToken(line[:colon]) { // a fold, or white space before the colon, too
		return false
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	switch len(name) {
	case len("host"):
		if is(name, "host") {
			if r.hasHost {
				return false
			}
			r.Host, r.hasHost = value, true
		}
	case len("cookie"):
		if is(name, "cookie") {
			first(&r.Cookie, value)
		} else if is(name, "expect") {
			r.expects = is(value, "100-continue")
		}
	case len("referer"):
		if is(name, "referer") {
			first(&r.Referer, value)
		} else if is(name, "purpose") {
			first(&r.Purpose, value)
		}
	case len("user-agent"):
		if is(name, "user-agent") {
			first(&r.UserAgent, value)
		} else if is(name, "connection") {
			r.connection(value)
		}
	case len("sec-purpose"):
		if is(name, "sec-purpose") {
			first(&r.SecPurpose, value)
		} else if is(name, "traceparent") {
			first(&r.Traceparent, value)
		}
	case len("content-type"):
		if is(name, "content-type") {
			first(&r.ContentType, value)
		}
	case len("content-length"):
		if is(name, "content-length") {
			return r.contentLength(value)
		}
	case len("accept-language"):
		if is(name, "accept-language") {
			first(&r.AcceptLanguage, value)
		} else if is(name, "x-forwarded-for") {
			r.ForwardedFor = append(r.ForwardedFor, value)
		}
	case len("transfer-encoding"):
		if is(name, "transfer-encoding") {
			r.BodyUnread = true
		}
	}
	return true
}

func first(field *[]byte, value []byte) {
	if *field == nil {
		*field = value
	}
}

// connection reads a list of options, of which two concern us.
func (r *Request) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte{','}) {
		switch option = bytes.Trim(option, " \t"); {
		case is(option, "close"):
			r.keepAlive = false
		case is(option, "keep-alive") && r.minor == 0:
			r.keepAlive = true
		}
	}
}

func (r *Request) contentLength(value []byte) bool {
	if len(value) == 0 || len(value) > 18 {
		return false
	}
	n := 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int(c-'0')
	}
	if r.bodyLen >= 0 && r.bodyLen != n {
		return false
	}
	r.bodyLen = n
	return true
}

// check refuses what only the whole head can show.
func (r *Request) check() (refusal int) {
	switch {
	case !r.hasHost && r.minor == 1:
		return http.StatusBadRequest
	case r.BodyUnread && (r.bodyLen >= 0 || r.minor == 0):
		return http.StatusBadRequest // two lengths: the classic of request smuggling
	case r.bodyLen > maxBody:
		return http.StatusRequestEntityTooLarge
	}
	r.bodyLen = max(r.bodyLen, 0)
	return 0
}

// is compares with a lower-case word, whatever the case of b.
func is(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// The bytes of a token (RFC 9110, section 5.6.2) as bits: those below 64, and the rest.
const (
	tokenLow uint64 = 1<<'!' | 1<<'#' | 1<<'$' | 1<<'%' | 1<<'&' | 1<<'\'' | 1<<'*' | 1<<'+' | 1<<'-' | 1<<'.' |
		(1<<10-1)<<'0'
	tokenHigh uint64 = (1<<26-1)<<('A'-64) | (1<<26-1)<<('a'-64) | 1<<('^'-64) | 1<<('_'-64) | 1<<('`'-64) | 1<<('|'-64) | 1<<('~'-64)
)

func isToken(b []byte) bool {
	for _, c := range b {
		switch {
		case c < 64 && tokenLow>>c&1 == 1:
		case c >= 64 && c < 128 && tokenHigh>>(c-64)&1 == 1:
		default:
			return false
		}
	}
	return len(b) > 0
}
