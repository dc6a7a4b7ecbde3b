package api

import (
	"context"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

type listInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Links on a page"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	LinkFilter
	IDs []string `query:"id,explode" maxItems:"100" example:"[\"01a22c60-f107-73b4-a642-cb8fa6799a62\"]" doc:"These links only, the parameter repeated for each; ids of no link of the workspace are left out"`
}

// chosen are the ids that were asked for, without those that are none; nil when all links
// were.
func (in *listInput) chosen() []link.ID {
	if len(in.IDs) == 0 {
		return nil
	}
	ids := make([]link.ID, 0, len(in.IDs))
	for _, text := range in.IDs {
		if id, err := parseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

type listOutput struct {
	Body struct {
		Data       []linkView `json:"data" nullable:"false"`
		NextCursor *string    `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

func (a *api) list(ctx context.Context, in *listInput) (*listOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var after *link.Position
	if in.Cursor != "" {
		if after = linkPosition(decodeCursor(cursorOfLinks, in.Cursor)); after == nil {
			return nil, a.problem(ctx, link.FieldErrors{{Field: "cursor", Code: link.CodeInvalid, Detail: "this is no next_cursor of a list of links"}})
		}
	}
	filter := in.filter()
	filter.IDs = in.chosen()
	page, err := a.links.List(ctx, workspace, filter, after, in.Limit)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &listOutput{}
	out.Body.Data = make([]linkView, len(page.Links))
	for i := range page.Links {
		out.Body.Data[i] = a.view(&page.Links[i])
	}
	if page.Next != nil {
		cursor := encodeCursor(cursorOfLinks, page.Next.CreatedAt, page.Next.ID.UUID)
		out.Body.NextCursor = &cursor
	}
	return out, nil
}

func linkPosition(p *position) *link.Position {
	if p == nil {
		return nil
	}
	return &link.Position{CreatedAt: p.createdAt, ID: link.ID{UUID: p.id}}
}
