package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// templateStore keeps the campaign templates. Its errors are those of package link.
type templateStore interface {
	MakeTemplate(ctx context.Context, n link.NewTemplate) (link.Template, error)
	Template(ctx context.Context, workspace, id uuid.UUID) (link.Template, error)
	Templates(ctx context.Context, workspace uuid.UUID, after *link.TemplatePosition, limit int) ([]link.Template, error)
	EditTemplate(ctx context.Context, workspace, id uuid.UUID, c *link.TemplateChange) (link.Template, error)
	DeleteTemplate(ctx context.Context, workspace, id uuid.UUID) error
}

type templatesAPI struct {
	templates templateStore
	log       *slog.Logger
}

// RegisterTemplates adds the operations on campaign templates to h.
func RegisterTemplates(h huma.API, templates templateStore, log *slog.Logger) {
	a := &templatesAPI{templates: templates, log: log}
	tags, read, write := []string{"utm-templates"}, httpapi.Needs(access.LinksRead), httpapi.Needs(access.LinksWrite)
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{
		Name:        "utm-templates",
		Description: "Campaign parameters under a name, to fill links with. A link that was filled with one does not follow its changes.",
	})
	huma.Register(h, huma.Operation{
		OperationID: "create-utm-template", Method: http.MethodPost, Path: "/v1/utm-templates", Summary: "Create a campaign template",
		Description:   "A workspace has 200 at most.",
		DefaultStatus: http.StatusCreated, Tags: tags, Security: write, Errors: []int{400, 401, 403, 409, 413, 415, 422, 503},
	}, a.create)
	huma.Register(h, huma.Operation{
		OperationID: "list-utm-templates", Method: http.MethodGet, Path: "/v1/utm-templates", Summary: "List campaign templates, newest first",
		Tags: tags, Security: read, RejectUnknownQueryParameters: true, Errors: []int{401, 403, 422, 503},
	}, a.list)
	huma.Register(h, huma.Operation{
		OperationID: "get-utm-template", Method: http.MethodGet, Path: "/v1/utm-templates/{id}", Summary: "Get a campaign template",
		Tags: tags, Security: read, SkipValidateParams: true, Errors: []int{401, 403, 404, 503},
	}, a.get)
	huma.Register(h, huma.Operation{
		OperationID: "edit-utm-template", Method: http.MethodPatch, Path: "/v1/utm-templates/{id}", Summary: "Change a campaign template",
		Description: "A JSON merge patch: fields that are left out stay, null clears. Links that were filled with it keep what they have.",
		Tags:        tags, Security: write, SkipValidateParams: true, Errors: []int{400, 401, 403, 404, 409, 413, 415, 422, 503},
	}, a.edit)
	huma.Register(h, huma.Operation{
		OperationID: "delete-utm-template", Method: http.MethodDelete, Path: "/v1/utm-templates/{id}", Summary: "Delete a campaign template",
		DefaultStatus: http.StatusNoContent, Tags: tags, Security: write, SkipValidateParams: true, Errors: []int{401, 403, 404, 503},
	}, a.delete)
}

type newTemplateInput struct {
	Body struct {
		Name string    `json:"name" minLength:"1" maxLength:"100" example:"Newsletter" doc:"To tell templates apart: no two of a workspace have the same"`
		UTM  UTMFields `json:"utm" example:"{\"source\": \"newsletter\", \"medium\": \"email\"}" doc:"One parameter at least"`
	}
}

// TemplateID is the id in a path. (huma sees exported embedded structs only.)
type TemplateID struct {
	ID string `path:"id" format:"uuid" doc:"Id of the template"`
}

type templateInput struct{ TemplateID }

type editTemplateInput struct {
	TemplateID
	Body struct {
		Name field[string]    `json:"name,omitzero" minLength:"1" maxLength:"100" example:"Newsletter"`
		UTM  field[UTMFields] `json:"utm,omitzero" example:"{\"medium\": \"email\"}" doc:"Parameters that are left out stay, null clears one. One at least stays."`
	}
}

type templateView struct {
	ID        string         `json:"id" format:"uuid" example:"01a22c60-f107-73b4-a642-cb8fa6799a62"`
	Name      string         `json:"name" example:"Newsletter"`
	UTM       linkoption.UTM `json:"utm"`
	CreatedAt time.Time      `json:"created_at" example:"2026-11-30T12:00:00Z"`
	UpdatedAt time.Time      `json:"updated_at" example:"2026-11-30T12:00:00Z"`
}

func viewTemplate(t link.Template) templateView {
	return templateView{ID: t.ID.String(), Name: t.Name, UTM: t.UTM, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt}
}

type createdTemplateOutput struct {
	Location string `header:"Location" doc:"Address of the template in this API"`
	Body     templateView
}

type templateOutput struct{ Body templateView }

type templatesOutput struct {
	Body struct {
		Data       []templateView `json:"data" nullable:"false"`
		NextCursor *string        `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

func (a *templatesAPI) create(ctx context.Context, in *newTemplateInput) (*createdTemplateOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	seed, err := idempotency.SeedOf(ctx)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	change := link.TemplateChange{Name: link.Some(in.Body.Name), UTM: utmChange(field[UTMFields]{Sent: true, Value: in.Body.UTM})}
	t, err := change.On(link.Template{ID: seed.ID})
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	if t, err = a.templates.MakeTemplate(ctx, link.NewTemplate{Template: t, WorkspaceID: workspace}); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &createdTemplateOutput{Location: "/v1/utm-templates/" + t.ID.String(), Body: viewTemplate(t)}, nil
}

func (a *templatesAPI) get(ctx context.Context, in *templateInput) (*templateOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	t, err := a.templates.Template(ctx, workspace, id.UUID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &templateOutput{Body: viewTemplate(t)}, nil
}

func (a *templatesAPI) list(ctx context.Context, in *pageInput) (*templatesOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var after *link.TemplatePosition
	if in.Cursor != "" {
		p := decodeCursor(cursorOfTemplates, in.Cursor)
		if p == nil {
			return nil, problem(ctx, a.log, link.FieldErrors{{Field: "cursor", Code: link.CodeInvalid, Detail: "this is no next_cursor of a list of campaign templates"}})
		}
		after = &link.TemplatePosition{CreatedAt: p.createdAt, ID: p.id}
	}
	templates, err := a.templates.Templates(ctx, workspace, after, in.Limit+1)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &templatesOutput{}
	out.Body.Data, out.Body.NextCursor = page(cursorOfTemplates, templates, in.Limit, viewTemplate, func(t link.Template) position {
		return position{createdAt: t.CreatedAt, id: t.ID}
	})
	return out, nil
}

func (a *templatesAPI) edit(ctx context.Context, in *editTemplateInput) (*templateOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	change := link.TemplateChange{Name: in.Body.Name.edit(), UTM: utmChange(in.Body.UTM)}
	t, err := a.templates.EditTemplate(ctx, workspace, id.UUID, &change)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &templateOutput{Body: viewTemplate(t)}, nil
}

func (a *templatesAPI) delete(ctx context.Context, in *templateInput) (*struct{}, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	if err := a.templates.DeleteTemplate(ctx, workspace, id.UUID); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return nil, nil
}
