package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/ratelimit/httplimit"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

const (
	// maxBulk is how many links one call may make.
	maxBulk = 1000

	// maxBulkPasswords of them may set a password: at 0.03 s for each, and three more for
	// one that looks for a link first, they leave the call most of its time.
	maxBulkPasswords = 50

	// maxBulkBytes fits maxBulk links with destinations of 8,000 bytes each. The
	// gateway in front has the same limit.
	maxBulkBytes = 16 << 20

	// How long the body of a bulk call may take to arrive, and the call to be worked
	// on. Both together are well below the minute of an idempotency key's claim.
	bulkReadTimeout = 25 * time.Second
	bulkTimeout     = 20 * time.Second
)

func (a *api) registerBulk(h huma.API, tags []string) {
	huma.Register(h, huma.Operation{
		OperationID: "create-links", Method: http.MethodPost, Path: "/v1/links/bulk", Summary: "Create up to 1,000 links",
		Description: "Each link is made, found or refused for itself, as by a call of its own; the results are in the order of the links. " +
			"Of two links with the same address the first gets it. Links whose result has the status 503 can be sent again, in a call of their own. Each link counts as a request towards the key's limit.",
		Tags: tags, Security: httpapi.Needs(access.LinksWrite),
		MaxBodyBytes: maxBulkBytes, BodyReadTimeout: bulkReadTimeout,
		SkipValidateBody: true, // a bad link fails alone: links are validated one by one
		Errors:           []int{400, 401, 403, 409, 413, 415, 422, 503},
	}, a.bulk)
	describeResults(h.OpenAPI().Components.Schemas)
}

// describeResults says of the results' pointers what huma cannot: that they are there,
// and may be null.
func describeResults(registry huma.Registry) {
	results := registry.Map()["BulkResult"]
	for name, of := range map[string]string{"link": "The link, or null with an error", "error": "What was wrong, or null"} {
		results.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{results.Properties[name], {Type: "null"}}, Description: of}
		if !slices.Contains(results.Required, name) {
			results.Required = append(results.Required, name)
		}
	}
	slices.Sort(results.Required)
}

type bulkInput struct{ Body bulkBody }

// bulkBody is the body of a bulk call, with the links as they came.
type bulkBody struct {
	Links []string
	wrong []httpapi.FieldError
}

// UnmarshalJSON implements json.Unmarshaler. What is wrong with the body as a whole
// is noted, to be told together.
func (b *bulkBody) UnmarshalJSON(text []byte) error {
	if links, ok := splitLinks(string(text)); ok && len(links) > 0 && len(links) <= maxBulk {
		b.Links = links
		return nil
	}
	var members map[string]json.RawMessage
	refuse := func(field, code, detail string) {
		b.wrong = append(b.wrong, httpapi.FieldError{Field: field, Code: code, Detail: detail})
	}
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		refuse("body", "invalid", "expected an object with the member links")
		return nil //nolint:nilerr // it is noted
	}
	links, ok := members["links"]
	delete(members, "links")
	var rows []json.RawMessage
	switch err := json.Unmarshal(links, &rows); {
	case !ok:
		refuse("links", "required", "the links to be made are needed")
	case err != nil:
		refuse("links", "invalid", "expected a list of links")
	case len(rows) == 0:
		refuse("links", "required", "one link at least is needed")
	case len(rows) > maxBulk:
		refuse("links", "too_many", "a call makes 1,000 links at most")
	}
	for name := range members {
		refuse(name, "unknown", "there is no such member")
	}
	b.Links = make([]string, len(rows))
	for i, row := range rows {
		b.Links[i] = string(row)
	}
	return nil
}

// Schema implements huma.SchemaProvider.
func (bulkBody) Schema(r huma.Registry) *huma.Schema {
	fewest, most := 1, maxBulk
	return &huma.Schema{
		Type: "object", Required: []string{"links"}, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{"links": {
			Type: "array", MinItems: &fewest, MaxItems: &most,
			Items: r.Schema(reflect.TypeFor[newLinkBody](), true, ""),
		}},
	}
}

type bulkOutput struct{ Body bulkOutputBody }

type bulkOutputBody struct {
	Results []bulkResult `json:"results" nullable:"false" doc:"One for each link, in order"`
}

// bulkResult is what became of one link.
type bulkResult struct {
	Index  int `json:"index" minimum:"0" doc:"Place of the link in the request, from 0"`
	Status int `json:"status" doc:"What a call of its own would have answered: 201, 200 (found), 409, 422, 503"`
	// Plain pointers, because a thousand of orNull are encoded twice; see describeResults.
	Link  *linkView        `json:"link"`
	Error *httpapi.Problem `json:"error"`
}

func (a *api) bulk(ctx context.Context, in *bulkInput) (*bulkOutput, error) {
	if len(in.Body.wrong) > 0 {
		return nil, httpapi.Invalid(in.Body.wrong...)
	}
	id, err := access.FromContext(ctx)
	if err != nil {
		return nil, err
	}
	// The call itself has cost one already.
	if err := httplimit.Take(ctx, int64(len(in.Body.Links)-1)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bulkTimeout)
	defer cancel()
	seed, err := idempotency.SeedOf(ctx)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &bulkOutput{}
	out.Body.Results = make([]bulkResult, len(in.Body.Links))
	rows, places := a.readRows(ctx, id.WorkspaceID, seed, in.Body.Links, out.Body.Results)
	made := a.links.MakeMany(ctx, rows)
	views := make([]linkView, len(made))
	var fault error
	stored := 0
	for i, outcome := range made {
		result := &out.Body.Results[places[i]]
		if outcome.Err != nil {
			if refuseRow(result, outcome.Err) && fault == nil {
				fault = outcome.Err // the others failed for the same reason
			}
			continue
		}
		stored++
		views[i] = a.view(outcome.Link)
		result.Status, result.Link = statusOf(outcome), &views[i]
	}
	if fault == nil {
		return out, nil
	}
	if p := a.problem(ctx, fault); stored == 0 {
		return nil, p // nothing is half done: the whole call can be repeated
	}
	return out, nil
}

// readRows reads and checks the links of a call. It writes the results of the bad
// ones, and returns the good ones with their places.
func (a *api) readRows(ctx context.Context, workspace uuid.UUID, seed idempotency.Seed, links []string, results []bulkResult) (rows []link.New, places []int) {
	budget := &passwordBudget{locks: a.locks, left: maxBulkPasswords}
	rows, places = make([]link.New, 0, len(links)), make([]int, 0, len(links))
	for i, text := range links {
		results[i].Index = i
		var body newLinkBody
		if wrong := a.rows.read(text, &body); wrong != nil {
			results[i].Status, results[i].Error = wrong.Status, wrong
			continue
		}
		row, err := a.newLink(workspace, seed, i, &body)
		if err == nil {
			err = budget.lock(ctx, &row)
		}
		if err != nil {
			refuseRow(&results[i], err)
			continue
		}
		rows, places = append(rows, row), append(places, i)
	}
	return rows, places
}

// passwordBudget hashes the passwords of one call. They are the only thing about a row
// that is slow.
type passwordBudget struct {
	locks locks
	left  int
}

func (b *passwordBudget) lock(ctx context.Context, n *link.New) error {
	if _, given := n.Checked.GivenPassword(); !given {
		return nil
	}
	if b.left == 0 {
		return link.FieldErrors{{Field: "password", Code: link.CodeTooMany, Detail: "a call sets at most 50 passwords"}}
	}
	b.left--
	return b.locks.LockNew(ctx, n)
}

// refuseRow writes the error of a row to its result. It says whether that is our
// fault and not the row's.
func refuseRow(result *bulkResult, err error) bool {
	p := told(err)
	result.Status, result.Error = p.Status, p
	return result.Status >= http.StatusInternalServerError
}
