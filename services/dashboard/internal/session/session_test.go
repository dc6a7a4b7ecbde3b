package session

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
	"github.com/linkstream/linkstream/services/internal/rpc/accessv1/accessv1connect"
)

const (
	email    = "ada@example.test"
	password = "correct horse"
	token    = "ls_ses_secret"
)

// linksService answers the RPC as the links service does, for one user with one session.
type linksService struct {
	mu   sync.Mutex
	live bool
	// at is the session's workspace; moves counts its changes, each of which makes a token.
	at    uuid.UUID
	moves int
}

func (s *linksService) LogIn(_ context.Context, r *accessv1.LogInRequest) (*accessv1.LogInResponse, error) {
	if !strings.EqualFold(r.GetEmail(), email) || r.GetPassword() != password {
		return nil, connect.NewError(connect.CodeUnauthenticated, "email and password do not match")
	}
	s.set(true)
	return &accessv1.LogInResponse{Token: token, ExpiresInSeconds: 3600}, nil
}

func (s *linksService) LogOut(context.Context, *accessv1.LogOutRequest) (*accessv1.LogOutResponse, error) {
	s.set(false)
	return &accessv1.LogOutResponse{}, nil
}

func (s *linksService) Authenticate(_ context.Context, r *accessv1.AuthenticateRequest) (*accessv1.AuthenticateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known(r.GetToken()) {
		return nil, connect.NewError(connect.CodeUnauthenticated, "no such token")
	}
	return &accessv1.AuthenticateResponse{WorkspaceId: s.at[:], SubjectId: s.at[:], Email: email, Scopes: []string{"admin"}}, nil
}

func (s *linksService) set(live bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live, s.at, s.moves = live, one, 0
}

type world struct {
	handler *Handler
	service *httptest.Server
	log     *strings.Builder
}

func newWorld(t *testing.T, settings Settings) *world {
	t.Helper()
	server := connect.NewServer()
	accessv1connect.RegisterAccessServiceHandler(server, &linksService{at: one})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	service := httptest.NewServer(mux)
	t.Cleanup(service.Close)
	log := &strings.Builder{}
	logger := slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	limiter := ratelimit.New(nil, 0, prometheus.NewRegistry(), logger)
	return &world{handler: New(access.NewClient(service.URL), limiter, settings, logger), service: service, log: log}
}

func (w *world) do(t *testing.T, method, body string, header map[string]string) *http.Response {
	t.Helper()
	return do(t, w.handler, method, "/session", body, header)
}

func do(t *testing.T, h http.Handler, method, path, body string, header map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func read(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const right = `{"email":" Ada@example.test ","password":"correct horse"}`

func TestLogInWhoLogOut(t *testing.T) {
	w := newWorld(t, Settings{Secure: true})
	answer := w.do(t, http.MethodPost, right, nil)
	text := read(t, answer)
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"email":"`+email+`"`) {
		t.Fatalf("login: %d %s", answer.StatusCode, text)
	}
	cookies := answer.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("login sets %d cookies", len(cookies))
	}
	c := cookies[0]
	if c.Name != CookieName || c.Value != token || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode ||
		c.Path != "/" || c.MaxAge != 3600 || c.Domain != "" {
		t.Errorf("cookie: %s", c)
	}
	if strings.Contains(text, token) {
		t.Error("the token is in the body, where scripts can read it")
	}

	cookie := map[string]string{"Cookie": CookieName + "=" + token}
	if got := w.do(t, http.MethodGet, "", cookie); got.StatusCode != http.StatusOK || !strings.Contains(read(t, got), email) {
		t.Errorf("who: %d", got.StatusCode)
	}
	out := w.do(t, http.MethodDelete, "", cookie)
	if out.StatusCode != http.StatusNoContent || len(out.Cookies()) != 1 || out.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d %v", out.StatusCode, out.Cookies())
	}
	if got := w.do(t, http.MethodGet, "", cookie); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("who after logout: %d, want 401", got.StatusCode)
	}
	if got := w.do(t, http.MethodGet, "", nil); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("who without a cookie: %d, want 401", got.StatusCode)
	}
	if strings.Contains(w.log.String(), token) || strings.Contains(w.log.String(), password) {
		t.Errorf("a secret is in the log: %s", w.log)
	}
}

func TestCookieIsPlainWhereTheSettingSaysSo(t *testing.T) {
	w := newWorld(t, Settings{Secure: false})
	if c := w.do(t, http.MethodPost, right, nil).Cookies(); len(c) != 1 || c[0].Secure {
		t.Errorf("cookies: %v", c)
	}
}

func TestBadLoginsAreRefused(t *testing.T) {
	w := newWorld(t, Settings{})
	check := func(name, method, body string, header map[string]string, status int, want string) {
		t.Helper()
		answer := w.do(t, method, body, header)
		text := read(t, answer)
		if answer.StatusCode != status || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s; want %d with %s", name, answer.StatusCode, text, status, want)
		}
		if len(answer.Cookies()) != 0 {
			t.Errorf("%s: sets a cookie", name)
		}
		if answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: may be cached", name)
		}
	}
	post := http.MethodPost
	check("wrong password", post, `{"email":"ada@example.test","password":"x"}`, nil, 401, `"wrong_credentials"`)
	check("unknown user", post, `{"email":"eve@example.test","password":"x"}`, nil, 401, `"wrong_credentials"`)
	check("nothing typed", post, `{"email":"  ","password":""}`, nil, 422, `"field":"email"`)
	check("not JSON", post, `email=a`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, `"unsupported_media_type"`)
	check("broken JSON", post, `{"email":`, nil, 400, `"malformed"`)
	check("unknown field", post, `{"email":"a","password":"b","admin":true}`, nil, 400, `"malformed"`)
	check("huge", post, `{"email":"`+strings.Repeat("a", 9<<10)+`"}`, nil, 400, `"malformed"`)
	check("foreign page", post, right, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, `"cross_origin"`)
	check("foreign page, old browser", post, right, map[string]string{"Origin": "https://evil.test"}, 403, `"cross_origin"`)
	check("other method", http.MethodPut, right, nil, 405, `"method_not_allowed"`)

	w.service.Close()
	check("links away", post, right, nil, 503, `"unavailable"`)
	check("links away, who", http.MethodGet, "", map[string]string{"Cookie": CookieName + "=" + token}, 503, `"unavailable"`)
	// A live token must not be forgotten by the browser only.
	check("links away, log out", http.MethodDelete, "", map[string]string{"Cookie": CookieName + "=" + token}, 503, `"unavailable"`)
}

func TestGuessingIsSlowedDown(t *testing.T) {
	w := newWorld(t, Settings{})
	accountBurst, addressBurst := perAccount().Capacity, perAddress().Capacity
	for i := range accountBurst {
		if got := w.do(t, http.MethodPost, `{"email":"ada@example.test","password":"guess"}`, nil); got.StatusCode != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d", i, got.StatusCode)
		}
	}
	// Case does not make another account of it, and the right password comes too late.
	got := w.do(t, http.MethodPost, right, nil)
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" || !strings.Contains(read(t, got), `"rate_limited"`) {
		t.Fatalf("after %d guesses: %d, Retry-After %q", accountBurst, got.StatusCode, got.Header.Get("Retry-After"))
	}
	// Other accounts share only the address's limit.
	for i := accountBurst + 1; i < addressBurst; i++ {
		w.do(t, http.MethodPost, `{"email":"`+strings.Repeat("x", int(i))+`","password":"guess"}`, nil)
	}
	if got := w.do(t, http.MethodPost, `{"email":"fresh","password":"guess"}`, nil); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("after %d guesses of one address: %d", addressBurst, got.StatusCode)
	}
}

func TestSuccessfulLoginsAreNotLimited(t *testing.T) {
	w := newWorld(t, Settings{})
	for i := range 3 * perAccount().Capacity {
		if got := w.do(t, http.MethodPost, right, nil); got.StatusCode != http.StatusOK {
			t.Fatalf("login %d: %d", i, got.StatusCode)
		}
	}
}

func TestCookieBecomesABearer(t *testing.T) {
	w := newWorld(t, Settings{})
	var got http.Header
	api := w.handler.Bearer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusNoContent)
	}))
	check := func(name, method, body string, header map[string]string, status int, authorization string) {
		t.Helper()
		got = nil
		answer := do(t, api, method, "/v1/links", body, header)
		if answer.StatusCode != status || got.Get("Authorization") != authorization {
			t.Errorf("%s: %d with %q, want %d with %q", name, answer.StatusCode, got.Get("Authorization"), status, authorization)
		}
	}
	const get, post, remove, patch = http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPatch
	cookie := CookieName + "=" + token
	type h = map[string]string
	check("nobody", get, "", nil, 204, "")
	check("key", get, "", h{"Authorization": "Bearer ls_key_1"}, 204, "Bearer ls_key_1")
	check("cookie", get, "", h{"Cookie": cookie}, 204, "Bearer "+token)
	check("both", get, "", h{"Cookie": cookie, "Authorization": "Bearer ls_key_1"}, 204, "Bearer ls_key_1")
	check("empty cookie", get, "", h{"Cookie": CookieName + "="}, 204, "")
	check("other cookie", get, "", h{"Cookie": "a=b"}, 204, "")
	check("own page", post, "{}", h{"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}, 204, "Bearer "+token)
	check("own page removes", remove, "", h{"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}, 204, "Bearer "+token)
	check("merge patch", patch, "{}", h{"Cookie": cookie, "Content-Type": "application/merge-patch+json"}, 204, "Bearer "+token)
	check("foreign page", post, "{}", h{"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}, 403, "")
	check("neighbour", post, "{}", h{"Cookie": cookie, "Sec-Fetch-Site": "same-site"}, 403, "")
	check("foreign page removes", remove, "", h{"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}, 403, "")
	check("old browser, foreign page", post, "{}", h{"Cookie": cookie, "Origin": "http://evil.test"}, 403, "")
	check("old browser, own page", post, "{}", h{"Cookie": cookie, "Origin": "http://example.com"}, 204, "Bearer "+token)
	check("form", post, "a=b", h{"Cookie": cookie, "Content-Type": "text/plain"}, 415, "")
	check("own page sends a file", post, "a,b", h{"Cookie": cookie, "Content-Type": "text/csv; charset=utf-8", "Sec-Fetch-Site": "same-origin"}, 204, "Bearer "+token)
	check("foreign page sends a file", post, "a,b", h{"Cookie": cookie, "Content-Type": "text/csv", "Sec-Fetch-Site": "cross-site"}, 403, "")
	check("form with a file", post, "a=b", h{"Cookie": cookie, "Content-Type": "multipart/form-data; boundary=a"}, 415, "")
	check("key from anywhere", post, "{}", h{"Authorization": "Bearer ls_key_1", "Sec-Fetch-Site": "cross-site"}, 204, "Bearer ls_key_1")
}

// Guesses are counted in one place for all processes, and where they cannot be counted
// there are none.
func TestGuessesCountOverTheFleet(t *testing.T) {
	redis := redistest.Start(t)
	links := newWorld(t, Settings{})
	var fleet []*Handler
	for range 2 {
		log := slog.New(slog.DiscardHandler)
		limiter := ratelimit.New(redis.Client(t), ratelimit.Timeout, prometheus.NewRegistry(), log)
		fleet = append(fleet, New(access.NewClient(links.service.URL), limiter, Settings{}, log))
	}
	for i := range perAccount().Capacity {
		if got := do(t, fleet[i%2], http.MethodPost, "/session", `{"email":"ada@example.test","password":"guess"}`, nil); got.StatusCode != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d", i, got.StatusCode)
		}
	}
	for i, h := range fleet {
		if got := do(t, h, http.MethodPost, "/session", right, nil); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("X-RateLimit-Remaining") != "0" {
			t.Errorf("process %d: %d", i, got.StatusCode)
		}
	}
	keys := redis.Client(t).Keys(t.Context(), "*").Val()
	if text := strings.Join(keys, " "); len(keys) != 2 || strings.Contains(text, "ada") {
		t.Errorf("Redis holds %s", text)
	}
	redis.Kill()
	got := do(t, fleet[0], http.MethodPost, "/session", `{"email":"bob@example.test","password":"x"}`, nil)
	if text := read(t, got); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") != "1" || !strings.Contains(text, "cannot be counted") {
		t.Errorf("without Redis: %d %s", got.StatusCode, text)
	}
}
