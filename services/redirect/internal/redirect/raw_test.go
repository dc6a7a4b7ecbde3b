package redirect_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

func timestamp(millis int64) *timestamppb.Timestamp {
	if millis == 0 {
		return nil
	}
	return timestamppb.New(time.UnixMilli(millis))
}

// response is what came over the wire, before any library has read it.
type response struct {
	status int
	header map[string]string // as spelled
	body   string
}

// send writes one request as given and reads the answer byte by byte.
func (w *world) send(t *testing.T, method, target, host string, headers ...string) response {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	lines := append([]string{method + " " + target + " HTTP/1.1", "Host: " + host, "Connection: close"}, headers...)
	if _, err := io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := response{header: map[string]string{}}
	in := bufio.NewReader(conn)
	first, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(first, "HTTP/1.1 %d", &r.status); err != nil {
		t.Fatalf("the answer begins with %q", first)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\r\n")
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ": ")
		r.header[name] = value
	}
	body, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	r.body = string(body)
	return r
}

func (w *world) get(t *testing.T, target string, headers ...string) response {
	t.Helper()
	return w.send(t, "GET", target, "s.test", headers...)
}
