package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// tagStore reads the tags. Its errors are those of package link.
type tagStore interface {
	Tags(ctx context.Context, workspace uuid.UUID, beginning string, limit int) (link.Tags, error)
}

type tagsAPI struct {
	tags tagStore
	log  *slog.Logger
}

// RegisterTags adds the list of tags to h.
func RegisterTags(h huma.API, tags tagStore, log *slog.Logger) {
	a := &tagsAPI{tags: tags, log: log}
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "tags", Description: "Words that links are sorted by. A tag is there while a link has it."})
	huma.Register(h, huma.Operation{
		OperationID: "list-tags", Method: http.MethodGet, Path: "/v1/tags", Summary: "List tags, the most used first",
		Description: "For completion while somebody types, with `q`. The newest 100,000 links are counted, archived ones too.",
		Tags:        []string{"tags"}, Security: httpapi.Needs(access.LinksRead), RejectUnknownQueryParameters: true,
		Errors: []int{401, 403, 422, 503},
	}, a.list)
}

type tagsInput struct {
	Query string `query:"q" maxLength:"64" doc:"Tags that begin with this text, whatever its case"`
	Limit int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many tags at most"`
}

type tagView struct {
	Tag   string `json:"tag" example:"spring"`
	Links int64  `json:"links" minimum:"1" example:"12" doc:"How many links have it"`
}

type tagsOutput struct {
	Body struct {
		Data     []tagView `json:"data" nullable:"false"`
		Complete bool      `json:"complete" doc:"False when there are more links than were counted"`
	}
}

func (a *tagsAPI) list(ctx context.Context, in *tagsInput) (*tagsOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	tags, err := a.tags.Tags(ctx, workspace, in.Query, in.Limit)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &tagsOutput{}
	out.Body.Complete, out.Body.Data = tags.Whole, make([]tagView, len(tags.Tags))
	for i, t := range tags.Tags {
		out.Body.Data[i] = tagView{Tag: t.Name, Links: t.Links}
	}
	return out, nil
}
