package api

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/httpapi"
)

const (
	// maxExportGroups bounds the lines of a breakdown, which are in memory at once.
	maxExportGroups = 100_000
	// flushLines is after how many lines the reader gets what there is. A reader that has
	// gone is noticed then.
	flushLines = 1000
	// lineTimeout is how long a reader may take nothing at all.
	lineTimeout = time.Minute
)

func (h *handlers) registerExport(api huma.API) {
	op := operation("export", "/v1/analytics/export", "Clicks or figures as CSV",
		"Streamed, in UTF-8 with CRLF and a line of names. A text that a spreadsheet would take for a formula has a `'` before it. "+
			"`what=clicks` is one line for each click, link after link; `bots` says which. `what=breakdown` needs `by`, `what=timeseries` takes `interval`. "+
			"An answer that breaks off is not whole: the connection is closed in a way that clients notice.",
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
	q, err := h.question(ctx, &in.PeriodParams, &in.FilterParams)
	if err != nil {
		return nil, err
	}
	var lines func(ctx context.Context, t *table) error
	switch in.What {
	case "breakdown":
		if in.By == "" {
			var wrong mistakes
			wrong.add("by", "required", "A breakdown needs a dimension.")
			return nil, wrong.err()
		}
		if err := h.checkTags(ctx, query.Dimension(in.By)); err != nil {
			return nil, err
		}
		if err := checkRange(q, query.Dimension(in.By)); err != nil {
			return nil, err
		}
		lines = func(ctx context.Context, t *table) error { return h.exportGroups(ctx, t, q, query.Dimension(in.By)) }
	case "timeseries":
		starts, err := query.Buckets(q.Period, in.Interval)
		if err != nil {
			return nil, h.translate(ctx, err)
		}
		if err := checkRange(q, ""); err != nil {
			return nil, err
		}
		lines = func(ctx context.Context, t *table) error { return h.exportSeries(ctx, t, q, starts) }
	default:
		if q.Period.To.Sub(q.Period.From) > maxRawDays*24*time.Hour {
			return nil, tooLong("Clicks of 400 days at most can be exported at once.")
		}
		lines = func(ctx context.Context, t *table) error { return h.exportClicks(ctx, t, q) }
	}
	name := "linkstream-" + in.What + "-" + q.Period.From.In(q.Period.Zone).Format(time.DateOnly) + ".csv"
	return &huma.StreamResponse{Body: func(hc huma.Context) { h.stream(hc, name, lines) }}, nil //nolint:contextcheck // the context is in hc
}

// stream answers with a table. What goes wrong before its first line is a problem; after
// it the answer is broken off.
func (h *handlers) stream(hc huma.Context, name string, lines func(context.Context, *table) error) {
	ctx := hc.Context()
	t := newTable(hc, name)
	err := lines(ctx, t)
	if err == nil {
		err = t.flush()
	}
	switch {
	case err == nil:
		return
	case !t.begun:
		problem := h.problemOf(ctx, err)
		if problem.Status == http.StatusServiceUnavailable {
			hc.SetHeader("Retry-After", retryAfter)
		}
		if w, ok := hc.BodyWriter().(http.ResponseWriter); ok {
			httpapi.Write(ctx, w, problem)
			return
		}
	case ctx.Err() == nil && !t.lost:
		h.log.ErrorContext(ctx, "export broken off", "request_id", httpapi.RequestID(ctx), "err", err)
	}
	panic(http.ErrAbortHandler) // the middleware breaks the connection
}

// table writes lines of CSV.
type table struct {
	hc    huma.Context
	name  string
	csv   *csv.Writer
	out   *eventWriter
	lines int
	begun bool // the answer has a status
	lost  bool // the reader is gone
}

func newTable(hc huma.Context, name string) *table {
	t := &table{hc: hc, name: name, out: newEventWriter(hc.BodyWriter())}
	t.csv = csv.NewWriter(t.hc.BodyWriter())
	t.csv.UseCRLF = true
	return t
}

// begin writes the status and the line of names.
func (t *table) begin(columns ...string) error {
	t.begun = true
	t.hc.SetHeader("Content-Type", "text/csv; charset=utf-8; header=present")
	t.hc.SetHeader("Content-Disposition", `attachment; filename="`+t.name+`"`)
	t.hc.SetHeader("Cache-Control", "no-store")
	t.hc.SetHeader("X-Content-Type-Options", "nosniff")
	t.hc.SetStatus(http.StatusOK)
	t.out.within(lineTimeout)
	return t.csv.Write(columns)
}

// line writes a line. Texts of visitors are made harmless by the caller.
func (t *table) line(fields ...string) error {
	if err := t.csv.Write(fields); err != nil {
		t.lost = true
		return fmt.Errorf("writing a line: %w", err)
	}
	if t.lines++; t.lines%flushLines == 0 {
		return t.flush()
	}
	return nil
}

func (t *table) flush() error {
	t.csv.Flush()
	if err := t.csv.Error(); err != nil {
		t.lost = true
		return fmt.Errorf("writing lines: %w", err)
	}
	t.out.within(lineTimeout)
	return nil
}

// harmless is a text that no spreadsheet takes for a formula: what a visitor sent may
// begin like one, and would be run on the reader's machine.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

func (h *handlers) exportGroups(ctx context.Context, t *table, q *query.Question, by query.Dimension) error {
	names := func() error {
		if t.begun {
			return nil
		}
		return t.begin(string(by), "clicks", "unique_visitors", "bot_clicks")
	}
	err := h.store.EachGroup(ctx, q, by, maxExportGroups, func(g query.Group) error {
		if err := names(); err != nil {
			return err
		}
		return t.line(append([]string{harmless(g.Value)}, figures(g.Counts)...)...)
	})
	if err != nil {
		return err
	}
	return names()
}

func (h *handlers) exportSeries(ctx context.Context, t *table, q *query.Question, starts []time.Time) error {
	buckets, err := h.store.Series(ctx, q, starts)
	if err != nil {
		return err
	}
	if err := t.begin("t", "clicks", "unique_visitors", "bot_clicks"); err != nil {
		return err
	}
	for _, b := range buckets {
		if err := t.line(append([]string{b.T.In(q.Period.Zone).Format(time.RFC3339)}, figures(b.Counts)...)...); err != nil {
			return err
		}
	}
	return nil
}

func figures(c query.Counts) []string {
	return []string{strconv.FormatUint(c.Clicks, 10), strconv.FormatUint(c.UniqueVisitors, 10), strconv.FormatUint(c.BotClicks, 10)}
}

func (h *handlers) exportClicks(ctx context.Context, t *table, q *query.Question) error {
	names := func() error {
		if t.begun {
			return nil
		}
		return t.begin("t", "click_id", "link_id", "host", "slug", "status", "edge_region", "visitor", "bot", "bot_kind", "country", "region", "city", "continent",
			"device", "os", "browser", "language", "referrer", "referrer_source", "referrer_medium", "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content",
			"variant", "rule", "source")
	}
	err := h.store.EachClick(ctx, q, func(c *query.Click) error {
		if err := names(); err != nil {
			return err
		}
		return t.line(
			c.At.In(q.Period.Zone).Format("2006-01-02T15:04:05.000Z07:00"), c.ID.String(), c.LinkID.String(), harmless(c.Host), harmless(c.Slug),
			strconv.Itoa(int(c.Status)), harmless(c.EdgeRegion),
			// With a letter in front, or a spreadsheet rounds it.
			"v"+strconv.FormatUint(c.Visitor, 16), strconv.FormatBool(c.Bot), harmless(c.BotKind),
			harmless(c.Country), harmless(c.Region), harmless(c.City), harmless(c.Continent), harmless(c.Device), harmless(c.OS), harmless(c.Browser), harmless(c.Language),
			harmless(c.Referrer), harmless(c.ReferrerSource), harmless(c.RefMedium), harmless(c.UTMSource), harmless(c.UTMMedium), harmless(c.UTMCampaign), harmless(c.UTMTerm), harmless(c.UTMContent),
			strconv.Itoa(int(c.Variant)), strconv.Itoa(int(c.Rule)), harmless(c.Source))
	})
	if err != nil {
		return err
	}
	return names()
}
