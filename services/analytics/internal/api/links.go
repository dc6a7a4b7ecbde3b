package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/access"
)

func (h *handlers) registerLinks(api huma.API) {
	huma.Register(api, operation("list-link-figures", "/v1/analytics/links", "Links with their figures, sorted by them",
		"A page of links with counts of the period, the last click and a sparkline, answered by one question to the click store. "+
			"Links without a click are there too, behind the others. With `link_id` (up to 100) the figures of those links. "+
			"Deleted links are left out unless `link_id` names them.",
		query.Link, query.Domain, query.Tag), h.list)
}

type linksInput struct {
	PeriodParams
	FilterParams
	Sort      query.Order `query:"sort" enum:"clicks,last_click,created" default:"clicks" doc:"What is sorted by, the highest or latest first: clicks of the period, the last click ever, or when the link was made"`
	Q         string      `query:"q" maxLength:"500" doc:"Links with this text in title, slug or destination, whatever its case"`
	Archived  string      `query:"archived" enum:"true,false" doc:"Archived links only, or all others only; both when left out"`
	Sparkline int         `query:"sparkline" minimum:"0" maximum:"92" default:"0" doc:"How many buckets a sparkline has at most; each is a whole number of hours"`
	Limit     int         `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Links on a page"`
	Cursor    string      `query:"cursor" doc:"next_cursor of the page before"`
}

type linksOutput struct {
	Body struct {
		Data       []query.LinkFigures `json:"data" nullable:"false"`
		Buckets    []time.Time         `json:"buckets" nullable:"false" doc:"When the buckets of the sparklines start"`
		NextCursor *string             `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

func (h *handlers) list(ctx context.Context, in *linksInput) (*linksOutput, error) {
	id, err := access.FromContext(ctx)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	q, err := h.question(ctx, &in.PeriodParams, &in.FilterParams)
	if err != nil {
		return nil, err
	}
	if err := h.knowsLinks(ctx); err != nil {
		return nil, err
	}
	list := query.LinkList{Order: in.Sort, Limit: in.Limit, Points: in.Sparkline, Text: in.Q}
	if in.Archived != "" {
		archived := in.Archived == "true"
		list.Archived = &archived
	}
	if in.Cursor != "" {
		if list.After = decodeCursor(in.Sort, in.Cursor); list.After == nil {
			var wrong mistakes
			wrong.add("cursor", "invalid", "It is no next_cursor of this list.")
			return nil, wrong.err()
		}
	}
	page, err := h.store.Links(ctx, q, list)
	if err != nil {
		return nil, h.translate(ctx, err)
	}
	if !id.May(access.LinksRead) {
		for i := range page.Links {
			page.Links[i].Link = nil
		}
	}
	out := &linksOutput{}
	out.Body.Data, out.Body.Buckets = page.Links, page.Buckets
	if page.Next != nil {
		cursor := encodeCursor(in.Sort, page.Next)
		out.Body.NextCursor = &cursor
	}
	return out, nil
}

// A cursor is the order, the figure of the last link on the page and its id.
func encodeCursor(order query.Order, p *query.LinkPosition) string {
	b := binary.BigEndian.AppendUint64([]byte{order[0]}, p.Figure)
	return base64.RawURLEncoding.EncodeToString(append(b, p.Link[:]...))
}

// decodeCursor returns nil for what encodeCursor did not write for this order.
func decodeCursor(order query.Order, s string) *query.LinkPosition {
	const size = 1 + 8 + 16
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != size || b[0] != order[0] {
		return nil
	}
	return &query.LinkPosition{Figure: binary.BigEndian.Uint64(b[1:9]), Link: uuid.UUID(b[9:])}
}
