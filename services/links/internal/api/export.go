package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/transfer"
)

// exportPage is how many links are read at once.
const exportPage = 500

func (a *api) registerExport(h huma.API, tags []string) {
	huma.Register(h, huma.Operation{
		OperationID: "export-links", Method: http.MethodGet, Path: "/v1/links/export", Summary: "Export links as CSV or JSON lines",
		Description: "All links that the list would show with the same filters, newest first, streamed; each that existed when the export began is in it once, unless it is deleted meanwhile. " +
			"Both forms can be imported again. CSV is for spreadsheets: a text that would be taken for a formula has a `'` before it, which the import takes away; " +
			"rules, variants, utm and preview are JSON in their cells. Passwords are in neither. An answer that breaks off is not whole: the connection is closed in a way that clients notice.",
		Tags: tags, Security: httpapi.Needs(access.LinksRead), RejectUnknownQueryParameters: true,
		Responses: streamed("The links", "text/csv", "application/x-ndjson"), Errors: []int{401, 403, 422, 503},
	}, a.export)
}

type exportInput struct {
	Format string `query:"format" enum:"csv,jsonl" default:"csv" doc:"CSV, or JSON lines: a link in each, as the API shows it"`
	LinkFilter
}

func (a *api) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	id, err := access.FromContext(ctx)
	if err != nil {
		return nil, err
	}
	kind := "text/csv; charset=utf-8; header=present"
	if in.Format == "jsonl" {
		kind = "application/x-ndjson"
	}
	filter := in.filter()
	return &huma.StreamResponse{Body: func(hc huma.Context) { //nolint:contextcheck // it runs after this call, with the request's own context
		w := newDownload(hc, kind, "linkstream-links."+in.Format)
		w.end(hc.Context(), a.writeLinks(hc.Context(), w, id.WorkspaceID, filter, in.Format), a.log)
	}}, nil
}

// writeLinks walks over the pages of the list: each is one short question, so an export
// that is read slowly holds no connection and no snapshot of the database.
func (a *api) writeLinks(ctx context.Context, w io.Writer, workspace uuid.UUID, f link.Filter, format string) error {
	write := func(l *link.Link) error {
		_, err := w.Write(transfer.AppendLink(nil, l, a.shortURLs.Link(l.Domain.Host, l.Slug)))
		return err
	}
	if format == "jsonl" {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		write = func(l *link.Link) error { return encoder.Encode(a.view(l)) }
	} else if _, err := w.Write(transfer.AppendNames(nil)); err != nil {
		return err
	}
	for after := (*link.Position)(nil); ; {
		asking, cancel := context.WithTimeout(ctx, requestTimeout)
		page, err := a.links.List(asking, workspace, f, after, exportPage)
		cancel()
		if err != nil {
			return err
		}
		for i := range page.Links {
			if err := write(&page.Links[i]); err != nil {
				return err
			}
		}
		if after = page.Next; after == nil {
			return nil
		}
	}
}

// LinkFilter are the parameters that select links. It is exported because huma sees
// exported embedded structs only.
type LinkFilter struct {
	Domain        string              `query:"domain" doc:"Links on this host"`
	Tag           string              `query:"tag" doc:"Links that have this tag"`
	Query         string              `query:"q" maxLength:"500" doc:"Links with this text in title, slug or destination, whatever its case"`
	Archived      optionalParam[bool] `query:"archived" doc:"Archived links only, or all others only; both when left out"`
	CreatedAfter  time.Time           `query:"created_after" doc:"Links created at this moment or later"`
	CreatedBefore time.Time           `query:"created_before" doc:"Links created before this moment"`
}

func (f *LinkFilter) filter() link.Filter {
	return link.Filter{
		Domain: f.Domain, Tag: f.Tag, Query: f.Query, Archived: f.Archived.pointer(),
		CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore,
	}
}
