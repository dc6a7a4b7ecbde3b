package address

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
)

// URLs says how short links are written.
type URLs struct {
	// Scheme is http or https.
	Scheme string
	// Port is shown unless it is 0.
	Port int
}

// Link is a short link. Its slug is percent-encoded: it is a path that any program
// takes as it is.
func (u URLs) Link(host, slug string) string {
	if u.Port != 0 {
		host += ":" + strconv.Itoa(u.Port)
	}
	return u.Scheme + "://" + host + Path(slug)
}

// Scan is what the QR code of a link says: the link with a mark by which scans are told
// from clicks. See CutScan.
func (u URLs) Scan(host, slug string) string { return u.Link(host, slug) + "?" + scanMark }

// Path is the path that leads to a slug. It begins with one slash, whatever the slug:
// with two it would be a host.
func Path(slug string) string {
	segments := strings.Split(strings.TrimLeft(slug, "/"), "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return "/" + strings.Join(segments, "/")
}

// scanMark stands first in the query. It is short, because every character makes the
// code finer, and it is in the query, because every other form would be a slug.
const scanMark = "qr"

// CutScan takes the mark of a QR code off a query, which comes without its question
// mark, and says whether it was there. Only its first parameter can be the mark: apps
// add theirs behind it. Some give it an empty value. One with a value is the visitor's.
func CutScan(query []byte) (rest []byte, scanned bool) {
	if len(query) < len(scanMark) || string(query[:len(scanMark)]) != scanMark {
		return query, false
	}
	rest = bytes.TrimPrefix(query[len(scanMark):], []byte("="))
	switch {
	case len(rest) == 0:
		return nil, true
	case rest[0] == '&':
		return rest[1:], true
	}
	return query, false
}
