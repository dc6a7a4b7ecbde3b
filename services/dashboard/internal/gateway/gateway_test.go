package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// inFront starts a gateway to a service, behind the middleware that it always has.
func inFront(t *testing.T, service string, settle func(*httptest.Server)) string {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/links", New("links", target, slog.New(slog.DiscardHandler)))
	mux.Handle("/v1/links/", New("links", target, slog.New(slog.DiscardHandler)))
	mux.Handle("/v1/imports", New("links", target, slog.New(slog.DiscardHandler)).Uploads())
	server := httptest.NewUnstartedServer(httpapi.Middleware(mux, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)))
	if settle != nil {
		settle(server)
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func send(t *testing.T, method, address string, body io.Reader, header map[string]string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func problem(t *testing.T, answer *http.Response) httpapi.Problem {
	t.Helper()
	var p httpapi.Problem
	if err := json.NewDecoder(answer.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	if got := answer.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("type %q", got)
	}
	if p.RequestID == "" || p.RequestID != answer.Header.Get(requestID) {
		t.Errorf("request id %q in the body, %q in the header", p.RequestID, answer.Header.Get(requestID))
	}
	return p
}

func TestRequestsArriveAsTheyWereSent(t *testing.T) {
	var got *http.Request
	var body string
	service := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set(requestID, "the service's own")
		w.Header().Set("ETag", `"7"`)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"1"}`))
	})
	front := inFront(t, service, nil)
	answer := send(t, http.MethodPost, front+"/v1/links/a%2Fb?q=x%20y&cursor=%3D", strings.NewReader(`{"destination":"https://example.com/"}`), map[string]string{
		"Authorization": "Bearer ls_key_1", "Idempotency-Key": "k1", "Cookie": "ls_session=secret", "X-Request-Id": "mine-1",
		"X-Forwarded-For": "203.0.113.9",
	})
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("method", got.Method, http.MethodPost)
	check("address", got.RequestURI, "/v1/links/a%2Fb?q=x%20y&cursor=%3D")
	check("body", body, `{"destination":"https://example.com/"}`)
	check("key", got.Header.Get("Authorization"), "Bearer ls_key_1")
	check("idempotency key", got.Header.Get("Idempotency-Key"), "k1")
	check("cookie", got.Header.Get("Cookie"), "")
	check("request id at the service", got.Header.Get(requestID), "mine-1")
	check("forwarded for", got.Header.Get("X-Forwarded-For"), "127.0.0.1") // not what a stranger claims

	check("status", answer.Status, "201 Created")
	check("request id of the answer", strings.Join(answer.Header.Values(requestID), " + "), "mine-1")
	check("etag", answer.Header.Get("ETag"), `"7"`)
	b, _ := io.ReadAll(answer.Body)
	check("answer", string(b), `{"id":"1"}`)

	send(t, http.MethodGet, front+"/v1/links", nil, nil)
	if len(got.Header.Get(requestID)) != 36 {
		t.Errorf("a request without an id got %q", got.Header.Get(requestID))
	}
}

// A filter that cannot be read must not become no filter: the service refuses it.
func TestQueriesArriveAsTheyWereSent(t *testing.T) {
	got := ""
	address := inFront(t, serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.URL.RawQuery }), nil)
	for _, query := range []string{"tag=a;b", "q=%zz", "limit=5;cursor=x&q=%20+", "a=1&a=2"} {
		send(t, http.MethodGet, address+"/v1/links?"+query, nil, nil)
		if got != query {
			t.Errorf("%q arrived as %q", query, got)
		}
	}
}

func TestAServiceThatIsAwayGivesAProblem(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	answer := send(t, http.MethodGet, inFront(t, gone.URL, nil)+"/v1/links", nil, nil)
	if p := problem(t, answer); answer.StatusCode != http.StatusServiceUnavailable || p.Code != "unavailable" || answer.Header.Get("Retry-After") != "1" {
		t.Errorf("nobody listens: %d %s", answer.StatusCode, p.Code)
	}

	broken := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	answer = send(t, http.MethodGet, inFront(t, broken, nil)+"/v1/links", nil, nil)
	if p := problem(t, answer); answer.StatusCode != http.StatusBadGateway || p.Code != "bad_gateway" {
		t.Errorf("connection broken off: %d %s", answer.StatusCode, p.Code)
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	service := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	front := inFront(t, service, nil)
	check := func(name string, body io.Reader, status int) {
		t.Helper()
		if got := send(t, http.MethodPost, front+"/v1/links", body, nil); got.StatusCode != status {
			t.Errorf("%s: %d, want %d", name, got.StatusCode, status)
		}
	}
	largest := bytes.Repeat([]byte("x"), MaxBodyBytes)
	check("largest", bytes.NewReader(largest), 204)
	check("announced", bytes.NewReader(append(largest, 'x')), 413)
	// A reader of unknown length is sent in chunks.
	check("in chunks", io.MultiReader(bytes.NewReader(largest), strings.NewReader("x")), 413)
	if got := send(t, http.MethodPost, front+"/v1/imports", bytes.NewReader(append(largest, 'x')), nil); got.StatusCode != http.StatusNoContent {
		t.Errorf("a file larger than other bodies: %d", got.StatusCode)
	}
}

// An event stream arrives piece by piece, and goes on for longer than a request may take
// to be read.
func TestAStreamOutlivesTheLimitOfReading(t *testing.T) {
	more := make(chan struct{})
	service := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := range 4 {
			if _, err := io.WriteString(w, "data: "+strconv.Itoa(n)+"\n\n"); err != nil {
				t.Error(err)
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			select {
			case <-more:
			case <-r.Context().Done():
				t.Errorf("the stream was cut after %d events", n+1)
				return
			}
		}
	})
	const limit = 100 * time.Millisecond
	front := inFront(t, service, func(server *httptest.Server) { server.Config.ReadTimeout = limit })
	answer := send(t, http.MethodGet, front+"/v1/links/live", nil, nil)
	lines := bufio.NewScanner(answer.Body)
	for n := range 4 {
		if !lines.Scan() || lines.Text() != "data: "+strconv.Itoa(n) || !lines.Scan() {
			t.Fatalf("event %d: %q, %v", n, lines.Text(), lines.Err())
		}
		<-time.After(2 * limit)
		more <- struct{}{}
	}
}
