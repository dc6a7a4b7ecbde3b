// Package api is the analytics API: figures of a workspace's clicks.
//
// It promises that a caller sees the clicks of the token's workspace and no
// others, and that a request which is wrong is answered with everything that is
// wrong about it. It refuses parameters that it does not know: a misspelt filter
// would give a number that is not what was asked for.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// Title and Version are those of the OpenAPI document.
const (
	Title   = "linkstream analytics"
	Version = "1.0.0"
)

// retryAfter is in seconds: a click store that is restarted is back within it.
const retryAfter = "5"

// store answers questions; query.ClickHouse is one.
type store interface {
	Summary(ctx context.Context, q *query.Question) (query.Counts, error)
	Totals(ctx context.Context, q *query.Question) (query.Totals, error)
	Series(ctx context.Context, q *query.Question, starts []time.Time) ([]query.Bucket, error)
	Breakdown(ctx context.Context, q *query.Question, by query.Dimension, limit int) ([]query.Group, error)
	EachGroup(ctx context.Context, q *query.Question, by query.Dimension, limit int, take func(query.Group) error) error
	EachClick(ctx context.Context, q *query.Question, take func(*query.Click) error) error
	Links(ctx context.Context, q *query.Question, l query.LinkList) (query.LinkPage, error)
	LinksWith(ctx context.Context, workspace uuid.UUID, tags []string) ([]uuid.UUID, error)
}

// Sources are where answers come from.
type Sources struct {
	Clicks store
	// Links returns nil when the store knows all links.
	Links func(context.Context) error
	Live  feed
}

type handlers struct {
	store store
	links func(context.Context) error
	live  feed
	now   func() time.Time
	log   *slog.Logger
}

// Register adds the operations to an API made by httpapi.New.
func Register(api huma.API, from Sources, now func() time.Time, log *slog.Logger) {
	h := &handlers{store: from.Clicks, links: from.Links, live: from.Live, now: now, log: log}
	api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{Name: "analytics", Description: about()})
	h.registerFigures(api)
	h.registerLinks(api)
	h.registerLive(api)
	h.registerExport(api)
	h.registerDefinitions(api)
}

// operation is what all operations have in common.
func operation(id, path, summary, description string, filters ...query.Dimension) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Description: description,
		Tags: []string{"analytics"}, Security: httpapi.Needs(access.AnalyticsRead), Parameters: filterParams(filters...),
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}
}

// question reads the parameters; the workspace is that of the token, always.
func (h *handlers) question(ctx context.Context, p *PeriodParams, f *FilterParams) (*query.Question, error) {
	id, err := access.FromContext(ctx)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	q, err := question(id.WorkspaceID, p, f, h.now())
	if err == nil && q.AsksForTags() {
		err = h.knowsLinks(ctx)
	}
	return q, err
}

// knowsLinks refuses a question about links while they are being read for the first
// time: an answer would lack some and not say so.
func (h *handlers) knowsLinks(ctx context.Context) error {
	if h.links(ctx) == nil {
		return nil
	}
	return unavailable("The links are being read. The request can be tried again.")
}

// checkTags is knowsLinks for a breakdown by tag.
func (h *handlers) checkTags(ctx context.Context, by query.Dimension) error {
	if by != query.Tag {
		return nil
	}
	return h.knowsLinks(ctx)
}

// problemOf is translate for an answer that is written by hand.
func (h *handlers) problemOf(ctx context.Context, err error) *httpapi.Problem {
	var problem *httpapi.Problem
	if !errors.As(h.translate(ctx, err), &problem) {
		problem = httpapi.NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id.")
	}
	return problem
}

// maxRawDays bounds a period that only the clicks themselves can answer for: each is
// looked at.
const maxRawDays = 400

// checkRange refuses a period that is too long for a question by a dimension, or by
// none, whose filters cross dimensions.
func checkRange(q *query.Question, by query.Dimension) error {
	if q.Summed(by) || q.Period.To.Sub(q.Period.From) <= maxRawDays*24*time.Hour {
		return nil
	}
	return tooLong("With these filters the period may have 400 days at most: sums are kept for each link and for each value of a dimension, not for both.")
}

func tooLong(detail string) error {
	var wrong mistakes
	wrong.add("from", "range_too_long", detail)
	return wrong.err()
}

// translate is the border: what the store says becomes an answer, what went wrong
// goes to the log.
func (h *handlers) translate(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, query.ErrTooManyBuckets):
		var wrong mistakes
		wrong.add("interval", "too_many_buckets", "The period has more than 5000 of them: take a wider interval or a shorter period.")
		return wrong.err()
	case ctx.Err() != nil:
		return httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "The request was given up.") // nobody reads it
	case errors.Is(err, query.ErrTooLarge):
		h.log.WarnContext(ctx, "question too large", "request_id", httpapi.RequestID(ctx), "err", err)
		return unavailable("The answer takes too long. Ask for a shorter period or with more filters.")
	case errors.Is(err, query.ErrUnavailable):
		h.log.ErrorContext(ctx, "clicks not counted", "request_id", httpapi.RequestID(ctx), "err", err)
		return unavailable("The click store cannot be reached. The request can be tried again.")
	default:
		h.log.ErrorContext(ctx, "request failed", "request_id", httpapi.RequestID(ctx), "err", err)
		return httpapi.NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id.")
	}
}

func unavailable(detail string) error {
	return huma.ErrorWithHeaders(httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", detail), http.Header{"Retry-After": {retryAfter}})
}

// names lists dimensions as the values of a parameter.
func names(dimensions []query.Dimension) []any {
	var out []any
	for _, d := range dimensions {
		out = append(out, string(d))
	}
	return out
}
