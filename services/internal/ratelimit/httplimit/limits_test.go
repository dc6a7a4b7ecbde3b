package httplimit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

func TestMain(m *testing.M) { os.Exit(testproc.NoLeaks(m.Run())) }

// keys is the links service of these tests: its answers may change.
type keys map[string]*access.Identity

func (k keys) Authenticate(_ context.Context, token string) (*access.Identity, error) {
	if id, ok := k[token]; ok {
		return id, nil
	}
	return nil, access.ErrUnauthenticated
}

func identity(scope access.Scope, capacity int, refill float64) *access.Identity {
	return &access.Identity{
		WorkspaceID: uuid.Max, Subject: uuid.New(), Scopes: []access.Scope{scope},
		RateCapacity: capacity, RateRefillPerSecond: refill,
	}
}

func newKeys() keys {
	return keys{
		"plain":  identity(access.LinksWrite, 0, 0),
		"other":  identity(access.LinksWrite, 0, 0),
		"own":    identity(access.LinksWrite, 2, 1.0/420),
		"reader": identity(access.LinksRead, 0, 0),
		"broken": identity(access.LinksWrite, 5, -1),
	}
}

type bulk struct {
	Body struct {
		Rows int64 `json:"rows"`
	}
}

// serve is an API with one operation that costs its rows. A key without a limit of its
// own has 5 calls and one more a minute, an address 3.
func serve(t *testing.T, limiter *ratelimit.Limiter, k keys) http.Handler {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	limits := httplimit.New(limiter,
		ratelimit.Quota{Capacity: 5, Tokens: 1, Period: time.Minute}, ratelimit.Quota{Capacity: 3, Tokens: 1, Period: time.Minute},
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, log)
	mux := http.NewServeMux()
	api := httpapi.New(mux, "test", "v1", k, log, httpapi.Limited(limits))
	huma.Register(api, huma.Operation{
		OperationID: "bulk", Method: http.MethodPost, Path: "/v1/bulk", Security: httpapi.Needs(access.LinksWrite), Errors: []int{401},
	}, func(ctx context.Context, in *bulk) (*struct{}, error) {
		return nil, httplimit.Take(ctx, in.Body.Rows-1)
	})
	huma.Register(api, huma.Operation{
		OperationID: "strict", Method: http.MethodPost, Path: "/v1/strict", Security: httpapi.Needs(access.LinksWrite), Metadata: httplimit.Strict(),
	}, func(context.Context, *bulk) (*struct{}, error) { return nil, nil })
	return httpapi.Middleware(mux, prometheus.NewRegistry(), log)
}

type answer struct {
	status  int
	header  http.Header
	problem httpapi.Problem
}

func post(t *testing.T, h http.Handler, token, peer, forwarded string, rows int) answer {
	t.Helper()
	return postTo(t, h, "/v1/bulk", token, peer, forwarded, rows)
}

func postTo(t *testing.T, h http.Handler, path, token, peer, forwarded string, rows int) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(fmt.Sprintf(`{"rows": %d}`, rows)))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if forwarded != "" {
		r.Header.Set("X-Forwarded-For", forwarded)
	}
	r.RemoteAddr = peer + ":4711"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header()}
	if w.Code >= http.StatusBadRequest {
		if err := json.Unmarshal(w.Body.Bytes(), &a.problem); err != nil || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %s (%s): %v", w.Code, w.Body, w.Header().Get("Content-Type"), err)
		}
		if a.problem.RequestID == "" || a.problem.RequestID != w.Header().Get("X-Request-Id") {
			t.Errorf("request id %q in the body, %q in the header", a.problem.RequestID, w.Header().Get("X-Request-Id"))
		}
	}
	return a
}

// fields are the headers of a limited answer, in one line. Seconds are rounded up to
// minutes: the quotas of these tests give nothing back in less, and a slow machine may
// take a while between two calls.
func (a answer) fields() string {
	minutes := func(seconds string) string {
		n, err := strconv.Atoi(seconds)
		if err != nil {
			return seconds
		}
		return strconv.Itoa((n + 59) / 60 * 60)
	}
	h := a.header
	rest, reset, _ := strings.Cut(h.Get("RateLimit"), ";t=")
	return strings.Join([]string{
		h.Get("X-RateLimit-Limit"), h.Get("X-RateLimit-Remaining"), minutes(h.Get("X-RateLimit-Reset")),
		rest + ";t=" + minutes(reset), h.Get("RateLimit-Policy"), minutes(h.Get("Retry-After")),
	}, " ")
}

const peer = "192.0.2.1"

func newLimiter(t *testing.T, server *redistest.Server) *ratelimit.Limiter {
	t.Helper()
	return ratelimit.New(server.Client(t), 20*time.Second, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func TestEveryLimitedAnswerSaysWhatIsLeft(t *testing.T) {
	h := serve(t, newLimiter(t, redistest.Start(t)), newKeys())
	check := func(name, token string, rows, status int, code, fields string) {
		t.Helper()
		a := post(t, h, token, peer, "", rows)
		if a.status != status || a.problem.Code != code || a.fields() != fields {
			t.Errorf("%s: %d %s %s\n%s, want %d %s\n%s", name, a.status, a.problem.Code, a.problem.Detail, a.fields(), status, code, fields)
		}
	}
	check("a call", "plain", 1, 204, "", `5 4 60 "key";r=4;t=60 "key";q=5;w=300 `)
	check("costs its rows", "plain", 3, 204, "", `5 1 240 "key";r=1;t=240 "key";q=5;w=300 `)
	check("rows that are not there any more", "plain", 2, 429, "rate_limited", `5 0 300 "key";r=0;t=300 "key";q=5;w=300 60`)
	check("nothing left", "plain", 1, 429, "rate_limited", `5 0 300 "key";r=0;t=300 "key";q=5;w=300 60`)
	check("another key", "other", 5, 204, "", `5 0 300 "key";r=0;t=300 "key";q=5;w=300 `)
	check("a quota of its own, a fraction", "own", 1, 204, "", `2 1 420 "key";r=1;t=420 "key";q=2;w=840 `)
	check("more rows than it may ever have", "own", 3, 422, "over_capacity", `2 0 840 "key";r=0;t=840 "key";q=2;w=840 `)
	check("a lack of scope counts", "reader", 1, 403, "forbidden", `5 4 60 "key";r=4;t=60 "key";q=5;w=300 `)
	check("a limit that is none is the default", "broken", 1, 204, "", `5 4 60 "key";r=4;t=60 "key";q=5;w=300 `)
	check("no key", "", 1, 401, "unauthenticated", `3 2 60 "address";r=2;t=60 "address";q=3;w=180 `)
	check("a wrong key", "wrong", 1, 401, "unauthenticated", `3 1 120 "address";r=1;t=120 "address";q=3;w=180 `)
	check("again", "", 1, 401, "unauthenticated", `3 0 180 "address";r=0;t=180 "address";q=3;w=180 `)
	check("too often", "wrong", 1, 429, "rate_limited", `3 0 180 "address";r=0;t=180 "address";q=3;w=180 60`)
	check("a valid key from there", "reader", 1, 403, "forbidden", `5 3 120 "key";r=3;t=120 "key";q=5;w=300 `)
}

func TestAKeysQuotaMayChangeWithoutARestart(t *testing.T) {
	k := newKeys()
	h := serve(t, newLimiter(t, redistest.Start(t)), k)
	check := func(limit string, status int) {
		t.Helper()
		if a := post(t, h, "own", peer, "", 1); a.status != status || a.header.Get("X-RateLimit-Limit") != limit {
			t.Errorf("%d with %s", a.status, a.fields())
		}
	}
	check("2", 204)
	check("2", 204)
	check("2", 429)
	own := *k["own"]
	own.RateCapacity, own.RateRefillPerSecond = 10, 1_000_000
	k["own"] = &own
	check("10", 429) // what is left stays, and time counts at the new rate from here on
	for a := post(t, h, "own", peer, "", 1); a.status != 204; a = post(t, h, "own", peer, "", 1) {
		if a.header.Get("Retry-After") != "1" {
			t.Fatalf("%d with %s", a.status, a.fields())
		}
	}
}

func TestAddressesCountAsWhoTheyAre(t *testing.T) {
	h := serve(t, newLimiter(t, redistest.Start(t)), newKeys())
	use := func(peer, forwarded, left string) {
		t.Helper()
		if a := post(t, h, "", peer, forwarded, 1); a.header.Get("X-RateLimit-Remaining") != left {
			t.Errorf("%s for %q has %s left, want %s", peer, forwarded, a.header.Get("X-RateLimit-Remaining"), left)
		}
	}
	use("192.0.2.1", "", "2")
	use("192.0.2.1", "192.0.2.99", "1")                // not a trusted proxy: believed is the peer
	use("10.0.0.1", "203.0.113.7, 192.0.2.1", "0")     // through a trusted one
	use("10.0.0.1", "192.0.2.2, 10.0.0.2", "2")        // through two
	use("10.0.0.1", "192.0.2.3, nonsense", "2")        // the proxy itself: nothing else is known
	use("[2001:db8::1]", "", "2")                      // a /64 is one
	use("[2001:db8::2]", "", "1")                      //
	use("10.0.0.1", "2001:db8::3", "0")                //
	use("[::ffff:192.0.2.2]", "", "1")                 // the same by another name
	use("10.0.0.1", "::ffff:192.0.2.2, 10.1.1.1", "0") //
}

// Guards I43.
func TestTheAPIGoesOnWithoutRedis(t *testing.T) {
	server := redistest.Start(t)
	h := serve(t, ratelimit.New(server.Client(t), ratelimit.Timeout, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(t.Output(), nil))), newKeys())
	if a := postTo(t, h, "/v1/strict", "plain", peer, "", 1); a.status != 204 || a.header.Get("X-RateLimit-Remaining") != "4" {
		t.Errorf("with Redis: %d, %s", a.status, a.fields())
	}
	server.Kill()
	if a := postTo(t, h, "/v1/strict", "plain", peer, "", 1); a.status != 429 || a.problem.Code != "rate_limited" {
		t.Errorf("without Redis: %d, %s", a.status, a.fields())
	}
	for i := range 7 {
		want := 204
		if i >= 5 {
			want = 429
		}
		if a := post(t, h, "plain", peer, "", 1); a.status != want || a.header.Get("X-RateLimit-Limit") != "5" {
			t.Errorf("call %d: %d with %s", i, a.status, a.fields())
		}
	}
}

func TestAClosedPolicyThatCannotCountSaysSo(t *testing.T) {
	server := redistest.Start(t)
	limiter := ratelimit.New(server.Client(t), ratelimit.Timeout, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	server.Kill()
	q := ratelimit.Quota{Capacity: 5, Tokens: 1, Period: time.Second}
	d, err := limiter.Policy(ratelimit.Logins, ratelimit.Closed).Take(t.Context(), "a", q, 1)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p := httplimit.Answer(w, ratelimit.Logins, q, d)
	if p == nil || p.Status != http.StatusTooManyRequests || p.Code != "rate_limited" || !strings.Contains(p.Detail, "cannot be counted") || w.Header().Get("Retry-After") != "1" {
		t.Errorf("got %+v with %v", p, w.Header())
	}
}

func TestTheDocumentSaysThatAnOperationIsLimited(t *testing.T) {
	mux := http.NewServeMux()
	api := httpapi.New(mux, "test", "v1", newKeys(), slog.New(slog.DiscardHandler))
	huma.Register(api, huma.Operation{
		OperationID: "bulk", Method: http.MethodPost, Path: "/v1/bulk", Security: httpapi.Needs(access.LinksWrite), Errors: []int{401},
	}, func(context.Context, *bulk) (*struct{}, error) { return nil, nil })
	responses := api.OpenAPI().Paths["/v1/bulk"].Post.Responses
	if responses["429"] == nil || responses["429"].Headers["Retry-After"] == nil || responses["401"].Headers != nil || responses["429"].Content["application/problem+json"] == nil {
		t.Errorf("429 is %+v", responses["429"])
	}
}

func TestMistakesInSettingsAreAllNamed(t *testing.T) {
	err := httplimit.Settings{RateLimitRedisURL: "http://user:secret@x", RateCapacity: -1, RateRefill: 1, RateAddressCapacity: 1, RateAddressRefill: 0}.CheckRateLimits()
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{"LINKSTREAM_RATELIMIT_REDIS_URL", "LINKSTREAM_RATE_CAPACITY", "LINKSTREAM_RATE_REFILL", "LINKSTREAM_RATE_ADDRESS_CAPACITY"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not in the message: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Error("the message quotes a password")
	}
	if err := (httplimit.Settings{RateCapacity: 1, RateRefill: 0.1, RateAddressCapacity: 1, RateAddressRefill: 1}).CheckRateLimits(); err != nil {
		t.Error(err)
	}
}
