// Package httpapi is what the public API's services have in common: the OpenAPI
// set-up, problem+json errors, request ids, authentication by scope and the
// request metrics.
//
// It promises that every answer carries X-Request-Id, that every error is a
// Problem, and that an operation which names no scope in its Security does not
// exist: New refuses to serve one.
package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/linkstream/linkstream/services/internal/access"
)

// authTimeout bounds the question whose a token is: whoever has the answer has it
// in milliseconds, or hangs.
const authTimeout = 2 * time.Second

// scheme is the name of the one security scheme.
const scheme = "bearer"

// Authenticator says whose a token is; access.Client is one.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (*access.Identity, error)
}

// setHuma sets what huma lets us set in package variables only. They are the same
// for every API of a process, and set once, because other APIs may be in use.
//
//nolint:gochecknoglobals // a once is of no use inside a function
var setHuma = sync.OnceFunc(func() {
	huma.NewErrorWithContext = newError
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return newError(nil, status, message, errs...)
	}
	huma.ValidateStrictCasing = true // "Destination" is an unknown field, not destination
})

var errNotUTF8 = errors.New("the body is not valid UTF-8")

// jsonFormat is huma's, but refuses bytes that encoding/json would quietly replace
// by U+FFFD.
func jsonFormat() huma.Format {
	format := huma.DefaultJSONFormat
	format.Unmarshal = func(data []byte, v any) error {
		if !utf8.Valid(data) {
			return errNotUTF8
		}
		return json.Unmarshal(data, v)
	}
	return format
}

// New returns an API on mux. Its OpenAPI document is served at /openapi.json.
func New(mux *http.ServeMux, title, version string, auth Authenticator, log *slog.Logger) huma.API {
	setHuma()
	config := huma.DefaultConfig(title, version)
	config.Formats = map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()}
	config.DocsPath = ""
	config.SchemasPath = ""
	config.CreateHooks = nil // no $schema links in answers
	config.Transformers = []huma.Transformer{withRequestID}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		scheme: {Type: "http", Scheme: "bearer", Description: "An API key (ls_key_...) or a session token."},
	}
	api := humago.New(mux, config)
	api.UseMiddleware(checkQuery(api, log), authenticate(api, auth, log))
	return api
}

// Needs is the Security of an operation that needs a scope.
func Needs(s access.Scope) []map[string][]string {
	return []map[string][]string{{scheme: {string(s)}}}
}

func authenticate(api huma.API, auth Authenticator, log *slog.Logger) func(huma.Context, func(huma.Context)) {
	refuse := func(ctx huma.Context, p *Problem) {
		if p.Status == http.StatusUnauthorized {
			ctx.SetHeader("WWW-Authenticate", "Bearer")
		}
		if err := huma.WriteErr(api, ctx, p.Status, p.Detail); err != nil {
			log.DebugContext(ctx.Context(), "answer not written", "err", err)
		}
	}
	return func(ctx huma.Context, next func(huma.Context)) {
		needed, ok := neededScope(ctx.Operation())
		if !ok {
			refuse(ctx, NewProblem(http.StatusForbidden, "forbidden", "This operation names no scope."))
			return
		}
		token, ok := bearer(ctx.Header("Authorization"))
		if !ok {
			refuse(ctx, NewProblem(http.StatusUnauthorized, "unauthenticated", "Send an API key as `Authorization: Bearer KEY`."))
			return
		}
		asking, cancel := context.WithTimeout(ctx.Context(), authTimeout)
		id, err := auth.Authenticate(asking, token)
		cancel()
		switch {
		case errors.Is(err, access.ErrUnauthenticated):
			refuse(ctx, NewProblem(http.StatusUnauthorized, "unauthenticated", "The API key is unknown or revoked."))
		case err != nil:
			log.ErrorContext(ctx.Context(), "token not checked", "request_id", RequestID(ctx.Context()), "err", err)
			ctx.SetHeader("Retry-After", "1")
			refuse(ctx, NewProblem(http.StatusServiceUnavailable, "unavailable", ""))
		case !id.May(needed):
			refuse(ctx, NewProblem(http.StatusForbidden, "forbidden", "The API key lacks the scope "+string(needed)+"."))
		default:
			next(huma.WithContext(ctx, access.WithIdentity(ctx.Context(), id)))
		}
	}
}

func neededScope(op *huma.Operation) (access.Scope, bool) {
	for _, requirement := range op.Security {
		if scopes := requirement[scheme]; len(scopes) == 1 {
			return access.Scope(scopes[0]), true
		}
	}
	return "", false
}

func bearer(header string) (string, bool) {
	kind, token, ok := strings.Cut(header, " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(kind, "Bearer") && strings.TrimSpace(token) != ""
}
