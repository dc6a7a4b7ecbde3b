package deliver

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/outbound"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

// What an endpoint's owner reads says nothing of our network: no address, no resolver.
func TestFailuresAreToldInWordsOfOurOwn(t *testing.T) {
	policy := outbound.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
	broken := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "x", Server: "10.0.0.53:53", IsNotFound: true}
	}}
	patience := 20 * time.Second
	check := func(url string, resolver *net.Resolver, want string) {
		t.Helper()
		client := policy.Client(patience, resolver)
		defer client.CloseIdleConnections()
		got := send(t.Context(), client, &postgres.Delivery{URL: url, EventID: "evt_1", Payload: "{}", Secrets: []string{endpoint.NewSecret()}}, time.Now())
		if got.Status != 0 || got.Error != want || strings.Contains(got.Error, "10.0.0") {
			t.Errorf("%s: %d %q, want %q", url, got.Status, got.Error, want)
		}
	}
	serve := func(handler http.HandlerFunc) *httptest.Server {
		s := httptest.NewUnstartedServer(handler)
		s.Config.ErrorLog = nil
		return s
	}
	cuts := serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	cuts.Start()
	defer cuts.Close()
	hangs := serve(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // or nobody notices that the caller is gone
		<-r.Context().Done()
	})
	hangs.Start()
	defer hangs.Close()
	unknown := serve(func(http.ResponseWriter, *http.Request) {})
	unknown.StartTLS()
	defer unknown.Close()
	large := serve(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 100_000)) })
	large.Start()
	defer large.Close()

	check("https://10.0.0.1/", nil, "the name leads to an address that is not a public one")
	check("https://[::1]/", nil, "the name leads to an address that is not a public one")
	check("https://nowhere.test/", broken, "the name cannot be resolved")
	check("http://127.0.0.1:1/", nil, "the connection was refused")
	check(cuts.URL, nil, "the connection broke off")
	check(unknown.URL, nil, "the certificate is not valid")
	check(strings.Replace(cuts.URL, "http:", "https:", 1), nil, "it does not speak TLS")
	check(large.URL, nil, "the headers of the answer are too large")
	check("http://127.0.0.1:x/", nil, "the address cannot be read")
	patience = 300 * time.Millisecond
	check(hangs.URL, nil, "no answer in time")
}
