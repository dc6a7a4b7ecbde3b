package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/ratelimit"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
)

// keyKeeper is what the API does with keys; account.Keys is one.
type keyKeeper interface {
	Make(ctx context.Context, workspace, id uuid.UUID, spec account.KeySpec) (account.Key, string, error)
	Get(ctx context.Context, workspace, id uuid.UUID) (account.Key, error)
	List(ctx context.Context, workspace uuid.UUID, after *account.Position, limit int) ([]account.Key, error)
	Edit(ctx context.Context, workspace, id uuid.UUID, e account.KeyEdit) (account.Key, error)
	Revoke(ctx context.Context, workspace, id uuid.UUID) error
}

type keysAPI struct {
	keys keyKeeper
	log  *slog.Logger
}

// RegisterKeys adds the operations on API keys to h.
func RegisterKeys(h huma.API, keys keyKeeper, log *slog.Logger) {
	a := &keysAPI{keys: keys, log: log}
	tags, admin := []string{"keys"}, httpapi.Needs(access.Admin)
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "keys", Description: "API keys of the workspace."})
	huma.Register(h, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/v1/keys", Summary: "Create an API key",
		Description:   "The answer holds the key itself, once: it is stored hashed and cannot be shown again.",
		DefaultStatus: http.StatusCreated, Tags: tags, Security: admin, Errors: []int{400, 401, 403, 409, 413, 415, 422, 503},
		Metadata: httplimit.Strict(), // without Redis nobody makes keys
	}, a.create)
	huma.Register(h, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/v1/keys", Summary: "List API keys, newest first",
		Description: "Revoked keys are not listed.",
		Tags:        tags, Security: admin, RejectUnknownQueryParameters: true, Errors: []int{401, 403, 422, 503},
	}, a.list)
	huma.Register(h, huma.Operation{
		OperationID: "get-key", Method: http.MethodGet, Path: "/v1/keys/{id}", Summary: "Get an API key",
		Tags: tags, Security: admin, SkipValidateParams: true, Errors: []int{401, 403, 404, 503},
	}, a.get)
	huma.Register(h, huma.Operation{
		OperationID: "edit-key", Method: http.MethodPatch, Path: "/v1/keys/{id}", Summary: "Change an API key",
		Description: "A JSON merge patch: fields that are left out stay; rate_limit null means the installation's default. It takes effect everywhere within a second.",
		Tags:        tags, Security: admin, SkipValidateParams: true, Errors: []int{400, 401, 403, 404, 413, 415, 422, 503},
	}, a.edit)
	huma.Register(h, huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: "/v1/keys/{id}", Summary: "Revoke an API key",
		Description:   "It stops working everywhere within a second, for good.",
		DefaultStatus: http.StatusNoContent, Tags: tags, Security: admin, SkipValidateParams: true, Errors: []int{401, 403, 404, 503},
	}, a.revoke)
}

// rateLimit is a key's own limit.
type rateLimit struct {
	Capacity        int     `json:"capacity" minimum:"1" maximum:"1000000" example:"600" doc:"How many requests at once"`
	RefillPerSecond float64 `json:"refill_per_second" minimum:"0.000001" maximum:"1000000" example:"10" doc:"How many more each second; a seventh is one in seven seconds"`
}

func (r *rateLimit) rate() *account.Rate {
	if r == nil {
		return nil
	}
	return &account.Rate{Capacity: r.Capacity, RefillPerSecond: r.RefillPerSecond}
}

type newKeyInput struct {
	Body struct {
		Name      string           `json:"name" minLength:"1" maxLength:"200" example:"campaign importer" doc:"To tell keys apart"`
		Scopes    []string         `json:"scopes" nullable:"false" minItems:"1" enum:"links:read,links:write,analytics:read,admin" example:"[\"links:read\",\"links:write\"]" doc:"What the key may do; admin includes all"`
		RateLimit field[rateLimit] `json:"rate_limit,omitzero" doc:"The key's own limit; the installation's default when left out or null"`
	}
}

type editKeyInput struct {
	KeyID
	Body struct {
		Name      field[string]    `json:"name,omitzero" doc:"To tell keys apart"`
		Scopes    field[[]string]  `json:"scopes,omitzero" doc:"What the key may do; admin includes all"`
		RateLimit field[rateLimit] `json:"rate_limit,omitzero" doc:"The key's own limit; null for the installation's default"`
	}
}

// KeyID is the id in a path. (huma sees exported embedded structs only.)
type KeyID struct {
	ID string `path:"id" format:"uuid" doc:"Id of the key"`
}

type keyInput struct{ KeyID }

// KeyView is a key as callers see it. (huma sees exported embedded structs only.)
type KeyView struct {
	ID         string            `json:"id" format:"uuid" example:"01a22c60-f107-73b4-a642-cb8fa6799a62"`
	Name       string            `json:"name" example:"campaign importer"`
	Prefix     string            `json:"prefix" example:"ls_key_3vQ9aZ" doc:"How the key begins"`
	Scopes     []string          `json:"scopes" nullable:"false"`
	RateLimit  orNull[rateLimit] `json:"rate_limit" doc:"Null for the installation's default"`
	CreatedAt  time.Time         `json:"created_at" example:"2026-11-30T12:00:00Z"`
	LastUsedAt *time.Time        `json:"last_used_at" nullable:"true" example:"2026-11-30T12:00:00Z" doc:"Late by some seconds; null when it was never used"`
}

type newKeyView struct {
	KeyView
	Key string `json:"key" example:"ls_key_3vQ9aZkP0m7YwN2sJtB8xRfUe5LhVdC1GiToA6pXqKn" doc:"The key itself. It is not shown again."`
}

func viewKey(k account.Key) KeyView {
	v := KeyView{ID: k.ID.String(), Name: k.Name, Prefix: k.Prefix, Scopes: []string{}, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt}
	for _, scope := range k.Scopes {
		v.Scopes = append(v.Scopes, string(scope))
	}
	if k.Rate != nil {
		v.RateLimit.value = &rateLimit{Capacity: k.Rate.Capacity, RefillPerSecond: k.Rate.RefillPerSecond}
	}
	return v
}

type newKeyOutput struct {
	Location string `header:"Location" doc:"Address of the key in this API"`
	Body     newKeyView
}

type keyOutput struct{ Body KeyView }

type keysOutput struct {
	Body struct {
		Data       []KeyView `json:"data" nullable:"false"`
		NextCursor *string   `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

// PageParams choose a page of a list. (huma sees exported embedded structs only.)
type PageParams struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"How many on a page"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

type pageInput struct{ PageParams }

func (a *keysAPI) create(ctx context.Context, in *newKeyInput) (*newKeyOutput, error) {
	if err := countable(in.Body.RateLimit); err != nil {
		return nil, err
	}
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	seed, err := idempotency.SeedOf(ctx)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	k, key, err := a.keys.Make(ctx, workspace, seed.ID, account.KeySpec{Name: in.Body.Name, Scopes: scopes(in.Body.Scopes), Rate: given(in.Body.RateLimit)})
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &newKeyOutput{Location: "/v1/keys/" + k.ID.String(), Body: newKeyView{KeyView: viewKey(k), Key: key}}, nil
}

func (a *keysAPI) get(ctx context.Context, in *keyInput) (*keyOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := accountID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	k, err := a.keys.Get(ctx, workspace, id)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &keyOutput{Body: viewKey(k)}, nil
}

func (a *keysAPI) list(ctx context.Context, in *pageInput) (*keysOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	after, err := accountPosition(cursorOfKeys, in.Cursor)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	keys, err := a.keys.List(ctx, workspace, after, in.Limit+1)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &keysOutput{}
	out.Body.Data, out.Body.NextCursor = page(cursorOfKeys, keys, in.Limit, viewKey, func(k account.Key) position {
		return position{createdAt: k.CreatedAt, id: k.ID}
	})
	return out, nil
}

func (a *keysAPI) edit(ctx context.Context, in *editKeyInput) (*keyOutput, error) {
	if err := countable(in.Body.RateLimit); err != nil {
		return nil, err
	}
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := accountID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	e := account.KeyEdit{SetRate: in.Body.RateLimit.Sent, Rate: given(in.Body.RateLimit)}
	if in.Body.Name.Sent {
		e.Name = &in.Body.Name.Value // null clears it, which is refused
	}
	if in.Body.Scopes.Sent {
		e.Scopes = scopes(in.Body.Scopes.Value)
	}
	k, err := a.keys.Edit(ctx, workspace, id, e)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &keyOutput{Body: viewKey(k)}, nil
}

func (a *keysAPI) revoke(ctx context.Context, in *keyInput) (*struct{}, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := accountID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	if err := a.keys.Revoke(ctx, workspace, id); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return nil, nil
}

// scopes is never nil: an edit that names no scope is not one that leaves them.
func scopes(texts []string) []access.Scope {
	out := make([]access.Scope, len(texts))
	for i, text := range texts {
		out[i] = access.Scope(text)
	}
	return out
}

// countable refuses a limit that cannot be counted exactly: a bucket so large for a
// refill so slow that it would take centuries to fill.
func countable(f field[rateLimit]) error {
	if !f.Sent || f.Null {
		return nil
	}
	if _, err := ratelimit.PerSecond(int64(f.Value.Capacity), f.Value.RefillPerSecond); err != nil {
		return httpapi.Invalid(httpapi.FieldError{
			Field: "rate_limit", Code: "invalid",
			Detail: "The capacity is too large for such a slow refill, or the refill is too odd a fraction to be counted exactly.",
		})
	}
	return nil
}

func given(f field[rateLimit]) *account.Rate {
	if !f.Sent || f.Null {
		return nil
	}
	return f.Value.rate()
}

func accountID(s string) (uuid.UUID, error) {
	id, err := parseID(s)
	if err != nil {
		return uuid.Nil, account.ErrNotFound
	}
	return id.UUID, nil
}

func accountPosition(kind byte, cursor string) (*account.Position, error) {
	if cursor == "" {
		return nil, nil
	}
	p := decodeCursor(kind, cursor)
	if p == nil {
		return nil, account.WrongError{{Field: "cursor", Code: "invalid", Detail: "this is no next_cursor of this list"}}
	}
	return &account.Position{CreatedAt: p.createdAt, ID: p.id}, nil
}
