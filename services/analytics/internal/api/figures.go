package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
)

func (h *handlers) registerFigures(api huma.API) {
	all := query.Dimensions()
	huma.Register(api, operation("get-summary", "/v1/analytics/summary", "Counts of a period and of the one before it",
		"The period before has the same number of days when `from` and `to` are days, else the same length.", all...), h.summary)
	huma.Register(api, operation("get-totals", "/v1/analytics/totals", "Counts since the beginning, and the last click",
		"All clicks that were ever counted, with the same filters as the other calls.", all...), h.totals)
	huma.Register(api, operation("get-timeseries", "/v1/analytics/timeseries", "Counts of each interval of a period",
		"Every interval is there, also those without a click. `t` is when it starts; the first one may start before `from`, and counts from there on only. "+
			"Days and hours are those of `tz`: a day has 23 or 25 hours when clocks change. With `compare=previous` there is a second series of the period before, "+
			"one bucket for each of the first series, in the same order.", all...), h.series)
	huma.Register(api, operation("get-breakdown", "/v1/analytics/breakdown", "Counts of each value of a dimension",
		"The values with the most clicks first. An empty value is the clicks of which it is not known.", all...), h.breakdown)
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

type summaryInput struct {
	PeriodParams
	FilterParams
}

type summaryOutput struct{ Body Summary }

func (h *handlers) summary(ctx context.Context, in *summaryInput) (*summaryOutput, error) {
	q, err := h.question(ctx, &in.PeriodParams, &in.FilterParams)
	if err != nil {
		return nil, err
	}
	if err := checkRange(q, ""); err != nil {
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

type totalsInput struct{ FilterParams }

type totalsOutput struct{ Body query.Totals }

func (h *handlers) totals(ctx context.Context, in *totalsInput) (*totalsOutput, error) {
	q, err := h.question(ctx, nil, &in.FilterParams)
	if err != nil {
		return nil, err
	}
	totals, err := h.store.Totals(ctx, q)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	return &totalsOutput{Body: totals}, nil
}

type seriesInput struct {
	PeriodParams
	FilterParams
	Interval query.Interval `query:"interval" enum:"minute,hour,day,week,month" default:"day" doc:"Width of a bucket; weeks begin on Monday"`
	Compare  string         `query:"compare" enum:"none,previous" default:"none" doc:"Another series beside: that of the period before"`
}

type seriesOutput struct {
	Body struct {
		Data     []query.Bucket `json:"data" nullable:"false"`
		Previous []query.Bucket `json:"previous,omitempty" doc:"With compare=previous: for each bucket of data the one of the period before, as long before it as the periods are apart"`
	}
}

func (h *handlers) series(ctx context.Context, in *seriesInput) (*seriesOutput, error) {
	q, err := h.question(ctx, &in.PeriodParams, &in.FilterParams)
	if err != nil {
		return nil, err
	}
	if err := checkRange(q, ""); err != nil {
		return nil, err
	}
	starts, err := query.Buckets(q.Period, in.Interval)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	out := &seriesOutput{}
	if out.Body.Data, err = h.store.Series(ctx, q, starts); err != nil {
		return nil, h.translate(ctx, err)
	}
	if in.Compare == "previous" {
		before := *q
		before.Period, starts = query.Aligned(q.Period, starts)
		if out.Body.Previous, err = h.store.Series(ctx, &before, starts); err != nil {
			return nil, h.translate(ctx, err)
		}
	}
	return out, nil
}

type breakdownInput struct {
	PeriodParams
	FilterParams
	By    By  `query:"by" required:"true" doc:"The dimension"`
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"10" doc:"How many values at most"`
}

// By is a dimension as a parameter's value.
type By string

// Schema implements huma.SchemaProvider.
func (By) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: names(query.Dimensions())}
}

type breakdownOutput struct {
	Body struct {
		Data []query.Group `json:"data" nullable:"false"`
	}
}

func (h *handlers) breakdown(ctx context.Context, in *breakdownInput) (*breakdownOutput, error) {
	q, err := h.question(ctx, &in.PeriodParams, &in.FilterParams)
	if err != nil {
		return nil, err
	}
	if err := checkRange(q, query.Dimension(in.By)); err != nil {
		return nil, err
	}
	out := &breakdownOutput{}
	if err := h.checkTags(ctx, query.Dimension(in.By)); err != nil {
		return nil, err
	}
	out.Body.Data, err = h.store.Breakdown(ctx, q, query.Dimension(in.By), in.Limit)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	return out, nil
}
