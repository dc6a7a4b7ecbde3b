// Package api is the webhooks service's part of the public API: endpoints, their secrets
// and their deliveries.
//
// It promises that a request that is refused has stored nothing and says what is wrong
// with each field, that a secret is shown once, and that a key sees the endpoints of its
// own workspace only: another's are not found.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

// Title and Version head the OpenAPI document.
const (
	Title   = "linkstream webhooks"
	Version = "1.0.0"
)

// requestTimeout bounds what one request may wait for the store.
const requestTimeout = 5 * time.Second

type api struct {
	store *postgres.Store
	rules *endpoint.Rules
	now   func() time.Time
	log   *slog.Logger
}

// Register adds the operations to h. All of them take admin: an endpoint is told
// everything that happens in its workspace.
func Register(h huma.API, store *postgres.Store, rules *endpoint.Rules, now func() time.Time, log *slog.Logger) {
	a := &api{store: store, rules: rules, now: now, log: log}
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "webhooks", Description: about})
	operation := func(method, path, id, summary, description string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Description: description,
			Tags: []string{"webhooks"}, Security: httpapi.Needs(access.Admin), RejectUnknownQueryParameters: true,
			SkipValidateParams: strings.Contains(path, "{") && method != http.MethodGet || path == "/v1/webhooks/{id}",
			Errors:             append([]int{401, 403, 503}, errors...),
		}
	}
	made := operation(http.MethodPost, "/v1/webhooks", "create-webhook", "Create an endpoint",
		"What happens from the answer on is told. The secret is in this answer only.", 400, 409, 413, 415, 422)
	made.DefaultStatus = http.StatusCreated
	huma.Register(h, made, a.create)
	huma.Register(h, operation(http.MethodGet, "/v1/webhooks", "list-webhooks", "List endpoints, newest first", "A workspace has at most 20, so they come on one page.", 422), a.list)
	huma.Register(h, operation(http.MethodGet, "/v1/webhooks/{id}", "get-webhook", "Get an endpoint", "", 404), a.get)
	huma.Register(h, operation(http.MethodPatch, "/v1/webhooks/{id}", "edit-webhook", "Change an endpoint",
		"A JSON merge patch: fields that are left out stay, null gives them the value that they have when an endpoint is made without them.", 400, 404, 412, 413, 415, 422), a.edit)
	deleted := operation(http.MethodDelete, "/v1/webhooks/{id}", "delete-webhook", "Delete an endpoint", "With all its deliveries.", 400, 404, 412)
	deleted.DefaultStatus = http.StatusNoContent
	huma.Register(h, deleted, a.delete)
	huma.Register(h, operation(http.MethodPost, "/v1/webhooks/{id}/rotate-secret", "rotate-webhook-secret", "Give an endpoint a new secret",
		"For a time both secrets sign, so that the receiver can be changed without losing anything. The secret is in this answer only.", 400, 404, 413, 415, 422), a.rotate)
	tested := operation(http.MethodPost, "/v1/webhooks/{id}/test", "test-webhook", "Send a test event", "Whatever events the endpoint asks for. The log shows what came of it.", 404, 409)
	tested.DefaultStatus = http.StatusAccepted
	huma.Register(h, tested, a.test)
	a.registerDeliveries(h, operation)
	describe(h.OpenAPI())
}

const about = "Endpoints that are told what happens to links: JSON by POST, signed as Standard Webhooks has it (headers webhook-id, webhook-timestamp, " +
	"webhook-signature; during a rotation there are two signatures). An event is delivered at least once: leave out a webhook-id that you have. " +
	"Answer with any 2xx within ten seconds. Anything else is tried again after 5 seconds, then 15, and so on up to 6 hours, for three days; " +
	"Retry-After of a 429 or 503 is followed within 5 seconds and 6 hours. 410 disables the endpoint, and so do three days without any success. " +
	"The next event of a link waits until the one before it was taken or given up; events of different links are not ordered."

// WebhookID is the id in a path. (huma sees exported embedded structs only.)
type WebhookID struct {
	ID string `path:"id" format:"uuid" doc:"Id of the endpoint"`
}

type createInput struct{ Body newWebhookBody }

type createdOutput struct {
	Location string `header:"Location" doc:"Address of the endpoint in this API"`
	ETag     string `header:"ETag" doc:"The endpoint's version"`
	Body     newWebhookView
}

// newWebhookView is an endpoint with its secret.
type newWebhookView = secretView

type webhookOutput struct {
	ETag string `header:"ETag" doc:"The endpoint's version"`
	Body WebhookView
}

type secretOutput struct {
	ETag string `header:"ETag" doc:"The endpoint's version"`
	Body secretView
}

type webhooksOutput struct {
	Body struct {
		Data       []WebhookView `json:"data" nullable:"false"`
		NextCursor *string       `json:"next_cursor" nullable:"true" doc:"Always null: all are on one page"`
	}
}

type editInput struct {
	WebhookID
	IfMatch string `header:"If-Match" doc:"ETag of the version that is meant; 412 when the endpoint has another"`
	Body    editWebhookBody
}

type deleteInput struct {
	WebhookID
	IfMatch string `header:"If-Match" doc:"ETag of the version that is meant; 412 when the endpoint has another"`
}

type getInput struct{ WebhookID }

func (a *api) create(ctx context.Context, in *createInput) (*createdOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	draft := fresh()
	draft.URL = in.Body.URL
	in.Body.into(&draft)
	id, err := uuid.NewV7()
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	e := endpoint.Endpoint{ID: id, WorkspaceID: workspace, Enabled: draft.Enabled}
	if err := a.rules.Check(&draft, &e); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	secret := endpoint.NewSecret()
	made, err := a.store.Make(ctx, &e, secret)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &createdOutput{Location: "/v1/webhooks/" + made.ID.String(), ETag: etag(made.Version), Body: secretView{WebhookView: view(made), Secret: secret}}, nil
}

func (a *api) list(ctx context.Context, _ *struct{}) (*webhooksOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	endpoints, err := a.store.List(ctx, workspace)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &webhooksOutput{}
	out.Body.Data = make([]WebhookView, len(endpoints))
	for i := range endpoints {
		out.Body.Data[i] = view(&endpoints[i])
	}
	return out, nil
}

func (a *api) get(ctx context.Context, in *getInput) (*webhookOutput, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	e, err := a.store.Get(ctx, workspace, id)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &webhookOutput{ETag: etag(e.Version), Body: view(e)}, nil
}

func (a *api) edit(ctx context.Context, in *editInput) (*webhookOutput, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	meant, err := precondition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	e, err := a.store.Edit(ctx, workspace, id, meant, func(e *endpoint.Endpoint) error {
		draft := draftOf(e)
		in.Body.URL.into(&draft.URL, "") // an endpoint cannot be without: that is refused
		in.Body.into(&draft)
		e.Enabled = draft.Enabled
		return a.rules.Check(&draft, e)
	})
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &webhookOutput{ETag: etag(e.Version), Body: view(e)}, nil
}

func (a *api) delete(ctx context.Context, in *deleteInput) (*struct{}, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	meant, err := precondition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	if err := a.store.Delete(ctx, workspace, id, meant); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return nil, nil
}

// begin is how every operation starts: it bounds the time and reads the workspace.
func begin(ctx context.Context) (context.Context, uuid.UUID, context.CancelFunc, error) {
	id, err := access.FromContext(ctx)
	if err != nil {
		return ctx, uuid.Nil, func() {}, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	return ctx, id.WorkspaceID, cancel, nil
}

// beginWith is begin for an operation on one endpoint.
func beginWith(ctx context.Context, text string) (context.Context, uuid.UUID, uuid.UUID, context.CancelFunc, error) {
	id, err := parseID(text)
	if err != nil {
		return ctx, uuid.Nil, uuid.Nil, func() {}, err
	}
	ctx, workspace, done, err := begin(ctx)
	return ctx, workspace, id, done, err
}

// parseID takes the canonical form only: one thing has one address. What is no id is the
// id of nothing.
func parseID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != len(uuid.Nil.String()) {
		return uuid.Nil, endpoint.ErrNotFound
	}
	return id, nil
}

func etag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// precondition reads If-Match: a list of ETags, or * for any. A bare version, as the
// field `version` shows it, is taken for its ETag.
func precondition(ifMatch string) (func(uint64) bool, error) {
	ifMatch = strings.TrimSpace(ifMatch)
	if ifMatch == "" || ifMatch == "*" {
		return func(uint64) bool { return true }, nil
	}
	var tags []string
	for tag := range strings.SplitSeq(ifMatch, ",") {
		tag = strings.TrimSpace(tag)
		if version, err := strconv.ParseUint(tag, 10, 64); err == nil {
			tag = etag(version)
		}
		quoted := strings.TrimPrefix(tag, "W/")
		if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
			return nil, httpapi.NewProblem(http.StatusBadRequest, "malformed", `If-Match takes an ETag in quotes, such as "3".`)
		}
		tags = append(tags, tag)
	}
	return func(version uint64) bool { return slices.Contains(tags, etag(version)) }, nil
}
