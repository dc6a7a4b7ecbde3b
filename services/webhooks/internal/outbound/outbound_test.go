package outbound_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/linkstream/linkstream/services/webhooks/internal/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Guards I78.
func TestOnlyPublicAddressesMayBeCalled(t *testing.T) {
	policy := outbound.NewPolicy(nil)
	check := func(permitted bool, addrs ...string) {
		t.Helper()
		for _, text := range addrs {
			if got := policy.Permits(netip.MustParseAddr(text)); got != permitted {
				t.Errorf("%s is permitted: %v", text, got)
			}
		}
	}
	check(true, "1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450:4001:80e::200e", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8")
	check(false, "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1", "100.127.255.255",
		"192.0.0.8", "192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255")
	check(false, "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::8.8.8.8", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "ff0e::1",
		"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "64:ff9b:1:fffe::a9fe:a9fe", "100::1", "2001::1", "2001:db8::1", "2001:10::1", "2001:20::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "5f00::1", "4000::1", "::ffff:0:127.0.0.1")
}

func TestWhatIsAllowedIsOnlyThat(t *testing.T) {
	policy := outbound.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	for text, want := range map[string]bool{"127.0.0.1": true, "::ffff:127.0.0.1": true, "10.0.0.1": false, "::1": false, "8.8.8.8": true} {
		if got := policy.Permits(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is permitted: %v", text, got)
		}
	}
	if !policy.Plain() || outbound.NewPolicy(nil).Plain() {
		t.Error("http is for installations that allow something that is not public")
	}
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return client.Do(request)
}

// resolver answers every question with what say returns, by DNS over a pipe.
func resolver(t *testing.T, say func() [4]byte) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			buffer := make([]byte, 2048)
			for {
				n, err := theirs.Read(buffer)
				if err != nil {
					return
				}
				answer := reply(t, buffer[:n], say)
				if _, err := theirs.Write(answer); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}}
}

// reply answers a question that has two bytes of length before it, as on a stream.
func reply(t *testing.T, question []byte, say func() [4]byte) []byte {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(question[2:]); err != nil {
		t.Error(err)
		return nil
	}
	m.Response, m.Additionals = true, nil
	if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: say()},
		}}
	}
	packed, err := m.Pack()
	if err != nil {
		t.Error(err)
	}
	return append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)
}

// A name that was public when it was checked and is not when it is called: every dial is
// checked by itself.
//
// Guards I78.
func TestANameThatChangesItsMindIsNotCalled(t *testing.T) {
	var called atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer inside.Close()
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range [][4]byte{{127, 0, 0, 1}, {10, 0, 0, 1}, {169, 254, 169, 254}, {0, 0, 0, 0}} {
		client := outbound.NewPolicy(nil).Client(2*time.Second, resolver(t, func() [4]byte { return where }))
		answer, err := get(t, client, "http://rebound.test:"+port+"/")
		if err == nil {
			_ = answer.Body.Close()
		}
		if !errors.Is(err, outbound.ErrNotPublic) {
			t.Errorf("a name that leads to %v: %v", where, err)
		}
		client.CloseIdleConnections()
	}
	if n := called.Load(); n != 0 {
		t.Errorf("the inside was called %d times", n)
	}
	// The same way works where it may.
	client := outbound.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).Client(2*time.Second, resolver(t, func() [4]byte { return [4]byte{127, 0, 0, 1} }))
	defer client.CloseIdleConnections()
	answer, err := get(t, client, "http://rebound.test:"+port+"/")
	if err != nil || called.Load() != 1 {
		t.Fatalf("what is allowed is not called: %v", err)
	}
	_ = answer.Body.Close()
}

// Guards I78.
func TestRedirectsAndProxiesAreNotFollowed(t *testing.T) {
	var inside atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	defer target.Close()
	t.Setenv("HTTP_PROXY", target.URL)
	t.Setenv("http_proxy", target.URL)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, status) }))
		client := outbound.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}).Client(2*time.Second, nil)
		answer, err := get(t, client, server.URL)
		if err != nil || answer.StatusCode != status {
			t.Errorf("a %d gives %v, %v", status, answer, err)
		}
		if err == nil {
			_ = answer.Body.Close()
		}
		client.CloseIdleConnections()
		server.Close()
	}
	if n := inside.Load(); n != 0 {
		t.Errorf("followed %d times", n)
	}
}

func TestACertificateIsVerified(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	server.Config.ErrorLog = nil
	client := outbound.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}).Client(2*time.Second, nil)
	defer client.CloseIdleConnections()
	answer, err := get(t, client, server.URL)
	if err == nil {
		_ = answer.Body.Close()
		t.Error("a certificate that nobody vouches for is good enough")
	}
}

func TestACallTakesSoLongAtMost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			<-time.After(10 * time.Millisecond)
		}
	}))
	defer server.Close()
	client := outbound.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}).Client(300*time.Millisecond, nil)
	defer client.CloseIdleConnections()
	began := time.Now()
	answer, err := get(t, client, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("reading for ever: %v after %v", err, time.Since(began))
	}
	_ = answer.Body.Close()
}
