package http1

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// parsed is what the parser makes of a head.
func parsed(head string) (Request, int, int) {
	var r Request
	n, refusal := r.parse([]byte(head))
	return r, n, refusal
}

func TestWhatIsARequest(t *testing.T) {
	check := func(head string, refusal int) {
		t.Helper()
		_, n, got := parsed(head)
		if got != refusal || (refusal == 0) != (n == len(head)) {
			t.Errorf("%.80q: %d bytes, refusal %d; want %d", head, n, got, refusal)
		}
	}
	const host = "Host: a\r\n"
	check("GET / HTTP/1.1\r\n"+host+"\r\n", 0)
	check("\r\n\r\nGET / HTTP/1.1\r\n"+host+"\r\n", 0)
	check("GET / HTTP/1.0\r\n\r\n", 0)
	check("GET /caf\xc3\xa9?x=\xff HTTP/1.1\r\n"+host+"\r\n", 0)
	check("M-SEARCH * HTTP/1.1\r\n"+host+"\r\n", 0)
	check("GET / HTTP/1.1\r\nHost:\r\n\r\n", 0)
	check("GET / HTTP/1.1\r\n"+host+"X-Y:\t v \xe9 \r\n\r\n", 0)
	check("POST / HTTP/1.1\r\n"+host+"Content-Length: 65536\r\n\r\n", 0)
	check("POST / HTTP/1.1\r\n"+host+"Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 0)

	for _, bad := range []string{
		"GET / HTTP/1.1\r\n\r\n",                       // no host
		"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", // two hosts
		"GET /\r\n", "GET\r\n", "GET  HTTP/1.1\r\n", "GET /a b HTTP/1.1\r\n", " GET / HTTP/1.1\r\n", "GET / HTTP/1.1 \r\n",
		"G\tT / HTTP/1.1\r\n", "GET spring HTTP/1.1\r\n", "CONNECT a:443 HTTP/1.1\r\n", "GET /\x00 HTTP/1.1\r\n", "GET /\x7f HTTP/1.1\r\n", "GET / http/1.1\r\n", "GET / HTTP/11\r\n",
		"GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "\n",
		"GET / HTTP/1.1\r\n" + host + "X : y\r\n\r\n", "GET / HTTP/1.1\r\n" + host + " folded\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "X\r\n\r\n", "GET / HTTP/1.1\r\n" + host + ": y\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "X: a\rb\r\n\r\n", "GET / HTTP/1.1\r\n" + host + "X: \x00\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\n", "GET / HTTP/1.1\r\n" + host + "Content-Length: 1, 1\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Content-Length:\r\n\r\n", "GET / HTTP/1.1\r\n" + host + "Content-Length: 0x1\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Content-Length: 9999999999999999999\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"GET / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", // TLS
	} {
		check(bad, http.StatusBadRequest)
	}
	check("PRI * HTTP/2.0\r\n", http.StatusHTTPVersionNotSupported)
	check("GET / HTTP/1.2\r\n", http.StatusHTTPVersionNotSupported)
	check("POST / HTTP/1.1\r\n"+host+"Content-Length: 65537\r\n\r\n", http.StatusRequestEntityTooLarge)
	check("GET /"+strings.Repeat("a", maxHead)+" HTTP/1.1\r\n"+host+"\r\n", http.StatusRequestHeaderFieldsTooLarge)
	check("GET /"+strings.Repeat("a", maxHead), http.StatusRequestHeaderFieldsTooLarge)

	const whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	for i := range len(whole) {
		if _, n, refusal := parsed(whole[:i]); n != 0 || refusal != 0 {
			t.Errorf("%q: %d bytes, refusal %d; want more of it", whole[:i], n, refusal)
		}
	}
}

func TestWhatARequestSays(t *testing.T) {
	r, _, _ := parsed("GET http://x/?q HTTP/1.1\r\nhOST: h:80\r\nUser-Agent: ua\r\nReferer: ref\r\nAccept-Language: fr\r\nSec-Purpose: sp\r\n" +
		"Purpose: p\r\nCookie: c\r\nContent-Type: ct\r\nX-Forwarded-For: 1, 2\r\nX-Forwarded-For: 3\r\nTraceParent: tp\r\nUser-Agent: second\r\n\r\n")
	got := bytes.Join([][]byte{
		r.Method, r.Target, r.Host, r.UserAgent, r.Referer, r.AcceptLanguage, r.SecPurpose, r.Purpose, r.Cookie, r.ContentType, r.Traceparent,
		bytes.Join(r.ForwardedFor, []byte("/")),
	}, []byte{' '})
	if string(got) != "GET http://x/?q h:80 ua ref fr sp p c ct tp 1, 2/3" {
		t.Errorf("read as %q", got)
	}
}

// The next request on a connection must not see anything of the one before.
func TestNothingIsLeftForTheNextRequest(t *testing.T) {
	var r Request
	r.parse([]byte("POST / HTTP/1.0\r\nHost: h\r\nUser-Agent: ua\r\nCookie: c\r\nX-Forwarded-For: 1\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n"))
	r.parse([]byte("GET / HTTP/1.0\r\n\r\n"))
	if r.Host != nil || r.UserAgent != nil || r.Cookie != nil || len(r.ForwardedFor) > 0 || r.bodyLen != 0 || r.keepAlive {
		t.Errorf("left over: %+v", r)
	}
}

func TestReadingARequestAllocatesNothing(t *testing.T) {
	head := []byte("GET /launch?utm_source=x HTTP/1.1\r\nHost: s.test\r\nUser-Agent: Mozilla/5.0\r\nX-Forwarded-For: 192.0.2.1\r\nReferer: https://e.test/\r\n\r\n")
	var r Request
	r.parse(head)
	if got := testing.AllocsPerRun(1000, func() { r.parse(head) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// Whatever is taken for a request, the standard library takes for the same one: it
// ends at the same place, and means the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Request
		n, refusal := r.parse(data)
		if n == 0 || refusal != 0 {
			return
		}
		source := bytes.NewReader(data)
		in := bufio.NewReaderSize(source, 1<<17)
		for range 2 * bytes.Count(data, []byte("\r\n")) {
			if next, err := in.Peek(2); err != nil || string(next) != "\r\n" {
				break
			}
			_, _ = in.Discard(2)
		}
		other, err := http.ReadRequest(in)
		if err != nil {
			return // it is stricter about hosts, targets and values
		}
		if read := len(data) - source.Len() - in.Buffered(); read != n {
			t.Errorf("the head has %d bytes, for the standard library %d", n, read)
		}
		if other.Method != string(r.Method) || other.RequestURI != string(r.Target) || other.UserAgent() != string(r.UserAgent) {
			t.Errorf("read as %s %s by %q, by the standard library as %s %s by %q",
				r.Method, r.Target, r.UserAgent, other.Method, other.RequestURI, other.UserAgent())
		}
		if chunked := len(other.TransferEncoding) > 0; chunked != r.BodyUnread {
			t.Errorf("chunks: %v, for the standard library %v", r.BodyUnread, chunked)
		}
		if !r.BodyUnread && other.ContentLength != int64(r.bodyLen) {
			t.Errorf("the body has %d bytes, for the standard library %d", r.bodyLen, other.ContentLength)
		}
	})
}
