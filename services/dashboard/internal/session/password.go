package session

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
)

// Password answers POST /session/password {"password": ..., "new_password": ...}: it
// replaces the password of whoever is logged in and ends all their other sessions. Guesses
// at the current one count as failed logins do: a browser that was left open is no way
// to find it out.
func (h *Handler) Password(w http.ResponseWriter, r *http.Request) {
	h.chooses(w, r, h.accounts.ChangePassword, func(err error) *httpapi.Problem {
		switch {
		case errors.Is(err, access.ErrWrongCredentials):
			p := httpapi.NewProblem(http.StatusForbidden, "wrong_credentials", "This is not your current password.")
			p.Errors = []httpapi.FieldError{{Field: "password", Code: "invalid", Detail: "this is not your current password"}}
			return p
		case errors.Is(err, access.ErrUnfitPassword):
			return unfit("a new password of 8 to 1,024 bytes is needed")
		case errors.Is(err, access.ErrSamePassword):
			return unfit("this is your current password: choose another one")
		}
		return nil
	})
}

// chooses answers a request in which whoever is logged in gives a password that there is
// and chooses a new one. refusal is the answer to an error of choose's own, or nil.
func (h *Handler) chooses(w http.ResponseWriter, r *http.Request,
	choose func(ctx context.Context, token, password, fresh string) (string, time.Duration, error),
	refusal func(error) *httpapi.Problem,
) {
	ctx := r.Context()
	var form struct {
		Password    string `json:"password"`
		NewPassword string `json:"new_password"`
	}
	token, ok := h.change(w, r, &form, `{"password": ..., "new_password": ...}`)
	if !ok {
		return
	}
	if p := missing(field{"password", form.Password}, field{"new_password", form.NewPassword}); p != nil {
		httpapi.Write(ctx, w, p)
		return
	}
	id, err := h.accounts.Authenticate(ctx, token)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	address := httplimit.Address(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), h.settings.TrustedProxies)
	email := strings.ToLower(id.Email)
	if h.tooMany(w, r, h.addresses, address, perAddress()) || h.tooMany(w, r, h.emails, email, perAccount()) {
		return
	}
	fresh, left, err := choose(ctx, token, form.Password, form.NewPassword)
	if !errors.Is(err, access.ErrWrongCredentials) {
		h.giveBack(r, address, email)
	}
	if err != nil {
		if p := refusal(err); p != nil {
			httpapi.Write(ctx, w, p)
			return
		}
		h.refuse(w, r, err)
		return
	}
	h.moved(w, r, fresh, left)
}

func unfit(detail string) *httpapi.Problem {
	return httpapi.Invalid(httpapi.FieldError{Field: "new_password", Code: "invalid", Detail: detail})
}
