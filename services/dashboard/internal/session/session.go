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
	"mime"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
)

// CookieName is the name of the cookie that holds the session's token.
const CookieName = "ls_session"

// maxLoginBytes bounds the body of a login: an email and a password.
const maxLoginBytes = 8 << 10

// Limits of failed logins, of the whole fleet. An address may be a whole office behind
// one router, an account is one person: guesses from an address are slowed to fewer than
// 9,000 a day, guesses at an account to fewer than 3,000. Whoever uses up an account's
// tries keeps its owner out too: the same limit for both, until there is a better one.
func perAddress() ratelimit.Quota {
	return ratelimit.Quota{Capacity: 30, Tokens: 1, Period: 10 * time.Second}
}

func perAccount() ratelimit.Quota {
	return ratelimit.Quota{Capacity: 10, Tokens: 1, Period: 30 * time.Second}
}

// accounts is what the links service knows about sessions; access.Client is one.
type accounts interface {
	Authenticate(ctx context.Context, token string) (*access.Identity, error)
	LogIn(ctx context.Context, email, password string) (string, time.Duration, error)
	LogOut(ctx context.Context, token string) error
	Workspaces(ctx context.Context, token string) ([]access.Workspace, error)
	Switch(ctx context.Context, token string, workspace uuid.UUID) (string, time.Duration, error)
	Join(ctx context.Context, token, password, fresh string) (string, time.Duration, error)
	ChangePassword(ctx context.Context, token, password, fresh string) (string, time.Duration, error)
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
	addresses *ratelimit.Policy
	emails    *ratelimit.Policy
	log       *slog.Logger
}

// New returns a handler that asks the given accounts. While the limiter's Redis is away
// nobody logs in: what cannot be counted would be guessed.
func New(accounts accounts, limiter *ratelimit.Limiter, settings Settings, log *slog.Logger) *Handler {
	return &Handler{
		accounts:  accounts,
		settings:  settings,
		foreign:   http.NewCrossOriginProtection(),
		addresses: limiter.Policy(ratelimit.Logins, ratelimit.Closed),
		emails:    limiter.Policy(ratelimit.Accounts, ratelimit.Closed),
		log:       log,
	}
}

// who is the answer to "who is logged in here?".
type who struct {
	Email       string      `json:"email"`
	WorkspaceID string      `json:"workspace_id"`
	Workspaces  []workspace `json:"workspaces"`
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
	h.tell(w, r, token)
}

// tell answers with whose token it is.
func (h *Handler) tell(w http.ResponseWriter, r *http.Request, token string) {
	id, err := h.accounts.Authenticate(r.Context(), token)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	known, err := h.accounts.Workspaces(r.Context(), token)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	workspaces := make([]workspace, len(known))
	for i, w := range known {
		workspaces[i] = workspace{ID: w.ID.String(), Name: w.Name, Role: w.Role}
	}
	answer(w, who{Email: id.Email, WorkspaceID: id.WorkspaceID.String(), Workspaces: workspaces})
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
	if p := missing(field{"email", form.Email}, field{"password", form.Password}); p != nil {
		httpapi.Write(ctx, w, p)
		return
	}

	address := httplimit.Address(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), h.settings.TrustedProxies)
	email := strings.ToLower(form.Email)
	if h.tooMany(w, r, h.addresses, address, perAddress()) || h.tooMany(w, r, h.emails, email, perAccount()) {
		return
	}
	token, lifetime, err := h.accounts.LogIn(ctx, form.Email, form.Password)
	if errors.Is(err, access.ErrUnauthenticated) {
		httpapi.Write(ctx, w, httpapi.NewProblem(http.StatusUnauthorized, "wrong_credentials", "Email and password do not match."))
		return
	}
	h.giveBack(r, address, email)
	if err != nil {
		h.unavailable(w, r, err)
		return
	}
	h.moved(w, r, token, lifetime)
}

// giveBack uncounts a try that was no failure.
func (h *Handler) giveBack(r *http.Request, address, email string) {
	ctx := r.Context()
	if err := errors.Join(h.addresses.Return(ctx, address, perAddress(), 1), h.emails.Return(ctx, email, perAccount(), 1)); err != nil {
		h.log.ErrorContext(ctx, "tries not given back", "err", err)
	}
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

type field struct{ name, value string }

// missing is a problem that names the fields without a value, or nil.
func missing(fields ...field) *httpapi.Problem {
	var empty []httpapi.FieldError
	for _, f := range fields {
		if f.value == "" {
			empty = append(empty, httpapi.FieldError{Field: f.name, Code: "required", Detail: "is required"})
		}
	}
	if empty == nil {
		return nil
	}
	return httpapi.Invalid(empty...)
}

// tooMany takes one try of a subject, or answers that there is none.
func (h *Handler) tooMany(w http.ResponseWriter, r *http.Request, policy *ratelimit.Policy, subject string, q ratelimit.Quota) bool {
	ctx := r.Context()
	d, err := policy.Take(ctx, subject, q, 1)
	if err != nil {
		h.unavailable(w, r, err)
		return true
	}
	problem := httplimit.Answer(w, policy.Name(), q, d)
	if problem == nil {
		return false
	}
	if !d.Uncounted {
		problem.Detail = "Too many failed logins. Wait a little, then try again."
	}
	httpapi.Write(ctx, w, problem)
	return true
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
