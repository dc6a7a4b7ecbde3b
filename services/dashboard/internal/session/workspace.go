package session

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// workspace is one that whoever is logged in is a member of.
type workspace struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"`
}

// Switch answers POST /session/workspace {"workspace_id": ...}: it moves the session to
// another workspace of its user. The cookie holds another token afterwards.
func (h *Handler) Switch(w http.ResponseWriter, r *http.Request) {
	var form struct {
		WorkspaceID string `json:"workspace_id"`
	}
	token, ok := h.change(w, r, &form, `{"workspace_id": ...}`)
	if !ok {
		return
	}
	id, err := uuid.Parse(form.WorkspaceID)
	if err != nil {
		httpapi.Write(r.Context(), w, noWorkspace())
		return
	}
	fresh, left, err := h.accounts.Switch(r.Context(), token, id)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	h.moved(w, r, fresh, left)
}

// Join answers POST /session/join {"password": ..., "new_password": ...}: it makes one
// account of the session's and of those that have its email and the password. Guesses
// count as failed logins do.
func (h *Handler) Join(w http.ResponseWriter, r *http.Request) {
	h.chooses(w, r, h.accounts.Join, func(err error) *httpapi.Problem {
		switch {
		case errors.Is(err, access.ErrWrongCredentials):
			return httpapi.NewProblem(http.StatusForbidden, "wrong_credentials", "No other workspace knows you by this password.")
		case errors.Is(err, access.ErrUnfitPassword):
			return unfit("a new password of 8 to 1,024 bytes is needed, another than the one that you were given")
		}
		return nil
	})
}

// change reads a request that changes the session, or answers why it may not.
func (h *Handler) change(w http.ResponseWriter, r *http.Request, into any, shape string) (token string, ok bool) {
	ctx := r.Context()
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case h.foreign.Check(r) != nil:
		httpapi.Write(ctx, w, crossOrigin())
		return "", false
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		httpapi.Write(ctx, w, httpapi.NewProblem(http.StatusMethodNotAllowed, "method_not_allowed", "This address takes POST."))
		return "", false
	case !isJSON(r):
		httpapi.Write(ctx, w, notJSON())
		return "", false
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLoginBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		httpapi.Write(ctx, w, httpapi.NewProblem(http.StatusBadRequest, "malformed", "Send "+shape+"."))
		return "", false
	}
	token, ok = tokenOf(r)
	if !ok {
		httpapi.Write(ctx, w, unauthenticated())
	}
	return token, ok
}

// moved answers with who is logged in now, under a session's new token.
func (h *Handler) moved(w http.ResponseWriter, r *http.Request, token string, left time.Duration) {
	// First the cookie: the old token is over, whatever goes wrong from here.
	http.SetCookie(w, h.cookie(token, max(1, int(left/time.Second))))
	h.tell(w, r, token)
}

// refuse answers why a session was not changed.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ctx := r.Context()
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		h.forget(w)
		httpapi.Write(ctx, w, unauthenticated())
	case errors.Is(err, access.ErrNotMember):
		httpapi.Write(ctx, w, noWorkspace())
	default:
		h.unavailable(w, r, err)
	}
}

func noWorkspace() *httpapi.Problem {
	return httpapi.NewProblem(http.StatusNotFound, "not_found", "There is no such workspace, or you are no member of it.")
}
