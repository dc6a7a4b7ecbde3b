// Package api is the analytics API: summary, time series and breakdown of a
// workspace's clicks.
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
	Series(ctx context.Context, q *query.Question, i query.Interval) ([]query.Bucket, error)
	Breakdown(ctx context.Context, q *query.Question, by query.Dimension, limit int) ([]query.Group, error)
}

type handlers struct {
	store store
	now   func() time.Time
	log   *slog.Logger
}

// Register adds the operations to an API made by httpapi.New.
func Register(api huma.API, clicks store, now func() time.Time, log *slog.Logger) {
	h := &handlers{store: clicks, now: now, log: log}
	api.OpenAPI().Tags = append(api.OpenAPI().Tags, &huma.Tag{Name: "analytics", Description: "Clicks, counted. Bots are left out unless bots says otherwise."})
	operation := func(id, path, summary, description string) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Description: description,
			Tags: []string{"analytics"}, Security: httpapi.Needs(access.AnalyticsRead), RejectUnknownQueryParameters: true,
			Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
		}
	}
	huma.Register(api, operation("get-summary", "/v1/analytics/summary", "Counts of a period and of the one before it",
		"The period before has the same number of days when `from` and `to` are days, else the same length."), h.summary)
	huma.Register(api, operation("get-timeseries", "/v1/analytics/timeseries", "Counts of each interval of a period",
		"Every interval is there, also those without a click. `t` is when it starts; the first one may start before `from`, and counts from there on only. Days and hours are those of `tz`: a day has 23 or 25 hours when clocks change."), h.series)
	huma.Register(api, operation("get-breakdown", "/v1/analytics/breakdown", "Counts of each value of a dimension",
		"The values with the most clicks first. An empty value is the clicks of which it is not known."), h.breakdown)
}

// Span is a period and its counts.
type Span struct {
	From time.Time `json:"from" doc:"Start of the period, included"`
	To   time.Time `json:"to" doc:"End of the period, not included"`
	query.Counts
}

// Summary is a period beside the one before it.
type Summary struct {
	Span
	Previous Span `json:"previous" doc:"The period of the same length just before"`
}

type summaryInput struct{ Params }

type summaryOutput struct{ Body Summary }

func (h *handlers) summary(ctx context.Context, in *summaryInput) (*summaryOutput, error) {
	q, err := h.question(ctx, &in.Params)
	if err != nil {
		return nil, err
	}
	current, err := h.span(ctx, q)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	before := *q
	before.Period = q.Period.Previous()
	previous, err := h.span(ctx, &before)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	return &summaryOutput{Body: Summary{Span: current, Previous: previous}}, nil
}

func (h *handlers) span(ctx context.Context, q *query.Question) (Span, error) {
	counts, err := h.store.Summary(ctx, q)
	return Span{From: q.Period.From.UTC(), To: q.Period.To.UTC(), Counts: counts}, err
}

type seriesInput struct {
	Params
	Interval query.Interval `query:"interval" enum:"minute,hour,day,week,month" default:"day" doc:"Width of a bucket; weeks begin on Monday"`
}

type seriesOutput struct {
	Body struct {
		Data []query.Bucket `json:"data" nullable:"false"`
	}
}

func (h *handlers) series(ctx context.Context, in *seriesInput) (*seriesOutput, error) {
	q, err := h.question(ctx, &in.Params)
	if err != nil {
		return nil, err
	}
	out := &seriesOutput{}
	out.Body.Data, err = h.store.Series(ctx, q, in.Interval)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	return out, nil
}

type breakdownInput struct {
	Params
	By    query.Dimension `query:"by" required:"true" enum:"link,country,region,city,continent,device,os,browser,language,referrer,utm_source,utm_medium,utm_campaign,utm_term,utm_content,edge_region,status,bot" doc:"The dimension"`
	Limit int             `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"How many values at most"`
}

type breakdownOutput struct {
	Body struct {
		Data []query.Group `json:"data" nullable:"false"`
	}
}

func (h *handlers) breakdown(ctx context.Context, in *breakdownInput) (*breakdownOutput, error) {
	q, err := h.question(ctx, &in.Params)
	if err != nil {
		return nil, err
	}
	out := &breakdownOutput{}
	out.Body.Data, err = h.store.Breakdown(ctx, q, in.By, in.Limit)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	return out, nil
}

// question reads the parameters; the workspace is that of the token, always.
func (h *handlers) question(ctx context.Context, c *Params) (*query.Question, error) {
	id, err := access.FromContext(ctx)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	return c.question(id.WorkspaceID, h.now())
}

// translate is the border: what the store says becomes an answer, what went wrong
// goes to the log.
func (h *handlers) translate(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, query.ErrTooManyBuckets):
		var wrong mistakes
		wrong.add("interval", "too_many_buckets", "The period has more than 5000 of them: take a wider interval or a shorter period.")
		return httpapi.Invalid(wrong...)
	case ctx.Err() != nil:
		return httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "The request was given up.") // nobody reads it
	case errors.Is(err, query.ErrTooLarge):
		h.log.WarnContext(ctx, "question too large", "request_id", httpapi.RequestID(ctx), "err", err)
		return unavailable("unavailable", "The answer takes too long. Ask for a shorter period or with more filters.")
	case errors.Is(err, query.ErrUnavailable):
		h.log.ErrorContext(ctx, "clicks not counted", "request_id", httpapi.RequestID(ctx), "err", err)
		return unavailable("unavailable", "The click store cannot be reached. The request can be tried again.")
	default:
		h.log.ErrorContext(ctx, "request failed", "request_id", httpapi.RequestID(ctx), "err", err)
		return httpapi.NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id.")
	}
}

func unavailable(code, detail string) error {
	return huma.ErrorWithHeaders(httpapi.NewProblem(http.StatusServiceUnavailable, code, detail), http.Header{"Retry-After": {retryAfter}})
}
