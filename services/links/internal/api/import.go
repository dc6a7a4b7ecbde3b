package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/idempotency"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/transfer"
)

const (
	// uploadTimeout is how long a file may take to arrive: 100 MiB at 1.4 megabits a second.
	uploadTimeout = 10 * time.Minute

	// maxRepeatable bounds a file that comes with an Idempotency-Key, which is held in
	// memory to be compared.
	maxRepeatable = 16 << 20
)

// imports take files. Their errors are those of packages link and transfer.
type imports interface {
	Upload(ctx context.Context, workspace, id uuid.UUID, o transfer.Options, file io.Reader) (*transfer.Job, error)
	Find(ctx context.Context, workspace, id uuid.UUID) (*transfer.Job, error)
	List(ctx context.Context, workspace, before uuid.UUID, limit int) ([]transfer.Job, error)
	Cancel(ctx context.Context, workspace, id uuid.UUID) error
	Report(ctx context.Context, id uuid.UUID, w io.Writer) error
}

type importAPI struct {
	imports imports
	log     *slog.Logger
}

// RegisterImports adds the operations on imports to h.
func RegisterImports(h huma.API, i imports, log *slog.Logger) {
	a := &importAPI{imports: i, log: log}
	tags := []string{"imports"}
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "imports", Description: "Links from files."})
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "The file"}}
	huma.Register(h, huma.Operation{
		OperationID: "import-links", Method: http.MethodPost, Path: "/v1/imports", Summary: "Make links from a file",
		Description: "Takes CSV, JSON lines, or a file of Bitly, YOURLS, Shlink, Kutt or Dub, as the body or as the part `file` of a form: 100 MiB and 1,000,000 rows at most " +
			"(16 MiB with an Idempotency-Key). The answer comes when the file has been read; its links are made after that, each row once, whatever is restarted meanwhile. " +
			"A row that the rules refuse fails alone; the report says why. A workspace has three imports under way at most; an import counts as one request. " +
			"What another tool counted, and when it made a link, goes into the link's notes. Rows with a password fail: passwords are not imported.",
		DefaultStatus: http.StatusAccepted, Tags: tags, Security: httpapi.Needs(access.LinksWrite), RejectUnknownQueryParameters: true,
		MaxBodyBytes: maxRepeatable, BodyReadTimeout: uploadTimeout,
		Errors: []int{400, 401, 403, 408, 409, 413, 422, 503},
	}, a.upload)
	// Said after it is registered: huma would read and judge a body that it knows of.
	h.OpenAPI().Paths["/v1/imports"].Post.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"text/csv": text, "application/x-ndjson": text, "application/octet-stream": text,
		"multipart/form-data": {Schema: &huma.Schema{Type: huma.TypeObject, Required: []string{"file"}, Properties: map[string]*huma.Schema{
			"file": {Type: huma.TypeString, Format: "binary", Description: "The file"},
		}}},
	}}
	huma.Register(h, huma.Operation{
		OperationID: "list-imports", Method: http.MethodGet, Path: "/v1/imports", Summary: "List imports, newest first",
		Description: "Those of the last 30 days.",
		Tags:        tags, Security: httpapi.Needs(access.LinksRead), RejectUnknownQueryParameters: true,
		Errors: []int{401, 403, 422, 503},
	}, a.list)
	huma.Register(h, huma.Operation{
		OperationID: "get-import", Method: http.MethodGet, Path: "/v1/imports/{id}", Summary: "How far an import is",
		Tags: tags, Security: httpapi.Needs(access.LinksRead), SkipValidateParams: true,
		Errors: []int{401, 403, 404, 503},
	}, a.get)
	huma.Register(h, huma.Operation{
		OperationID: "get-import-report", Method: http.MethodGet, Path: "/v1/imports/{id}/report", Summary: "What became of each row",
		Description: "CSV with the columns row, slug, status (created, renamed, skipped, failed), code, detail and link_id, in the order of the file, for the rows that are done. " +
			"Rows are numbered as a spreadsheet shows them: the line of names is 1. Reports are kept for 30 days.",
		Tags: tags, Security: httpapi.Needs(access.LinksRead), SkipValidateParams: true,
		Responses: streamed("The report", "text/csv"), Errors: []int{401, 403, 404, 503},
	}, a.report)
	huma.Register(h, huma.Operation{
		OperationID: "cancel-import", Method: http.MethodDelete, Path: "/v1/imports/{id}", Summary: "Cancel an import",
		Description:   "Links that were made stay, the other rows are dropped. One that is over stays as it is.",
		DefaultStatus: http.StatusNoContent, Tags: tags, Security: httpapi.Needs(access.LinksWrite), SkipValidateParams: true,
		Errors: []int{401, 403, 404, 503},
	}, a.cancel)
}

// streamed is what is said of an answer that huma does not write.
func streamed(description string, types ...string) map[string]*huma.Response {
	content := map[string]*huma.MediaType{}
	for _, t := range types {
		content[t] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return map[string]*huma.Response{"200": {Description: description, Content: content}}
}

type importInput struct {
	Format      string `query:"format" enum:"auto,csv,jsonl,bitly,yourls,shlink,kutt,dub" default:"auto" doc:"Whose file it is; auto looks at the first line"`
	Domain      string `query:"domain" doc:"Host on which all links are made. Without it rows of CSV and JSON lines say where, and all others go to the default domain."`
	OnConflict  string `query:"on_conflict" enum:"skip,fail,rename" default:"skip" doc:"What becomes of a row whose slug is taken: it is passed over, fails, or gets slug-2 and so on"`
	DryRun      bool   `query:"dry_run" doc:"Make nothing, report what would be made"`
	ContentType string `header:"Content-Type" hidden:"true"`

	body io.Reader
}

// Resolve implements huma.Resolver. It keeps the body, which huma would read into memory.
func (in *importInput) Resolve(ctx huma.Context) []error {
	_ = ctx.SetReadDeadline(time.Now().Add(uploadTimeout)) // the server's own limit is behind it
	in.body = ctx.BodyReader()
	return nil
}

// ImportIDParam is the id in a path.
type ImportIDParam struct {
	ID string `path:"id" format:"uuid" doc:"Id of the import"`
}

type importIDInput struct{ ImportIDParam }

type importOutput struct {
	Location string `header:"Location" doc:"Address of the import in this API"`
	Body     importView
}

type importView struct {
	ID             string     `json:"id" format:"uuid" example:"01a22c60-f107-73b4-a642-cb8fa6799a62"`
	State          string     `json:"state" enum:"uploading,queued,running,done,cancelled"`
	Format         string     `json:"format" enum:"auto,csv,jsonl,bitly,yourls,shlink,kutt,dub" doc:"What the file was taken for"`
	Charset        string     `json:"charset" example:"utf-8" doc:"What its text was taken for; windows-1252 when some rows are not valid UTF-8"`
	Domain         *string    `json:"domain" nullable:"true" example:"go.example.com"`
	OnConflict     string     `json:"on_conflict" enum:"skip,fail,rename"`
	DryRun         bool       `json:"dry_run"`
	IgnoredColumns []string   `json:"ignored_columns" nullable:"false" example:"[\"Owner\"]" doc:"Columns that nothing was read from"`
	Total          int64      `json:"total" example:"2000" doc:"Rows of the file"`
	Read           int64      `json:"read" example:"1500" doc:"Rows that are done"`
	Created        int64      `json:"created" example:"1490" doc:"Links that were made, renamed ones among them; in a dry run, that would be"`
	Renamed        int64      `json:"renamed" example:"0"`
	Skipped        int64      `json:"skipped" example:"7"`
	Failed         int64      `json:"failed" example:"3"`
	CreatedAt      time.Time  `json:"created_at" example:"2026-11-30T12:00:00Z"`
	UpdatedAt      time.Time  `json:"updated_at" example:"2026-11-30T12:00:00Z"`
	FinishedAt     *time.Time `json:"finished_at" nullable:"true" example:"2026-11-30T12:00:00Z"`
}

func viewImport(j *transfer.Job) importView {
	v := importView{
		ID: j.ID.String(), State: string(j.State), Format: string(j.Format), Charset: j.Charset, OnConflict: string(j.OnConflict), DryRun: j.DryRun,
		IgnoredColumns: j.Ignored, Total: j.Total, Read: j.Read(), Created: j.Created, Renamed: j.Renamed, Skipped: j.Skipped, Failed: j.Failed,
		CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt, FinishedAt: j.FinishedAt,
	}
	if j.Domain != "" {
		v.Domain = &j.Domain
	}
	return v
}

func (a *importAPI) upload(ctx context.Context, in *importInput) (*importOutput, error) {
	id, err := access.FromContext(ctx)
	if err != nil {
		return nil, err
	}
	// The file is read at its own pace; each question to the store has a limit.
	file, err := fileOf(in.ContentType, in.body)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	seed, err := idempotency.SeedOf(ctx)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	j, err := a.imports.Upload(ctx, id.WorkspaceID, seed.ID, transfer.Options{
		Format: transfer.Format(in.Format), Domain: in.Domain, OnConflict: transfer.Conflict(in.OnConflict), DryRun: in.DryRun,
	}, bodyReader{file})
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return &importOutput{Location: "/v1/imports/" + j.ID.String(), Body: viewImport(j)}, nil
}

// errNoFile is a form without a file.
var errNoFile = errors.New("the form has no file")

// fileOf is the file in a body: all of it, or a part of a form.
func fileOf(contentType string, body io.Reader) (io.Reader, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" {
		return body, nil //nolint:nilerr // any other type is that of a file
	}
	form := multipart.NewReader(body, params["boundary"])
	for {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errNoFile
		case err != nil:
			return nil, bodyError{err}
		case part.FormName() == "file" || part.FileName() != "":
			return part, nil
		}
	}
}

// bodyError is a fault of the way that a body came.
type bodyError struct{ error }

// Unwrap lets errors.As find a timeout.
func (e bodyError) Unwrap() error { return e.error }

// bodyReader marks what goes wrong with a body as such.
type bodyReader struct{ r io.Reader }

// Read implements io.Reader.
func (b bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyError{err}
	}
	return n, err
}

func (a *importAPI) get(ctx context.Context, in *importIDInput) (*struct{ Body importView }, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	j, err := a.find(ctx, workspace, in.ID)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return &struct{ Body importView }{viewImport(j)}, nil
}

type importsOutput struct {
	Body struct {
		Data       []importView `json:"data" nullable:"false"`
		NextCursor *string      `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

// list shows imports in the order of their ids, which is that of their creation.
func (a *importAPI) list(ctx context.Context, in *pageInput) (*importsOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	before := uuid.Max
	if in.Cursor != "" {
		at := decodeCursor(cursorOfImports, in.Cursor)
		if at == nil {
			return nil, a.problem(ctx, link.FieldErrors{{Field: "cursor", Code: link.CodeInvalid, Detail: "this is no next_cursor of a list of imports"}})
		}
		before = at.id
	}
	jobs, err := a.imports.List(ctx, workspace, before, in.Limit+1)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &importsOutput{}
	if len(jobs) > in.Limit {
		jobs = jobs[:in.Limit]
		last := jobs[in.Limit-1]
		cursor := encodeCursor(cursorOfImports, last.CreatedAt, last.ID)
		out.Body.NextCursor = &cursor
	}
	out.Body.Data = make([]importView, len(jobs))
	for i := range jobs {
		out.Body.Data[i] = viewImport(&jobs[i])
	}
	return out, nil
}

func (a *importAPI) find(ctx context.Context, workspace uuid.UUID, text string) (*transfer.Job, error) {
	id, err := parseID(text)
	if err != nil {
		return nil, err
	}
	return a.imports.Find(ctx, workspace, id.UUID)
}

func (a *importAPI) cancel(ctx context.Context, in *importIDInput) (*struct{}, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	id, err := parseID(in.ID)
	if err == nil {
		err = a.imports.Cancel(ctx, workspace, id.UUID)
	}
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return nil, nil
}

func (a *importAPI) report(ctx context.Context, in *importIDInput) (*huma.StreamResponse, error) {
	asking, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	j, err := a.find(asking, workspace, in.ID)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) { //nolint:contextcheck // it runs after this call, with the request's own context
		w := newDownload(hc, "text/csv; charset=utf-8; header=present", "linkstream-import-"+j.ID.String()+".csv")
		w.end(hc.Context(), a.imports.Report(hc.Context(), j.ID, w), a.log)
	}}, nil
}

// problem is what a caller is told of an error.
func (a *importAPI) problem(ctx context.Context, err error) error {
	var (
		file    transfer.FileError
		body    bodyError
		timeout net.Error
	)
	switch {
	case errors.As(err, &file):
		return httpapi.Invalid(httpapi.FieldError{Field: "file", Code: string(link.CodeInvalid), Detail: file.Error()})
	case errors.Is(err, errNoFile):
		return httpapi.Invalid(httpapi.FieldError{Field: "file", Code: string(link.CodeRequired), Detail: "the form needs a part named file"})
	case errors.Is(err, transfer.ErrTooLarge):
		return httpapi.NewProblem(http.StatusRequestEntityTooLarge, "body_too_large", "A file has 100 MiB and 1,000,000 rows at most. Split it: rows that were imported before are passed over.")
	case errors.Is(err, transfer.ErrTooMany):
		return httpapi.NewProblem(http.StatusConflict, "too_many_imports", "Three imports of this workspace are under way. Wait for one to end, or cancel it.")
	case errors.Is(err, transfer.ErrNotFound):
		err = link.ErrNotFound
	case errors.As(err, &body) && errors.As(err, &timeout) && timeout.Timeout():
		return httpapi.NewProblem(http.StatusRequestTimeout, "request_timeout", "The body came too slowly.")
	case errors.As(err, &body):
		return httpapi.NewProblem(http.StatusBadRequest, "malformed", "The body broke off before its end.")
	}
	return problem(ctx, a.log, err)
}

// ReadLink returns a reader of links as single calls take them.
func ReadLink(h huma.API) transfer.Reader {
	rows := newRowReader(h)
	return func(text []byte) (link.Change, error) {
		var body newLinkBody
		if p := rows.check(text, &body); p != nil {
			wrong := link.FieldErrors{}
			for _, f := range p.Errors {
				wrong = append(wrong, link.FieldError{Field: f.Field, Code: link.Code(f.Code), Detail: f.Detail})
			}
			if len(wrong) == 0 {
				wrong.Add("body", link.CodeInvalid, p.Detail)
			}
			return link.Change{}, wrong
		}
		return body.change(), nil
	}
}
