package redirect_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

const (
	secret     = "open sesame & ü"
	typed      = "Content-Type: application/x-www-form-urlencoded"
	unlockKey  = "0123456789abcdef0123456789abcdef"
	unlockKey2 = "another key, of another password"
)

// locked makes a link with a password, which the origin knows.
func (w *world) locked(t *testing.T, host, slug string, edit func(*eventspb.LinkChanged)) *eventspb.LinkChanged {
	t.Helper()
	ev := w.link(t, host, slug, func(ev *eventspb.LinkChanged) {
		ev.Destination, ev.Title = "https://treasure.test/path", "treasure title"
		ev.Password = &eventspb.Password{UnlockKey: []byte(unlockKey)}
		if edit != nil {
			edit(ev)
		}
	})
	w.origin.SetPassword(ev.GetLinkId(), secret, ev.GetPassword().GetUnlockKey())
	return ev
}

// post sends a form as a browser does.
func (w *world) post(t *testing.T, path, host, body string, headers ...string) response {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(limit))
	head := strings.Join(append([]string{"POST " + path + " HTTP/1.1", "Host: " + host, "Connection: close", typed, fmt.Sprint("Content-Length: ", len(body))}, headers...), "\r\n")
	if _, err := io.WriteString(conn, head+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	r := response{status: res.StatusCode, header: map[string]string{}, body: string(page)}
	for name := range res.Header {
		r.header[name] = res.Header.Get(name)
	}
	return r
}

// Guards I64.
func TestThePasswordOpensTheLink(t *testing.T) {
	w := newUnlocking(t, newLimiter(t, nil))
	ev := w.locked(t, "go.test", "private/one", func(ev *eventspb.LinkChanged) {
		ev.Rules = []*eventspb.Rule{rule("https://phone.test/", eventspb.Condition_KIND_DEVICE, "mobile")}
	})
	w.locked(t, "go.test", "other", nil)
	traceless := func(what string, r response) {
		t.Helper()
		whole := fmt.Sprint(r.header, r.body)
		if strings.Contains(whole, "treasure") || strings.Contains(whole, "phone.test") {
			t.Errorf("%s: the answer has a trace of the link: %.300s", what, whole)
		}
		if r.header["Cache-Control"] != "private, no-store" || r.header["X-Robots-Tag"] != "noindex" {
			t.Errorf("%s: %v", what, r.header)
		}
	}
	isForm := func(what string, r response, status int) {
		t.Helper()
		traceless(what, r)
		if r.status != status || !strings.Contains(r.body, `<form method="post">`) || !strings.Contains(r.body, `name="password"`) || strings.Contains(r.body, "<script") || r.header["Set-Cookie"] != "" {
			t.Errorf("%s: %d, %v, %.100s", what, r.status, r.header, r.body)
		}
	}
	for _, agent := range []string{chrome, slack, google} {
		isForm(agent, w.send(t, "GET", "/private/one", "go.test", agent), 200)
	}
	if r := w.send(t, "HEAD", "/private/one", "go.test", chrome); r.status != 200 || r.body != "" {
		t.Errorf("HEAD: %d", r.status)
	}
	isForm("wrong", w.post(t, "/private/one", "go.test", form("sesame"), chrome), 403)
	isForm("nothing", w.post(t, "/private/one", "go.test", form(""), chrome), 200)
	isForm("another field", w.post(t, "/private/one", "go.test", "a=b", chrome), 200)
	isForm("too long", w.post(t, "/private/one", "go.test", form(strings.Repeat("x", 2000)), chrome), 403)
	isForm("no text", w.post(t, "/private/one", "go.test", "password=%ff", chrome), 403)
	if got := w.origin.Guesses(ev.GetLinkId()); got != 1 {
		t.Errorf("the origin has compared %d times, want once", got)
	}

	r := w.post(t, "/private/one?x=%2F&y", "go.test", "a=b&"+form(secret)+"&c", chrome)
	traceless("right", r)
	if r.status != 303 || r.header["Location"] != "/private/one?x=%2F&y" {
		t.Fatalf("right: %d, %v", r.status, r.header)
	}
	cookie, attributes, _ := strings.Cut(r.header["Set-Cookie"], ";")
	if !strings.Contains(attributes, "HttpOnly; SameSite=Lax") || !strings.Contains(attributes, "Max-Age=3600") || strings.Contains(attributes, "Secure") {
		t.Errorf("the cookie is %q", r.header["Set-Cookie"])
	}
	leads := func(what, path, location string, headers ...string) {
		t.Helper()
		if r := w.send(t, "GET", path, "go.test", append(headers, "Cookie: a=b; "+cookie)...); r.status != 302 || r.header["Location"] != location || r.header["Cache-Control"] != "private, no-store" {
			t.Errorf("%s: %d, %v", what, r.status, r.header)
		}
	}
	leads("opened", "/private/one", "https://treasure.test/path", chrome)
	leads("opened, on a phone", "/private/one", "https://phone.test/", iphone)
	isForm("another link", w.send(t, "GET", "/other", "go.test", chrome, "Cookie: "+cookie), 200)
	if r := w.post(t, "/private/one", "go.test", form(secret), chrome, "Cookie: "+cookie); r.status != 303 {
		t.Errorf("again: %d", r.status)
	}

	// Another password ends what the old one opened.
	w.revision++
	w.locked(t, "go.test", "third", func(ev *eventspb.LinkChanged) {
		copy(ev.LinkId, "private/one\x00\x00\x00\x00\x00") // the same link, with another key
		ev.Password.UnlockKey = []byte(unlockKey2)
	})
	isForm("another password", w.send(t, "GET", "/third", "go.test", chrome, "Cookie: "+cookie), 200)
	w.clicked(t, 2)
}

func TestFormsThatAreNone(t *testing.T) {
	w := newUnlocking(t, newLimiter(t, nil))
	w.locked(t, "s.test", "locked", nil)
	w.put(t, "plain", nil)
	w.link(t, "s.test", "expired", func(ev *eventspb.LinkChanged) {
		ev.Disabled, ev.Password = true, &eventspb.Password{UnlockKey: []byte(unlockKey)}
	})
	check := func(path string, status int, headers ...string) {
		t.Helper()
		if r := w.post(t, path, "s.test", form(secret), headers...); r.status != status || r.header["Location"] != "" {
			t.Errorf("POST %s: %d, %v; want %d", path, r.status, r.header, status)
		}
	}
	for _, path := range []string{"/plain", "/never", "/never/deep", "/", "/robots.txt", "/locked+", "/locked.qr", "/%ff"} {
		check(path, 405)
	}
	check("/expired", 410)
	if r := w.send(t, "POST", "/locked", "s.test", typed, "Transfer-Encoding: chunked"); r.status != 411 {
		t.Errorf("in chunks: %d", r.status)
	}
	if r := w.send(t, "POST", "/locked", "s.test", typed, "Content-Length: 100000"); r.status != 413 {
		t.Errorf("too long: %d", r.status)
	}
	if r := w.send(t, "PUT", "/locked", "s.test"); r.status != 405 {
		t.Errorf("PUT: %d", r.status)
	}
	if r := w.send(t, "POST", "/locked", "s.test"); r.status != 200 {
		t.Errorf("without a body: %d", r.status)
	}
	for _, path := range []string{"//evil.test/../locked", "http://s.test/locked?a"} {
		r := w.post(t, path, "s.test", form(secret))
		if location := r.header["Location"]; strings.HasPrefix(location, "//") || strings.Contains(location, "s.test/") {
			t.Errorf("%s: leads to %q", path, location)
		}
	}
}

// Guards I65.
func TestGuessesAreCountedBeforeTheyAreCompared(t *testing.T) {
	server := redistest.Start(t)
	w := newUnlocking(t, newLimiter(t, server), trusting("127.0.0.0/8"))
	ev := w.locked(t, "s.test", "locked", nil)
	other := w.locked(t, "s.test", "other", nil)
	guess := func(link, password, from string) response {
		t.Helper()
		return w.post(t, "/"+link, "s.test", form(password), chrome, "X-Forwarded-For: "+from)
	}
	for i := range 20 { // who knows it is never held back
		if r := guess("locked", secret, "192.0.2.1"); r.status != 303 {
			t.Fatalf("right, time %d: %d", i, r.status)
		}
	}
	for i := range 10 {
		if r := guess("locked", "wrong", "192.0.2.1"); r.status != 403 {
			t.Fatalf("wrong, time %d: %d", i, r.status)
		}
	}
	before := w.origin.Guesses(ev.GetLinkId())
	for _, password := range []string{"wrong", secret} {
		r := guess("locked", password, "192.0.2.1")
		if r.status != 429 || r.header["Retry-After"] == "" || r.header["Set-Cookie"] != "" || !strings.Contains(r.body, `name="password"`) {
			t.Errorf("too many: %d, %v", r.status, r.header)
		}
	}
	if r := guess("other", secret, "192.0.2.1"); r.status != 429 {
		t.Errorf("at another link: %d", r.status)
	}
	if got := w.origin.Guesses(ev.GetLinkId()); got != before || w.origin.Guesses(other.GetLinkId()) != 0 {
		t.Errorf("the origin has compared %d times more", got-before)
	}
	if r := guess("locked", secret, "192.0.2.2"); r.status != 303 {
		t.Errorf("another address: %d", r.status)
	}
	refused := 0
	for i := range 130 { // many addresses at one link, in one network each
		if r := guess("other", "wrong", fmt.Sprintf("2001:db8:%x::1", i)); r.status == 429 {
			refused++
		}
	}
	if compared := w.origin.Guesses(other.GetLinkId()); compared > 110 || refused < 20 {
		t.Errorf("all together: %d compared, %d refused", compared, refused)
	}
	if r := guess("locked", "wrong", "2001:db8:ffff::1"); r.status != 403 {
		t.Errorf("another link is held back, too: %d", r.status)
	}

	// Nobody compares what nobody counts.
	before = w.origin.Guesses(ev.GetLinkId())
	server.Kill()
	if r := guess("locked", secret, "192.0.2.9"); r.status != 429 {
		t.Errorf("without Redis: %d", r.status)
	}
	if got := w.origin.Guesses(ev.GetLinkId()); got != before {
		t.Errorf("without Redis the origin has compared %d times", got-before)
	}
}

func TestAGuessThatNobodyLookedAtIsGivenBack(t *testing.T) {
	w := newUnlocking(t, newLimiter(t, nil))
	ev := w.locked(t, "s.test", "locked", nil)
	w.origin.SetDown(true)
	for i := range 30 {
		if r := w.post(t, "/locked", "s.test", form(secret)); r.status != 503 || r.header["Retry-After"] == "" {
			t.Fatalf("time %d: %d", i, r.status)
		}
	}
	w.origin.SetDown(false)
	if r := w.post(t, "/locked", "s.test", form(secret)); r.status != 303 {
		t.Errorf("afterwards: %d", r.status)
	}
	if got := w.origin.Guesses(ev.GetLinkId()); got != 1 {
		t.Errorf("compared %d times", got)
	}
}
