package http1

import (
	"net/http"
	"strconv"
	"time"
)

// Response writes one answer: Status first, then Header any number of times, then
// Body, Empty or NoContent.
type Response struct {
	buf    []byte
	date   string // the Date line
	head   bool   // the answer to a HEAD: without its body
	minor  byte
	ends   bool // the connection ends with it
	status int
}

// Status begins the answer.
func (r *Response) Status(status int) {
	r.status = status
	if status == http.StatusFound {
		r.buf = append(r.buf, "HTTP/1.1 302 Found\r\n"...)
	} else {
		r.buf = append(r.buf, "HTTP/1.1 "...)
		r.buf = strconv.AppendInt(r.buf, int64(status), 10)
		r.buf = append(r.buf, ' ')
		r.buf = append(r.buf, http.StatusText(status)...)
		r.buf = append(r.buf, '\r', '\n')
	}
	r.buf = append(r.buf, r.date...)
}

// Code is the status that was given.
func (r *Response) Code() int { return r.status }

// Header adds a field. The value must be free of line ends.
func (r *Response) Header(name, value string) {
	r.buf = append(r.buf, name...)
	r.buf = append(r.buf, ':', ' ')
	r.buf = append(r.buf, value...)
	r.buf = append(r.buf, '\r', '\n')
}

// HeaderBytes is Header for a value in a buffer.
func (r *Response) HeaderBytes(name string, value []byte) {
	r.buf = append(r.buf, name...)
	r.buf = append(r.buf, ':', ' ')
	r.buf = append(r.buf, value...)
	r.buf = append(r.buf, '\r', '\n')
}

// Lines adds fields that are ready to be sent, each with its line end.
func (r *Response) Lines(lines string) { r.buf = append(r.buf, lines...) }

// Body ends the answer with a body.
func (r *Response) Body(contentType string, body []byte) {
	r.Header("Content-Type", contentType)
	r.buf = append(r.buf, "Content-Length: "...)
	r.buf = strconv.AppendInt(r.buf, int64(len(body)), 10)
	r.buf = append(r.buf, '\r', '\n')
	r.end()
	if !r.head {
		r.buf = append(r.buf, body...)
	}
}

// Empty ends the answer with a body of no bytes.
func (r *Response) Empty() {
	r.buf = append(r.buf, "Content-Length: 0\r\n"...)
	r.end()
}

// NoContent ends an answer that can have no body.
func (r *Response) NoContent() { r.end() }

// Close makes the connection end with this answer. It is called before the end.
func (r *Response) Close() { r.ends = true }

func (r *Response) end() {
	switch {
	case r.ends:
		r.buf = append(r.buf, "Connection: close\r\n"...)
	case r.minor == 0:
		r.buf = append(r.buf, "Connection: keep-alive\r\n"...)
	}
	r.buf = append(r.buf, '\r', '\n')
}

// Begin makes the response ready for the answer to a request, which it appends to buf.
// The server does it; whoever calls a Worker without one does it himself. date is a
// whole line.
func (r *Response) Begin(buf []byte, req *Request, date string) {
	*r = Response{buf: buf, date: date, minor: req.minor, ends: !req.keepAlive || req.BodyUnread, head: req.Is(http.MethodHead)}
}

// Bytes are what has been written, behind what Begin was given.
func (r *Response) Bytes() []byte { return r.buf }

// refuse makes the response ready for the answer to what is no request.
func (r *Response) refuse(buf []byte, date string) {
	*r = Response{buf: buf, date: date, minor: 1, ends: true}
}

// clock keeps the Date line of the current second.
type clock struct {
	second int64
	line   string
}

func (c *clock) at(now time.Time) string {
	if second := now.Unix(); second != c.second {
		c.second = second
		c.line = "Date: " + now.UTC().Format(http.TimeFormat) + "\r\n"
	}
	return c.line
}
