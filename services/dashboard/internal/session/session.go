// Package session keeps a browser logged in: a token of the links service in a
// cookie that scripts cannot read.
//
// It promises that the token reaches neither the page nor a log, that a foreign
// page cannot act with it, and that passwords cannot be guessed at speed. It
// refuses to know users: the links service does.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/services/dashboard/internal/attempt"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// CookieName is the name of the cookie that holds the session's token.
const CookieName = "ls_session"

// maxLoginBytes bounds the body of a login: an email and a password.
const maxLoginBytes = 8 << 10

// Limits of failed logins. An address may be a whole office behind one router, an
// account is one person: guesses from an address are slowed to fewer than 9,000 a
// day, guesses at an account to fewer than 3,000. Whoever uses up an account's tries
// keeps its owner out too: the same limit for both, until there is a better one.
const (
	addressBurst    = 30
	addressInterval = 10 * time.Second
	accountBurst    = 10
	accountInterval = 30 * time.Second
	subjects        = 10_000
)

// accounts is what the links service knows about sessions; access.Client is one.
type accounts interface {
	Authenticate(ctx context.Context, token string) (*access.Identity, error)
	LogIn(ctx context.Context, email, password string) (string, time.Duration, error)
	LogOut(ctx context.Context, token string) error
}

// limiter counts tries of a subject; attempt.Limiter is one, of this process alone.
type limiter interface {
	// Take uses up one try, or says how long to wait for the next, and false.
	Take(subject string, now time.Time) (time.Duration, bool)
	// Return gives a try back that turned out not to be in vain.
	Return(subject string, now time.Time)
}

// Settings say where the dashboard stands.
type Settings struct {
	// Secure is false only where the dashboard is served over plain HTTP.
	Secure bool
	// TrustedProxies may say in X-Forwarded-For whose request they forward.
	TrustedProxies []netip.Prefix
}

// Handler answers /session and lets requests with its cookie pass as if they had
// brought the token themselves.
type Handler struct {
	accounts  accounts
	settings  Settings
	foreign   *http.CrossOriginProtection
	addresses limiter
	emails    limiter
	log       *slog.Logger
}

// New returns a handler that asks the given accounts.
func New(accounts accounts, settings Settings, log *slog.Logger) *Handler {
	return &Handler{
		accounts:  accounts,
		settings:  settings,
		foreign:   http.NewCrossOriginProtection(),
		addresses: attempt.NewLimiter(addressBurst, addressInterval, subjects),
		emails:    attempt.NewLimiter(accountBurst, accountInterval, subjects),
		log:       log,
	}
}

// who is the answer to "who is logged in here?".
type who struct {
	Email       string `json:"email"`
	WorkspaceID string `json:"workspace_id"`
}

// ServeHTTP answers GET (who is logged in), POST (log in) and DELETE (log out).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if h.foreign.Check(r) != nil {
		httpapi.Write(r.Context(), w, crossOrigin())
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.who(w, r)
	case http.MethodPost:
		h.logIn(w, r)
	case http.MethodDelete:
		h.logOut(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		httpapi.Write(r.Context(), w, httpapi.NewProblem(http.StatusMethodNotAllowed, "method_not_allowed", "This address takes GET, POST, DELETE."))
	}
}

func (h *Handler) who(w http.ResponseWriter, r *http.Request) {
	token, ok := tokenOf(r)
	if !ok {
		httpapi.Write(r.Context(), w, unauthenticated())
		return
	}
	id, err := h.accounts.Authenticate(r.Context(), token)
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		h.forget(w)
		httpapi.Write(r.Context(), w, unauthenticated())
	case err != nil:
		h.unavailable(w, r, err)
	default:
		answer(w, who{Email: id.Email, WorkspaceID: id.WorkspaceID.String()})
	}
}

// logIn starts a session. Both limits count before the password is compared, and
// only failures stay counted.
func (h *Handler) logIn(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if !isJSON(r) {
		httpapi.Write(ctx, w, notJSON())
		return
	}
	var form struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLoginBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&form); err != nil {
		httpapi.Write(ctx, w, httpapi.NewProblem(http.StatusBadRequest, "malformed", "Send {\"email\": ..., \"password\": ...}."))
		return
	}
	form.Email = strings.TrimSpace(form.Email)
	if p := incomplete(form.Email, form.Password); p != nil {
		httpapi.Write(ctx, w, p)
		return
	}

	address, email, now := subject(r, h.settings.TrustedProxies), strings.ToLower(form.Email), time.Now()
	if wait, ok := h.addresses.Take(address, now); !ok {
		tooMany(ctx, w, wait)
		return
	}
	if wait, ok := h.emails.Take(email, now); !ok {
		tooMany(ctx, w, wait)
		return
	}
	token, lifetime, err := h.accounts.LogIn(ctx, form.Email, form.Password)
	if errors.Is(err, access.ErrUnauthenticated) {
		httpapi.Write(ctx, w, httpapi.NewProblem(http.StatusUnauthorized, "wrong_credentials", "Email and password do not match."))
		return
	}
	h.addresses.Return(address, now)
	h.emails.Return(email, now)
	if err != nil {
		h.unavailable(w, r, err)
		return
	}
	id, err := h.accounts.Authenticate(ctx, token)
	if err != nil {
		h.unavailable(w, r, err)
		return
	}
	http.SetCookie(w, h.cookie(token, int(lifetime/time.Second)))
	answer(w, who{Email: id.Email, WorkspaceID: id.WorkspaceID.String()})
}

// logOut ends the session. The cookie stays when the session could not be ended:
// a browser that forgets a live token only looks logged out.
func (h *Handler) logOut(w http.ResponseWriter, r *http.Request) {
	if token, ok := tokenOf(r); ok {
		if err := h.accounts.LogOut(r.Context(), token); err != nil && !errors.Is(err, access.ErrUnauthenticated) {
			h.unavailable(w, r, err)
			return
		}
	}
	h.forget(w)
	w.WriteHeader(http.StatusNoContent)
}

func (h *Handler) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name:     CookieName,
		Value:    value,
		Path:     "/",
		MaxAge:   maxAge,
		Secure:   h.settings.Secure,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}

func (h *Handler) forget(w http.ResponseWriter) { http.SetCookie(w, h.cookie("", -1)) }

func (h *Handler) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	h.log.ErrorContext(r.Context(), "session not checked", "request_id", httpapi.RequestID(r.Context()), "err", err)
	w.Header().Set("Retry-After", "1")
	httpapi.Write(r.Context(), w, httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "Logging in is not possible right now."))
}

func tokenOf(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(CookieName)
	if err != nil || cookie.Value == "" {
		return "", false
	}
	return cookie.Value, true
}

func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}

func answer(w http.ResponseWriter, v who) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nobody to tell
}

func incomplete(email, password string) *httpapi.Problem {
	var missing []httpapi.FieldError
	if email == "" {
		missing = append(missing, httpapi.FieldError{Field: "email", Code: "required", Detail: "is required"})
	}
	if password == "" {
		missing = append(missing, httpapi.FieldError{Field: "password", Code: "required", Detail: "is required"})
	}
	if missing == nil {
		return nil
	}
	return httpapi.Invalid(missing...)
}

func tooMany(ctx context.Context, w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	httpapi.Write(ctx, w, httpapi.NewProblem(http.StatusTooManyRequests, "rate_limited", "Too many failed logins. Wait a little, then try again."))
}

func unauthenticated() *httpapi.Problem {
	return httpapi.NewProblem(http.StatusUnauthorized, "unauthenticated", "Nobody is logged in here.")
}

func crossOrigin() *httpapi.Problem {
	return httpapi.NewProblem(http.StatusForbidden, "cross_origin", "A page of another origin may not do this.")
}

func notJSON() *httpapi.Problem {
	return httpapi.NewProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "Send the body as application/json.")
}
