package session

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/linkstream/linkstream/services/internal/rpc/accessv1"
)

func (s *linksService) ChangePassword(_ context.Context, r *accessv1.ChangePasswordRequest) (*accessv1.ChangePasswordResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.known(r.GetToken()):
		return nil, connect.NewError(connect.CodeUnauthenticated, "no such token")
	case len(r.GetNewPassword()) < 8:
		return nil, connect.NewError(connect.CodeInvalidArgument, "too short")
	case r.GetPassword() == r.GetNewPassword():
		return nil, connect.NewError(connect.CodeFailedPrecondition, "the same")
	case r.GetPassword() != password:
		return nil, connect.NewError(connect.CodePermissionDenied, "another password")
	}
	return &accessv1.ChangePasswordResponse{Token: s.move(s.at), ExpiresInSeconds: 1800}, nil
}

const change = "/session/password"

// Guards I100.
func TestTheSessionThatChangesThePasswordGoesOnUnderAnotherToken(t *testing.T) {
	w := newWorld(t, Settings{Secure: true})
	w.do(t, http.MethodPost, right, nil)
	words := `{"password":"` + password + `","new_password":"a better horse"}`
	answer := w.post(t, change, words, token, nil)
	text := read(t, answer)
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"workspace_id":"`+one.String()+`"`) || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("change: %d %s", answer.StatusCode, text)
	}
	cookies := answer.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("a change sets %d cookies", len(cookies))
	}
	c := cookies[0]
	if c.Value != token+"1" || c.MaxAge != 1800 || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || strings.Contains(text, token) {
		t.Errorf("cookie %s with %s", c, text)
	}
	if answer = w.post(t, change, words, token, nil); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the old token: %d", answer.StatusCode)
	}
	for _, secret := range []string{token, password, "a better horse"} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("a secret is in the log: %s", w.log)
		}
	}
}

// Guards I100.
func TestGuessesAtTheCurrentPasswordCountAsFailedLogins(t *testing.T) {
	guess, words := `{"password":"guess","new_password":"long enough"}`, `{"password":"`+password+`","new_password":"a better horse"}`
	w := newWorld(t, Settings{})
	w.do(t, http.MethodPost, right, nil)
	for i := range perAccount().Capacity {
		answer := w.post(t, change, guess, token, nil)
		if text := read(t, answer); answer.StatusCode != http.StatusForbidden || !strings.Contains(text, `"wrong_credentials"`) || !strings.Contains(text, `"field":"password"`) {
			t.Fatalf("guess %d: %d %s", i, answer.StatusCode, text)
		}
	}
	answer := w.post(t, change, words, token, nil)
	if text := read(t, answer); answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" || !strings.Contains(text, `"rate_limited"`) || len(answer.Cookies()) != 0 {
		t.Errorf("after the last guess: %d %s", answer.StatusCode, text)
	}
	// One limit for both: a log-in is refused too, and so is joining.
	if got := w.do(t, http.MethodPost, right, nil); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a login after the last guess: %d", got.StatusCode)
	}
	if got := w.post(t, "/session/join", `{"password":"guess","new_password":"long enough"}`, token, nil); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("joining after the last guess: %d", got.StatusCode)
	}

	// Failed log-ins count here, and what is no guess does not.
	w = newWorld(t, Settings{})
	w.do(t, http.MethodPost, right, nil)
	for range 2 * perAccount().Capacity {
		w.post(t, change, `{"password":"guess","new_password":"short"}`, token, nil)
		w.post(t, change, `{"password":"a long guess","new_password":"a long guess"}`, token, nil)
	}
	for range perAccount().Capacity - 1 {
		w.do(t, http.MethodPost, `{"email":"`+email+`","password":"guess"}`, nil)
	}
	if got := w.post(t, change, guess, token, nil); got.StatusCode != http.StatusForbidden {
		t.Errorf("the last try: %d", got.StatusCode)
	}
	if got := w.post(t, change, words, token, nil); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("after the last try: %d", got.StatusCode)
	}
}
