// Package wire is what a load generator needs of HTTP/1.1: requests that are made
// once and changed in place, and the end and the correctness of an answer, without
// allocating. It reads only answers that state their length; it refuses chunks.
package wire

import (
	"bytes"
	"errors"
	"strconv"
)

// SlugLen is the length of every slug that is asked for.
const SlugLen = 7

// MaxAnswer is how long an answer may be.
const MaxAnswer = 8 << 10

// Errors of Scan.
var (
	ErrNoHTTP   = errors.New("the answer is not HTTP/1.1")
	ErrNoLength = errors.New("the answer does not say how long it is")
	ErrTooLong  = errors.New("the answer is too long")
)

// Request is one request whose slug can be changed.
type Request struct {
	bytes []byte
	slug  []byte // part of bytes
}

// Browser is what a visitor's browser calls itself.
const Browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// NewRequest returns a browser's request for a slug at host.
func NewRequest(host string) *Request { return NewRequestBy(Browser, host) }

// NewRequestBy returns a request for a slug at host by whoever calls itself agent.
func NewRequestBy(agent, host string) *Request {
	const before = "GET /"
	b := []byte(before + "sssssss HTTP/1.1\r\n" +
		"Host: " + host + "\r\n" +
		"User-Agent: " + agent + "\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"Accept-Language: en-GB,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Referer: https://news.example/\r\n" +
		"\r\n")
	return &Request{bytes: b, slug: b[len(before) : len(before)+SlugLen]}
}

// For is the request for the slug number n. It is valid until the next call.
func (r *Request) For(n int) []byte {
	PutSlug(r.slug, n)
	return r.bytes
}

// Slug numbers.
const (
	digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	// slugs is how many there are: a letter and six digits.
	slugs = 36 * 36 * 36 * 36 * 36 * 36
	// spread has no factor in common with slugs, so that every number has a slug of
	// its own, and those that follow each other do not look alike.
	spread = 1_500_450_271
)

// PutSlug writes the slug number n, at most 2 thousand million, to dst. Different
// numbers have different slugs.
func PutSlug(dst []byte, n int) {
	v := uint64(n) * spread % slugs
	dst[0] = 'z'
	for i := SlugLen - 1; i > 0; i-- {
		dst[i] = digits[v%36]
		v /= 36
	}
}

// Slug is the slug number n.
func Slug(n int) string {
	var b [SlugLen]byte
	PutSlug(b[:], n)
	return string(b[:])
}

// Answer is what Scan found.
type Answer struct {
	Len      int // of the whole answer
	Status   int
	Location []byte // part of what was scanned
}

// Scan reads the answer at the start of b. It says false while there is more to
// come.
func Scan(b []byte) (a Answer, whole bool, err error) {
	const version, status = "HTTP/1.1 ", len("HTTP/1.1 302")
	end := bytes.Index(b, []byte("\r\n\r\n"))
	switch {
	case end < 0 && len(b) >= MaxAnswer:
		return a, false, ErrTooLong
	case end < 0:
		return a, false, nil
	case end < status || string(b[:len(version)]) != version:
		return a, false, ErrNoHTTP
	}
	header := b[:end+len("\r\n")]
	if a.Status, err = strconv.Atoi(string(header[len(version):status])); err != nil {
		return a, false, ErrNoHTTP
	}
	a.Location = field(header, "\r\nLocation: ")
	length := 0
	if a.Status != 204 && a.Status != 304 {
		text := field(header, "\r\nContent-Length: ")
		if text == nil {
			return a, false, ErrNoLength
		}
		if length, err = strconv.Atoi(string(text)); err != nil || length < 0 {
			return a, false, ErrNoLength
		}
	}
	a.Len = end + len("\r\n\r\n") + length
	if a.Len > MaxAnswer {
		return a, false, ErrTooLong
	}
	return a, len(b) >= a.Len, nil
}

// Cache is which cache an answer, as a whole, says it comes from; empty if it does
// not say.
func Cache(answer []byte) []byte { return field(answer, "\r\nServer-Timing: cache;desc=") }

// Closes says whether the server closes the connection after an answer.
func Closes(answer []byte) bool { return bytes.Contains(answer, []byte("\r\nConnection: close\r\n")) }

// Plain is a browser's request for a path at host that is no slug.
func Plain(host, path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: " + Browser + "\r\nAccept: */*\r\n\r\n")
}

// field is the value of a header field, written as servers write it.
func field(header []byte, name string) []byte {
	i := bytes.Index(header, []byte(name))
	if i < 0 {
		return nil
	}
	value := header[i+len(name):]
	return value[:bytes.Index(value, []byte("\r\n"))]
}

// Parts of the target that every link leads to; the slug stands between them.
const (
	targetBefore = "https://www.example.com/articles/"
	targetAfter  = "?utm_source=linkstream&utm_medium=qr"
)

// Target is where the link with a slug leads.
func Target(slug string) string { return targetBefore + slug + targetAfter }

// Leads says whether a Location is the target of the slug number n.
func Leads(location []byte, n int) bool {
	if len(location) != len(targetBefore)+SlugLen+len(targetAfter) {
		return false
	}
	var slug [SlugLen]byte
	PutSlug(slug[:], n)
	return string(location[:len(targetBefore)]) == targetBefore &&
		string(location[len(targetBefore):len(targetBefore)+SlugLen]) == string(slug[:]) &&
		string(location[len(targetBefore)+SlugLen:]) == targetAfter
}
