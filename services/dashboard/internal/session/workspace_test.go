package session

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
)

// What the one user is a member of, and what not.
var (
	one     = uuid.MustParse("01a22bda-e2d3-7cc9-836b-3e71dca00e01")
	two     = uuid.MustParse("01a22bda-e2d3-7cc9-836b-3e71dca00e02")
	foreign = uuid.MustParse("01a22bda-e2d3-7cc9-836b-3e71dca00e03")
)

const handedOver = "handed over"

// known says whether a token is the session's. The caller holds the lock.
func (s *linksService) known(given string) bool { return s.live && given == s.token() }

func (s *linksService) token() string {
	if s.moves == 0 {
		return token
	}
	return token + strconv.Itoa(s.moves)
}

func (s *linksService) move(to uuid.UUID) string {
	s.at = to
	s.moves++
	return s.token()
}

func (s *linksService) ListWorkspaces(_ context.Context, r *accessv1.ListWorkspacesRequest) (*accessv1.ListWorkspacesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known(r.GetToken()) {
		return nil, connect.NewError(connect.CodeUnauthenticated, "no such token")
	}
	return &accessv1.ListWorkspacesResponse{Workspaces: []*accessv1.Workspace{
		{Id: one[:], Name: "One", Role: "owner"}, {Id: two[:], Name: "Two", Role: "viewer"},
	}}, nil
}

func (s *linksService) SwitchWorkspace(_ context.Context, r *accessv1.SwitchWorkspaceRequest) (*accessv1.SwitchWorkspaceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := uuid.UUID(r.GetWorkspaceId())
	switch {
	case !s.known(r.GetToken()):
		return nil, connect.NewError(connect.CodeUnauthenticated, "no such token")
	case to != one && to != two:
		return nil, connect.NewError(connect.CodeNotFound, "no such workspace")
	}
	return &accessv1.SwitchWorkspaceResponse{Token: s.move(to), ExpiresInSeconds: 1800}, nil
}

func (s *linksService) JoinWorkspaces(_ context.Context, r *accessv1.JoinWorkspacesRequest) (*accessv1.JoinWorkspacesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.known(r.GetToken()):
		return nil, connect.NewError(connect.CodeUnauthenticated, "no such token")
	case len(r.GetNewPassword()) < 8:
		return nil, connect.NewError(connect.CodeInvalidArgument, "too short")
	case r.GetPassword() != handedOver:
		return nil, connect.NewError(connect.CodePermissionDenied, "no other account")
	}
	return &accessv1.JoinWorkspacesResponse{Token: s.move(two), ExpiresInSeconds: 1800}, nil
}

// post sends a change of the session with a token in the cookie.
func (w *world) post(t *testing.T, path, body, given string, header map[string]string) *http.Response {
	t.Helper()
	all := map[string]string{"Sec-Fetch-Site": "same-origin"}
	if given != "" {
		all["Cookie"] = CookieName + "=" + given
	}
	maps.Copy(all, header)
	mux := http.NewServeMux()
	mux.HandleFunc("/session/workspace", w.handler.Switch)
	mux.HandleFunc("/session/join", w.handler.Join)
	mux.HandleFunc("/session/password", w.handler.Password)
	return do(t, mux, http.MethodPost, path, body, all)
}

// Guards I94.
func TestASwitchMovesTheSessionUnderAnotherToken(t *testing.T) {
	w := newWorld(t, Settings{Secure: true})
	if got := read(t, w.do(t, http.MethodPost, right, nil)); !strings.Contains(got, `"workspace_id":"`+one.String()+`","workspaces":[{"id":"`+one.String()+`","name":"One","role":"owner"},{`) {
		t.Fatalf("login: %s", got)
	}
	to := `{"workspace_id":"` + two.String() + `"}`
	answer := w.post(t, "/session/workspace", to, token, nil)
	text := read(t, answer)
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"workspace_id":"`+two.String()+`"`) || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("switch: %d %s", answer.StatusCode, text)
	}
	cookies := answer.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("a switch sets %d cookies", len(cookies))
	}
	c := cookies[0]
	if c.Name != CookieName || c.Value != token+"1" || c.MaxAge != 1800 || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || strings.Contains(text, token) {
		t.Errorf("cookie %s with %s", c, text)
	}
	// The old token is over; who brings it loses the cookie.
	answer = w.post(t, "/session/workspace", to, token, nil)
	if answer.StatusCode != http.StatusUnauthorized || len(answer.Cookies()) != 1 || answer.Cookies()[0].MaxAge >= 0 {
		t.Errorf("the old token: %d %v", answer.StatusCode, answer.Cookies())
	}
	if strings.Contains(w.log.String(), token) {
		t.Errorf("the token is in the log: %s", w.log)
	}
}

func TestChangesOfASessionThatAreRefused(t *testing.T) {
	w := newWorld(t, Settings{})
	w.do(t, http.MethodPost, right, nil)
	check := func(name, path, body, given string, header map[string]string, status int, want string) {
		t.Helper()
		answer := w.post(t, path, body, given, header)
		if text := read(t, answer); answer.StatusCode != status || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s; want %d with %s", name, answer.StatusCode, text, status, want)
		}
		if len(answer.Cookies()) != 0 && status != http.StatusUnauthorized {
			t.Errorf("%s: sets a cookie", name)
		}
	}
	const move, join = "/session/workspace", "/session/join"
	to := `{"workspace_id":"` + two.String() + `"}`
	words := `{"password":"` + handedOver + `","new_password":"long enough"}`
	check("no member", move, `{"workspace_id":"`+foreign.String()+`"}`, token, nil, 404, `"not_found"`)
	check("no id", move, `{"workspace_id":"mine"}`, token, nil, 404, `"not_found"`)
	check("guess", join, `{"password":"guess","new_password":"long enough"}`, token, nil, 403, `"wrong_credentials"`)
	check("weak", join, `{"password":"handed over","new_password":"short"}`, token, nil, 422, `"field":"new_password"`)
	check("nothing typed", join, `{"password":"","new_password":""}`, token, nil, 422, `"field":"password"`)
	check("own guess", change, `{"password":"guess","new_password":"long enough"}`, token, nil, 403, `"errors":[{"field":"password"`)
	check("own weak", change, `{"password":"`+password+`","new_password":"short"}`, token, nil, 422, `8 to 1,024 bytes`)
	check("own again", change, `{"password":"`+password+`","new_password":"`+password+`"}`, token, nil, 422, `this is your current password`)
	check("own without a new one", change, `{"password":"`+password+`","new_password":""}`, token, nil, 422, `"field":"new_password"`)
	for path, body := range map[string]string{move: to, join: words, change: words} {
		check("nobody", path, body, "", nil, 401, `"unauthenticated"`)
		check("who is over", path, body, "ls_ses_other", nil, 401, `"unauthenticated"`)
		check("foreign page", path, body, token, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, `"cross_origin"`)
		check("foreign page, old browser", path, body, token, map[string]string{"Sec-Fetch-Site": "", "Origin": "https://evil.test"}, 403, `"cross_origin"`)
		check("form", path, "a=b", token, map[string]string{"Content-Type": "text/plain"}, 415, `"unsupported_media_type"`)
		check("broken", path, `{`, token, nil, 400, `"malformed"`)
		check("unknown field", path, `{"role":"owner"}`, token, nil, 400, `"malformed"`)
	}
	for _, handler := range []http.HandlerFunc{w.handler.Switch, w.handler.Join, w.handler.Password} {
		if got := do(t, handler, http.MethodPut, move, to, nil); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "POST" {
			t.Errorf("PUT gives %d", got.StatusCode)
		}
	}
	w.service.Close()
	check("links away", move, to, token, nil, 503, `"unavailable"`)
	check("links away, password", change, words, token, nil, 503, `"unavailable"`)
}

func TestGuessesOfWhoIsLoggedInCountAsFailedLogins(t *testing.T) {
	w := newWorld(t, Settings{})
	w.do(t, http.MethodPost, right, nil)
	for i := range perAccount().Capacity {
		if got := w.post(t, "/session/join", `{"password":"guess","new_password":"long enough"}`, token, nil); got.StatusCode != http.StatusForbidden {
			t.Fatalf("guess %d: %d", i, got.StatusCode)
		}
	}
	words := `{"password":"` + handedOver + `","new_password":"long enough"}`
	if got := w.post(t, "/session/join", words, token, nil); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("after the last guess: %d", got.StatusCode)
	}
	if got := w.do(t, http.MethodPost, right, nil); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a login after the last guess: %d", got.StatusCode)
	}
	// An unfit new password is no guess.
	w = newWorld(t, Settings{})
	w.do(t, http.MethodPost, right, nil)
	for range 2 * perAccount().Capacity {
		w.post(t, "/session/join", `{"password":"guess","new_password":"short"}`, token, nil)
	}
	answer := w.post(t, "/session/join", words, token, nil)
	if text := read(t, answer); answer.StatusCode != http.StatusOK || !strings.Contains(text, `"workspace_id":"`+two.String()+`"`) || len(answer.Cookies()) != 1 || answer.Cookies()[0].Value != token+"1" {
		t.Errorf("join: %d %s", answer.StatusCode, text)
	}
}
