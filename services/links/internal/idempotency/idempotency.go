// Package idempotency lets a POST that was sent twice happen once: it stores the
// answer to a request that names an Idempotency-Key, and replays it.
//
// It promises that for Lifetime a key means one request of a workspace: the same
// request gets the stored answer, another one a 409; and that a request whose
// outcome nobody saw, because a process or the database died on the way, is repeated
// with the same seed for its ids, so that it finds what it made. An answer is stored
// before it is sent, and sealed so that it takes the service's secret and the caller's
// key to read it: some answers hold a new API key. It refuses to store what may
// be different next time, a 5xx or a 429, and to run two requests with one key at the
// same time: the second gets a 409 at once, as draft-ietf-httpapi-idempotency-key-header
// has it, and may try again.
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
)

const (
	// Header is where callers name their key.
	Header = "Idempotency-Key"
	// ReplayedHeader is "true" on an answer that was stored before.
	ReplayedHeader = "Idempotency-Replayed"

	// Lifetime is how long an answer is kept.
	Lifetime = 24 * time.Hour

	// claimFor is how long one try may take. It has to be longer than any request may
	// run, or a second try would begin beside the first.
	claimFor = time.Minute

	// maxKey bounds a key in bytes.
	maxKey = 255

	// storeTimeout bounds one question to the store.
	storeTimeout = 3 * time.Second

	// releaseTimeout bounds the release of a claim, after an operation that has failed:
	// the caller waits for it, and the claim ends by itself.
	releaseTimeout = time.Second

	// forgetEvery is how often answers that are over are deleted.
	forgetEvery = time.Minute
)

// What a claim can end with beside the claim itself.
var (
	// ErrReused: the key belongs to another request.
	ErrReused = errors.New("the key was used for another request")
	// ErrBusy: a request with the key is under way.
	ErrBusy = errors.New("a request with this key is under way")
	// ErrLost: the try took so long that another took over.
	ErrLost = errors.New("the claim is lost")
)

// Claim is the right to run one try of a request.
type Claim struct {
	Workspace uuid.UUID
	KeyHash   []byte
	Turn      int64
	Seed      uuid.UUID
	// Retried says that an earlier try had the seed before.
	Retried bool
	// Answer is the sealed answer of a try that ended; then there is nothing to claim.
	Answer []byte
}

// store keeps claims and answers.
type store interface {
	// ClaimKey returns a claim, a stored answer, ErrReused or ErrBusy.
	ClaimKey(ctx context.Context, workspace uuid.UUID, keyHash, requestHash []byte, seed uuid.UUID, claimFor, keepFor time.Duration) (Claim, error)
	// StoreAnswer ends a try; it returns ErrLost.
	StoreAnswer(ctx context.Context, c Claim, answer []byte) error
	// ReleaseKey ends a try without an answer: another may begin at once.
	ReleaseKey(ctx context.Context, c Claim) error
	// ForgetKeys deletes some keys that are over and says how many.
	ForgetKeys(ctx context.Context) (int, error)
}

// Guard stores and replays answers. It is safe for concurrent use.
type Guard struct {
	store store
	keys  *keyring.Keyring
	log   *slog.Logger
}

// New returns a guard over a store.
func New(s store, keys *keyring.Keyring, log *slog.Logger) *Guard {
	return &Guard{store: s, keys: keys, log: log}
}

// Run deletes what is over until ctx is done. A store that is away is no error.
func (g *Guard) Run(ctx context.Context) error {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for {
			n, err := g.store.ForgetKeys(ctx)
			if err != nil && ctx.Err() == nil {
				g.log.WarnContext(ctx, "old idempotency keys not deleted", "err", err)
			}
			if err != nil || n == 0 {
				break
			}
		}
	}
}

// Seed is what the ids of the things that a request makes are derived from.
type Seed struct {
	ID uuid.UUID
	// Retried says that an earlier try may have made them already.
	Retried bool
}

type contextKey struct{}

// SeedOf returns the seed of a request: a new one if it named no key.
func SeedOf(ctx context.Context) (Seed, error) {
	if s, ok := ctx.Value(contextKey{}).(Seed); ok {
		return s, nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Seed{}, fmt.Errorf("making an id: %w", err)
	}
	return Seed{ID: id}, nil
}

// Use guards every POST that is registered on the API from now on, and says so in its
// document.
func (g *Guard) Use(api huma.API) {
	api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		if ctx.Method() != http.MethodPost || ctx.Header(Header) == "" {
			next(ctx)
			return
		}
		g.serve(api, ctx, next)
	})
	doc := api.OpenAPI()
	doc.OnAddOperation = append(doc.OnAddOperation, document)
}

func document(_ *huma.OpenAPI, op *huma.Operation) {
	if op.Method != http.MethodPost {
		return
	}
	shortest, longest := 1, maxKey
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: Header, In: "header",
		Description: "Makes it safe to send the request again: for 24 hours the same request with the same key gets the stored answer, with " + ReplayedHeader +
			": true, and another request with the key is refused (409 idempotency_key_reused). While the first one runs, the second is refused (409 idempotency_in_progress).",
		Schema:  &huma.Schema{Type: "string", MinLength: &shortest, MaxLength: &longest, Pattern: "^[!-~]+$"},
		Example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
	})
	if like := op.Responses["422"]; like != nil && op.Responses["409"] == nil {
		conflict := *like
		conflict.Description = http.StatusText(http.StatusConflict)
		op.Responses["409"] = &conflict
	}
}

// answer is what is stored of one.
type answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

func (g *Guard) serve(api huma.API, ctx huma.Context, next func(huma.Context)) {
	id, err := access.FromContext(ctx.Context())
	if err != nil {
		g.refuse(api, ctx, httpapi.NewProblem(http.StatusUnauthorized, "unauthenticated", ""))
		return
	}
	key := ctx.Header(Header)
	if !wellFormed(key) {
		g.refuse(api, ctx, httpapi.Invalid(httpapi.FieldError{
			Field: "header." + Header, Code: "invalid", Detail: "a key has 1 to 255 visible ASCII characters",
		}))
		return
	}
	body, p := readBody(ctx)
	if p != nil {
		g.refuse(api, ctx, p)
		return
	}
	claim, err := g.claim(ctx, id.WorkspaceID, key, body.Bytes())
	switch {
	case errors.Is(err, ErrReused):
		g.refuse(api, ctx, httpapi.NewProblem(http.StatusConflict, "idempotency_key_reused", "This Idempotency-Key was sent with another request before. Use a new key for a new request."))
		return
	case errors.Is(err, ErrBusy):
		ctx.SetHeader("Retry-After", "1")
		g.refuse(api, ctx, httpapi.NewProblem(http.StatusConflict, "idempotency_in_progress", "A request with this Idempotency-Key is being worked on. Try again in a moment."))
		return
	case err != nil:
		g.away(api, ctx, err)
		return
	case claim.Answer != nil:
		g.replay(api, ctx, key, claim)
		return
	}
	c := &captured{humaContext: ctx, body: body, header: http.Header{}}
	g.try(ctx, claim, key, c, next)
	if c.err != nil {
		g.away(api, ctx, c.err)
		return
	}
	c.send(ctx)
}

// try runs the operation and stores its answer, or gives the claim back.
func (g *Guard) try(ctx huma.Context, claim Claim, key string, c *captured, next func(huma.Context)) {
	ended := false
	// The caller may have gone away by then; whoever repeats the request needs to know.
	after := context.WithoutCancel(ctx.Context())
	defer func() {
		if ended {
			return
		}
		after, cancel := context.WithTimeout(after, releaseTimeout)
		defer cancel()
		if err := g.store.ReleaseKey(after, claim); err != nil { // it frees itself in a minute
			g.log.WarnContext(after, "idempotency key not released", "request_id", httpapi.RequestID(after), "err", err)
		}
	}()
	next(huma.WithContext(c, context.WithValue(ctx.Context(), contextKey{}, Seed{ID: claim.Seed, Retried: claim.Retried})))
	if c.status >= http.StatusInternalServerError || c.status == http.StatusTooManyRequests {
		return
	}
	text, err := json.Marshal(answer{Status: c.status, Header: c.header, Body: c.written.Bytes()})
	if err == nil {
		text, err = g.keys.Seal(sealLabel+key, claim.KeyHash, text)
	}
	if err == nil {
		after, cancel := context.WithTimeout(after, storeTimeout)
		defer cancel()
		err = g.store.StoreAnswer(after, claim, text)
	}
	c.err = err
	ended = err == nil
}

const sealLabel = "idempotency\x00"

func (g *Guard) claim(ctx huma.Context, workspace uuid.UUID, key string, body []byte) (Claim, error) {
	seed, err := uuid.NewV7()
	if err != nil {
		return Claim{}, fmt.Errorf("making an id: %w", err)
	}
	u := ctx.URL()
	request := sha256.New()
	_, _ = fmt.Fprintf(request, "%s\x00%s\x00%s\x00", ctx.Method(), u.EscapedPath(), u.RawQuery)
	_, _ = request.Write(body)
	keyHash := sha256.Sum256([]byte(key))
	// Under the secret: a body may hold a password, and all the rest of it be known.
	requestHash := g.keys.Hash(string(request.Sum(nil)))
	asking, cancel := context.WithTimeout(ctx.Context(), storeTimeout)
	defer cancel()
	return g.store.ClaimKey(asking, workspace, keyHash[:], requestHash, seed, claimFor, Lifetime)
}

func (g *Guard) replay(api huma.API, ctx huma.Context, key string, claim Claim) {
	var a answer
	text, err := g.keys.Open(sealLabel+key, claim.KeyHash, claim.Answer)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		g.away(api, ctx, fmt.Errorf("reading a stored answer: %w", err))
		return
	}
	ctx.SetHeader(ReplayedHeader, "true")
	(&captured{status: a.Status, header: a.Header, written: *bytes.NewBuffer(a.Body)}).send(ctx)
}

func (g *Guard) away(api huma.API, ctx huma.Context, err error) {
	g.log.ErrorContext(ctx.Context(), "idempotency key not checked", "request_id", httpapi.RequestID(ctx.Context()), "err", err)
	ctx.SetHeader("Retry-After", "1")
	g.refuse(api, ctx, httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "The store cannot be reached. The request can be tried again."))
}

func (g *Guard) refuse(api huma.API, ctx huma.Context, p *httpapi.Problem) {
	if err := httpapi.WriteProblem(api, ctx, p); err != nil {
		g.log.DebugContext(ctx.Context(), "answer not written", "err", err)
	}
}

func wellFormed(key string) bool {
	if len(key) > maxKey {
		return false
	}
	for _, b := range []byte(key) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return true
}

// readBody returns the whole body, within the operation's limits, or what is wrong
// with it.
func readBody(ctx huma.Context) (*bytes.Buffer, *httpapi.Problem) {
	op, body := ctx.Operation(), &bytes.Buffer{}
	if op.BodyReadTimeout > 0 {
		_ = ctx.SetReadDeadline(time.Now().Add(op.BodyReadTimeout)) // the server's own limit is behind it
	}
	reader := ctx.BodyReader()
	if reader == nil {
		return body, nil
	}
	n, err := io.Copy(body, io.LimitReader(reader, op.MaxBodyBytes))
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, httpapi.NewProblem(http.StatusRequestTimeout, "request_timeout", "The body came too slowly.")
	case err != nil:
		return nil, httpapi.NewProblem(http.StatusBadRequest, "malformed", "The body broke off before its end.")
	case op.MaxBodyBytes > 0 && n >= op.MaxBodyBytes:
		return nil, httpapi.NewProblem(http.StatusRequestEntityTooLarge, "body_too_large", "The body is larger than this call takes.")
	}
	return body, nil
}
