package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
)

func (h *handlers) registerExport(api huma.API) {
	op := operation("export", "/v1/analytics/export", "Clicks or figures as CSV",
		"Streamed, in UTF-8 with CRLF and a line of names. A text that a spreadsheet would take for a formula has a `'` before it. "+
			"`what=clicks` is one line for each click, the oldest first within a link; `bots` says which. `what=breakdown` needs `by`, `what=timeseries` takes `interval`. "+
			"An answer that breaks off before its end is not whole: the connection is closed in a way that clients notice.",
		query.Dimensions()...)
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The table",
		Content:     map[string]*huma.MediaType{"text/csv": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(api, op, h.export)
}

type exportInput struct {
	PeriodParams
	FilterParams
	What     string         `query:"what" enum:"clicks,breakdown,timeseries" default:"clicks" doc:"What the lines are"`
	By       By             `query:"by" doc:"With what=breakdown: the dimension"`
	Interval query.Interval `query:"interval" enum:"minute,hour,day,week,month" default:"day" doc:"With what=timeseries: width of a bucket"`
}

func (h *handlers) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	if _, err := h.question(ctx, &in.PeriodParams, &in.FilterParams); err != nil {
		return nil, err
	}
	return nil, unavailable("unavailable", "Not built yet.")
}
