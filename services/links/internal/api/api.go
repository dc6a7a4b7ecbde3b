// Package api is the links service's part of the public API: links, domains, keys, users.
//
// It promises that a request that is refused has stored nothing and says what is
// wrong with each field, that a key sees the links of its own workspace only:
// another's are not found, and that no password is ever shown. What may be stored is
// decided in package link, not here.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// Title and Version head the OpenAPI document.
const (
	Title   = "linkstream links"
	Version = "1.0.0"
)

// requestTimeout bounds what one request may wait for the store: with what an idempotency
// key may add it stays below five seconds, the longest that a caller waits for a 503.
const requestTimeout = 3500 * time.Millisecond

// store keeps the links. Its errors are those of package link.
type store interface {
	Make(ctx context.Context, n link.New) link.Outcome
	MakeMany(ctx context.Context, rows []link.New) []link.Outcome
	Get(ctx context.Context, workspace uuid.UUID, id link.ID) (*link.Link, error)
	List(ctx context.Context, workspace uuid.UUID, f link.Filter, after *link.Position, limit int) (link.Page, error)
	Update(ctx context.Context, workspace uuid.UUID, id link.ID, meant link.Precondition, c *link.Checked) (*link.Link, error)
	Delete(ctx context.Context, workspace uuid.UUID, id link.ID, meant link.Precondition) error
}

// locks hash the passwords that callers set. Their errors are those of package link.
type locks interface {
	Lock(ctx context.Context, c *link.Checked) error
	LockNew(ctx context.Context, n *link.New) error
}

type api struct {
	links     store
	locks     locks
	rules     *link.Rules
	rows      *rowReader
	shortURLs address.URLs
	log       *slog.Logger
}

// Register adds the operations to h.
func Register(h huma.API, links store, locks locks, rules *link.Rules, shortURLs address.URLs, log *slog.Logger) {
	a := &api{links: links, locks: locks, rules: rules, rows: newRowReader(h), shortURLs: shortURLs, log: log}
	tags := []string{"links"}
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "links", Description: "Short links: where they lead, and when."})
	huma.Register(h, huma.Operation{
		OperationID: "create-link", Method: http.MethodPost, Path: "/v1/links", Summary: "Create a link",
		Description:   "With find_or_create it answers 200 with an existing link of the workspace that has the destination and all given options, if there is one. Of two such calls at the same time one makes the link and the other finds it.",
		DefaultStatus: http.StatusCreated, Tags: tags, Security: httpapi.Needs(access.LinksWrite),
		Errors: []int{400, 401, 403, 409, 413, 415, 422, 503},
	}, a.create)
	found := *h.OpenAPI().Paths["/v1/links"].Post.Responses["201"]
	found.Description = "OK: find_or_create found this link"
	h.OpenAPI().Paths["/v1/links"].Post.Responses["200"] = &found
	a.registerBulk(h, tags)
	a.registerQR(h, tags)
	a.registerExport(h, tags)
	huma.Register(h, huma.Operation{
		OperationID: "list-links", Method: http.MethodGet, Path: "/v1/links", Summary: "List links, newest first",
		Tags: tags, Security: httpapi.Needs(access.LinksRead), RejectUnknownQueryParameters: true,
		Errors: []int{401, 403, 422, 503},
	}, a.list)
	huma.Register(h, huma.Operation{
		OperationID: "get-link", Method: http.MethodGet, Path: "/v1/links/{id}", Summary: "Get a link",
		Tags: tags, Security: httpapi.Needs(access.LinksRead),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404
		Errors:             []int{401, 403, 404, 503},
	}, a.get)
	huma.Register(h, huma.Operation{
		OperationID: "edit-link", Method: http.MethodPatch, Path: "/v1/links/{id}", Summary: "Change a link",
		Description: "A JSON merge patch: fields that are left out stay, null clears. A patch that changes nothing makes no new version.",
		Tags:        tags, Security: httpapi.Needs(access.LinksWrite),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404
		Errors:             []int{400, 401, 403, 404, 409, 412, 413, 415, 422, 503},
	}, a.edit)
	huma.Register(h, huma.Operation{
		OperationID: "delete-link", Method: http.MethodDelete, Path: "/v1/links/{id}", Summary: "Delete a link",
		DefaultStatus: http.StatusNoContent, Tags: tags, Security: httpapi.Needs(access.LinksWrite),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404
		Errors:             []int{400, 401, 403, 404, 412, 503},
	}, a.delete)
}

type createInput struct {
	Body newLinkBody
}

type createdOutput struct {
	Status   int
	Location string `header:"Location" doc:"Address of the link in this API"`
	ETag     string `header:"ETag" doc:"The link's version"`
	Body     linkView
}

type linkOutput struct {
	ETag string `header:"ETag" doc:"The link's version"`
	Body linkView
}

// IDParam is the id in a path. (huma sees exported embedded structs only.)
type IDParam struct {
	ID string `path:"id" format:"uuid" doc:"Id of the link"`
}

type getInput struct{ IDParam }

type editInput struct {
	IDParam
	IfMatch string `header:"If-Match" doc:"ETag of the version that is meant; 412 when the link has another"`
	Body    editLinkBody
}

type deleteInput struct {
	IDParam
	IfMatch string `header:"If-Match" doc:"ETag of the version that is meant; 412 when the link has another"`
}

func (a *api) create(ctx context.Context, in *createInput) (*createdOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	seed, err := idempotency.SeedOf(ctx)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	n, err := a.newLink(workspace, seed, 0, &in.Body)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	if err := a.locks.LockNew(ctx, &n); err != nil {
		return nil, a.problem(ctx, err)
	}
	made := a.links.Make(ctx, n)
	if made.Err != nil {
		return nil, a.problem(ctx, made.Err)
	}
	return &createdOutput{
		Status: statusOf(made), Location: "/v1/links/" + made.Link.ID.String(), ETag: etag(made.Link.Version), Body: a.view(made.Link),
	}, nil
}

// newLink is the n-th link that a request asks for, checked.
func (a *api) newLink(workspace uuid.UUID, seed idempotency.Seed, n int, body *newLinkBody) (link.New, error) {
	checked, err := a.rules.CheckNew(body.change())
	if err != nil {
		return link.New{}, err
	}
	return link.New{
		WorkspaceID: workspace, ID: link.DerivedID(seed.ID, n), MayExist: seed.Retried, FindFirst: body.FindOrCreate.Value, Checked: checked,
	}, nil
}

func statusOf(made link.Outcome) int {
	if made.Found {
		return http.StatusOK
	}
	return http.StatusCreated
}

func (a *api) get(ctx context.Context, in *getInput) (*linkOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	l, err := a.links.Get(ctx, workspace, id)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return &linkOutput{ETag: etag(l.Version), Body: a.view(l)}, nil
}

func (a *api) edit(ctx context.Context, in *editInput) (*linkOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	match, err := precondition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	change, wrong := in.Body.change()
	checked, err := a.rules.CheckEdit(change)
	if err := joined(wrong, err); err != nil {
		return nil, a.problem(ctx, err)
	}
	if err := a.locks.Lock(ctx, checked); err != nil {
		return nil, a.problem(ctx, err)
	}
	l, err := a.links.Update(ctx, workspace, id, match, checked)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return &linkOutput{ETag: etag(l.Version), Body: a.view(l)}, nil
}

func (a *api) delete(ctx context.Context, in *deleteInput) (*struct{}, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	match, err := precondition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	if err := a.links.Delete(ctx, workspace, id, match); err != nil {
		return nil, a.problem(ctx, err)
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

// parseID takes the canonical form only: uuid.Parse would also take braces and
// URNs, and one link would have several addresses.
func parseID(s string) (link.ID, error) {
	id, err := uuid.Parse(s)
	if err != nil || len(s) != len(uuid.Nil.String()) {
		return link.ID{}, link.ErrNotFound
	}
	return link.ID{UUID: id}, nil
}

func etag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// precondition reads If-Match: a list of ETags, or * for any. A weak ETag matches
// nothing, as RFC 9110 has it. A bare version, as the field `version` shows it, is
// taken for its ETag. Anything else is a 400: "the link has changed" would send its
// author looking in the wrong place.
func precondition(ifMatch string) (link.Precondition, error) {
	ifMatch = strings.TrimSpace(ifMatch)
	if ifMatch == "" || ifMatch == "*" {
		return link.Always, nil
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

// joined puts what the API and what the domain found wrong into one answer.
func joined(wrong link.FieldErrors, err error) error {
	var more link.FieldErrors
	if err != nil && !errors.As(err, &more) {
		return err
	}
	named := map[string]bool{}
	for _, f := range wrong {
		named[f.Field] = true
	}
	for _, f := range more {
		if !named[f.Field] {
			wrong = append(wrong, f)
		}
	}
	return wrong.Err()
}
