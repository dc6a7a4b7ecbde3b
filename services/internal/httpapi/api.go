// Package httpapi is what the public API's services have in common: the OpenAPI
// set-up, problem+json errors, request ids, authentication by scope and the
// request metrics.
//
// It promises that every answer carries X-Request-Id, that every error is a
// Problem, and that an operation which names no scope in its Security does not
// exist: New refuses to serve one.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
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

// Limits says how often an API may be called. Both are asked before the operation runs,
// set the headers of a limited answer, and return the problem that refuses the call, or
// nil.
type Limits interface {
	// Caller is asked for a request whose token is somebody's, before its scope is looked
	// at. The operation gets the context that is returned.
	Caller(ctx huma.Context, id *access.Identity) (huma.Context, *Problem)
	// Stranger is asked for a request that brought no token, or one that is nobody's,
	// before it is told so.
	Stranger(ctx huma.Context) *Problem
}

// Option changes what New makes.
type Option func(*authentication)

// Limited puts limits on every operation.
func Limited(l Limits) Option { return func(a *authentication) { a.limits = l } }

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

// Appender is an answer that writes itself, as huma would: without escapes for HTML.
type Appender interface {
	AppendJSON(to []byte) ([]byte, error)
}

// jsonFormat is huma's, but refuses bytes that encoding/json would quietly replace
// by U+FFFD, and lets an Appender write itself.
func jsonFormat() huma.Format {
	format := huma.DefaultJSONFormat
	format.Marshal = func(w io.Writer, v any) error {
		answer, ok := v.(Appender)
		if !ok {
			return huma.DefaultJSONFormat.Marshal(w, v)
		}
		text, err := answer.AppendJSON(nil)
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err
	}
	format.Unmarshal = func(data []byte, v any) error {
		if !utf8.Valid(data) {
			return errNotUTF8
		}
		if body, ok := v.(json.Unmarshaler); ok && json.Valid(data) {
			// What encoding/json does, but that it looks for the end of the text once more.
			return body.UnmarshalJSON(bytes.TrimSpace(data))
		}
		return json.Unmarshal(data, v)
	}
	return format
}

// New returns an API on mux. Its OpenAPI document is served at /openapi.json, and says
// of each operation that it may be limited.
func New(mux *http.ServeMux, title, version string, auth Authenticator, log *slog.Logger, options ...Option) huma.API {
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
	config.OnAddOperation = append(config.OnAddOperation, describeLimit)
	api := humago.New(mux, config)
	a := &authentication{api: api, auth: auth, limits: unlimited{}, log: log}
	for _, option := range options {
		option(a)
	}
	api.UseMiddleware(checkQuery(api, log), a.check, a.checkPatch)
	return api
}

// describeLimit adds the answer 429, which looks like the operation's other problems.
func describeLimit(_ *huma.OpenAPI, op *huma.Operation) {
	const status, like = "429", "401"
	if op.Responses[like] == nil || op.Responses[status] != nil {
		return
	}
	limited := *op.Responses[like]
	limited.Description = http.StatusText(http.StatusTooManyRequests)
	limited.Headers = map[string]*huma.Param{
		"Retry-After": {Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "Seconds after which the call would be allowed"},
	}
	op.Responses[status] = &limited
}

// unlimited is an API without limits.
type unlimited struct{}

func (unlimited) Caller(ctx huma.Context, _ *access.Identity) (huma.Context, *Problem) {
	return ctx, nil
}
func (unlimited) Stranger(huma.Context) *Problem { return nil }

// Needs is the Security of an operation that needs a scope.
func Needs(s access.Scope) []map[string][]string {
	return []map[string][]string{{scheme: {string(s)}}}
}

// authentication decides who may call.
type authentication struct {
	api    huma.API
	auth   Authenticator
	limits Limits
	log    *slog.Logger
}

func (a *authentication) check(ctx huma.Context, next func(huma.Context)) {
	needed, ok := neededScope(ctx.Operation())
	if !ok {
		a.refuse(ctx, NewProblem(http.StatusForbidden, "forbidden", "This operation names no scope."))
		return
	}
	token, ok := bearer(ctx.Header("Authorization"))
	if !ok {
		a.stranger(ctx, "Send an API key as `Authorization: Bearer KEY`.")
		return
	}
	asking, cancel := context.WithTimeout(ctx.Context(), authTimeout)
	id, err := a.auth.Authenticate(asking, token)
	cancel()
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		a.stranger(ctx, "The API key is unknown or revoked.")
		return
	case err != nil:
		a.log.ErrorContext(ctx.Context(), "token not checked", "request_id", RequestID(ctx.Context()), "err", err)
		ctx.SetHeader("Retry-After", "1")
		if err := huma.WriteErr(a.api, ctx, http.StatusServiceUnavailable, ""); err != nil {
			a.log.DebugContext(ctx.Context(), "answer not written", "err", err)
		}
		return
	}
	ctx, problem := a.limits.Caller(ctx, id)
	switch {
	case problem != nil:
		a.refuse(ctx, problem)
	case !id.May(needed):
		a.refuse(ctx, NewProblem(http.StatusForbidden, "forbidden", "The API key lacks the scope "+string(needed)+"."))
	default:
		next(huma.WithContext(ctx, access.WithIdentity(ctx.Context(), id)))
	}
}

// checkPatch refuses a PATCH in a language that is not a merge patch: huma takes whatever
// ends in +json, and a JSON patch, say, would be taken for something that it is not.
func (a *authentication) checkPatch(ctx huma.Context, next func(huma.Context)) {
	if ctx.Method() == http.MethodPatch {
		kind, _, err := mime.ParseMediaType(ctx.Header("Content-Type"))
		if given := ctx.Header("Content-Type") != ""; given && (err != nil || kind != "application/json" && kind != mergePatch) {
			a.refuse(ctx, NewProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "A change is sent as "+mergePatch+" or as application/json."))
			return
		}
	}
	next(ctx)
}

const mergePatch = "application/merge-patch+json"

// stranger refuses a request that no token vouches for.
func (a *authentication) stranger(ctx huma.Context, detail string) {
	if problem := a.limits.Stranger(ctx); problem != nil {
		a.refuse(ctx, problem)
		return
	}
	ctx.SetHeader("WWW-Authenticate", "Bearer")
	a.refuse(ctx, NewProblem(http.StatusUnauthorized, "unauthenticated", detail))
}

func (a *authentication) refuse(ctx huma.Context, p *Problem) {
	answer := *p
	answer.RequestID = RequestID(ctx.Context())
	ctx.SetHeader("Content-Type", answer.ContentType(""))
	ctx.SetStatus(answer.Status)
	if err := json.NewEncoder(ctx.BodyWriter()).Encode(&answer); err != nil {
		a.log.DebugContext(ctx.Context(), "answer not written", "err", err)
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
