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
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// domainStore keeps the domains. Its errors are those of package link.
type domainStore interface {
	MakeDomain(ctx context.Context, n link.NewDomain) (*link.DomainRecord, error)
	Domain(ctx context.Context, workspace, id uuid.UUID) (*link.DomainRecord, error)
	Domains(ctx context.Context, workspace uuid.UUID, after *link.DomainPosition, limit int) (link.DomainPage, error)
	EditDomain(ctx context.Context, workspace, id uuid.UUID, meant link.Precondition, c *link.CheckedDomain) (*link.DomainRecord, error)
	DeleteDomain(ctx context.Context, workspace, id uuid.UUID, meant link.Precondition) error
}

type domainsAPI struct {
	domains domainStore
	rules   link.Rules
	log     *slog.Logger
}

// RegisterDomains adds the operations on domains to h. Whoever makes links has to see
// the domains they may live on; to change one is to change the addresses of the whole
// workspace, and takes admin.
func RegisterDomains(h huma.API, domains domainStore, log *slog.Logger) {
	a := &domainsAPI{domains: domains, log: log}
	tags, read, admin := []string{"domains"}, httpapi.Needs(access.LinksRead), httpapi.Needs(access.Admin)
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "domains", Description: "Hosts that short links live on: the workspace's own, and those that the installation lends to all."})
	huma.Register(h, huma.Operation{
		OperationID: "create-domain", Method: http.MethodPost, Path: "/v1/domains", Summary: "Create a domain",
		Description:   "Links can be made on it at once, and every edge answers for it within two seconds. That the host leads to the edges, and has a certificate, is up to its owner.",
		DefaultStatus: http.StatusCreated, Tags: tags, Security: admin, Errors: []int{400, 401, 403, 409, 413, 415, 422, 503},
	}, a.create)
	huma.Register(h, huma.Operation{
		OperationID: "list-domains", Method: http.MethodGet, Path: "/v1/domains", Summary: "List domains, newest first",
		Tags: tags, Security: read, RejectUnknownQueryParameters: true, Errors: []int{401, 403, 422, 503},
	}, a.list)
	huma.Register(h, huma.Operation{
		OperationID: "get-domain", Method: http.MethodGet, Path: "/v1/domains/{id}", Summary: "Get a domain",
		Tags: tags, Security: read, SkipValidateParams: true, Errors: []int{401, 403, 404, 503},
	}, a.get)
	huma.Register(h, huma.Operation{
		OperationID: "edit-domain", Method: http.MethodPatch, Path: "/v1/domains/{id}", Summary: "Change a domain",
		Description: "A JSON merge patch: fields that are left out stay, null clears. Every edge knows within two seconds. The host stays, and so does the case rule while links live on the domain.",
		Tags:        tags, Security: admin, SkipValidateParams: true, Errors: []int{400, 401, 403, 404, 409, 412, 413, 415, 422, 503},
	}, a.edit)
	huma.Register(h, huma.Operation{
		OperationID: "delete-domain", Method: http.MethodDelete, Path: "/v1/domains/{id}", Summary: "Delete a domain",
		Description:   "Refused with 409 while links live on it.",
		DefaultStatus: http.StatusNoContent, Tags: tags, Security: admin, SkipValidateParams: true, Errors: []int{400, 401, 403, 404, 409, 412, 503},
	}, a.delete)
}

// DomainFields are what may be changed of a domain. (huma sees exported embedded structs
// only.)
type DomainFields struct {
	HomeURL       field[string] `json:"home_url,omitzero" doc:"Where / leads, with a 302; a neutral page when left out or null" example:"https://example.com/"`
	FallbackURL   field[string] `json:"fallback_url,omitzero" doc:"Where an unknown slug leads instead of a 404, and an expired link without a fallback of its own instead of a 410, with a 302" example:"https://example.com/not-found"`
	PreviewPages  field[bool]   `json:"preview_pages,omitzero" doc:"Whether a + behind a slug shows a page that says where the link leads, without a click; true when left out or null" example:"true"`
	CaseSensitive field[bool]   `json:"case_sensitive,omitzero" doc:"Whether a and A are two slugs; true when left out or null" example:"true"`
}

func (f *DomainFields) change() link.DomainChange {
	c := link.DomainChange{HomeURL: f.HomeURL.edit(), FallbackURL: f.FallbackURL.edit(), CaseSensitive: f.CaseSensitive.edit(), PreviewPages: f.PreviewPages.edit()}
	if f.CaseSensitive.Null {
		c.CaseSensitive.Value = true
	}
	if f.PreviewPages.Null {
		c.PreviewPages.Value = true
	}
	return c
}

type newDomainBody struct {
	Host string `json:"host" doc:"A host name, in Unicode or punycode, without scheme and port" example:"go.example.com"`
	DomainFields
}

type editDomainBody struct{ DomainFields }

type newDomainInput struct{ Body newDomainBody }

// DomainID is the id in a path. (huma sees exported embedded structs only.)
type DomainID struct {
	ID string `path:"id" format:"uuid" doc:"Id of the domain"`
}

type getDomainInput struct{ DomainID }

type editDomainInput struct {
	DomainID
	IfMatch string `header:"If-Match" doc:"ETag of the version that is meant; 412 when the domain has another"`
	Body    editDomainBody
}

type deleteDomainInput struct {
	DomainID
	IfMatch string `header:"If-Match" doc:"ETag of the version that is meant; 412 when the domain has another"`
}

type domainView struct {
	ID            string    `json:"id" format:"uuid"`
	Host          string    `json:"host" example:"xn--bcher-kva.example" doc:"As browsers send it, and as links name it: lower case, punycode"`
	UnicodeHost   string    `json:"unicode_host" example:"bücher.example" doc:"As people read it"`
	HomeURL       *string   `json:"home_url" nullable:"true"`
	FallbackURL   *string   `json:"fallback_url" nullable:"true"`
	PreviewPages  bool      `json:"preview_pages"`
	CaseSensitive bool      `json:"case_sensitive"`
	Shared        bool      `json:"shared" doc:"The installation's: every workspace may use it, and none change it"`
	Version       uint64    `json:"version" minimum:"1" doc:"Counts the domain's changes; also its ETag"`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
}

func viewDomain(d *link.DomainRecord) domainView {
	v := domainView{
		ID: d.ID.String(), Host: d.Host, UnicodeHost: d.UnicodeHost(), PreviewPages: d.PreviewPages, CaseSensitive: d.CaseSensitive, Shared: d.Shared(),
		Version: d.Version, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
	}
	if d.HomeURL != "" {
		v.HomeURL = &d.HomeURL
	}
	if d.FallbackURL != "" {
		v.FallbackURL = &d.FallbackURL
	}
	return v
}

type createdDomainOutput struct {
	Location string `header:"Location" doc:"Address of the domain in this API"`
	ETag     string `header:"ETag" doc:"The domain's version"`
	Body     domainView
}

type domainOutput struct {
	ETag string `header:"ETag" doc:"The domain's version"`
	Body domainView
}

type domainsOutput struct {
	Body struct {
		Data       []domainView `json:"data" nullable:"false"`
		NextCursor *string      `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

func (a *domainsAPI) create(ctx context.Context, in *newDomainInput) (*createdDomainOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	seed, err := idempotency.SeedOf(ctx)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	change := in.Body.change()
	change.Host = link.Some(in.Body.Host)
	checked, err := a.rules.CheckNewDomain(change)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	d, err := a.domains.MakeDomain(ctx, link.NewDomain{WorkspaceID: workspace, ID: seed.ID, MayExist: seed.Retried, Checked: checked})
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &createdDomainOutput{Location: "/v1/domains/" + d.ID.String(), ETag: etag(d.Version), Body: viewDomain(d)}, nil
}

func (a *domainsAPI) get(ctx context.Context, in *getDomainInput) (*domainOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	d, err := a.domains.Domain(ctx, workspace, id.UUID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &domainOutput{ETag: etag(d.Version), Body: viewDomain(d)}, nil
}

func (a *domainsAPI) list(ctx context.Context, in *pageInput) (*domainsOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var after *link.DomainPosition
	if in.Cursor != "" {
		p := decodeCursor(cursorOfDomains, in.Cursor)
		if p == nil {
			return nil, problem(ctx, a.log, link.FieldErrors{{Field: "cursor", Code: link.CodeInvalid, Detail: "this is no next_cursor of a list of domains"}})
		}
		after = &link.DomainPosition{CreatedAt: p.createdAt, ID: p.id}
	}
	page, err := a.domains.Domains(ctx, workspace, after, in.Limit)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &domainsOutput{}
	out.Body.Data = make([]domainView, len(page.Domains))
	for i := range page.Domains {
		out.Body.Data[i] = viewDomain(&page.Domains[i])
	}
	if page.Next != nil {
		cursor := encodeCursor(cursorOfDomains, page.Next.CreatedAt, page.Next.ID)
		out.Body.NextCursor = &cursor
	}
	return out, nil
}

func (a *domainsAPI) edit(ctx context.Context, in *editDomainInput) (*domainOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	match, err := precondition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	checked, err := a.rules.CheckDomainEdit(in.Body.change())
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	d, err := a.domains.EditDomain(ctx, workspace, id.UUID, match, checked)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &domainOutput{ETag: etag(d.Version), Body: viewDomain(d)}, nil
}

func (a *domainsAPI) delete(ctx context.Context, in *deleteDomainInput) (*struct{}, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	match, err := precondition(in.IfMatch)
	if err != nil {
		return nil, err
	}
	if err := a.domains.DeleteDomain(ctx, workspace, id.UUID, match); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return nil, nil
}
