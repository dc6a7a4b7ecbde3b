package apidoc

import (
	"bytes"
	_ "embed" // for the page's template and style
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle []byte

//go:embed page.js
var pageScript []byte

// referencePolicy is the content policy of the page with the whole reference. Beyond
// that of all pages it allows what Redoc makes itself: style elements, pictures in
// data URLs, and the worker that searches. Nothing comes from, or goes to, another
// host.
const referencePolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src 'self' blob:; " +
	"base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"

// Page shows the document to a person: as a whole reference where /docs/redoc.js is
// served, else as a list of the operations.
type Page struct {
	source    *Source
	template  *template.Template
	reference bool
}

// NewPage returns the page over a source. reference says whether /docs/redoc.js is
// served.
func NewPage(source *Source, reference bool) (*Page, error) {
	parsed, err := template.New("page").Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("reading the template of the API page: %w", err)
	}
	return &Page{source: source, template: parsed, reference: reference}, nil
}

// operation is one line of the page.
type operation struct {
	Method, Path, Summary, Description, Scope string
}

// group is the operations of one path segment after /v1/.
type group struct {
	Name       string
	Operations []operation
}

// view is what the template shows.
type view struct {
	Title, Version string
	Groups         []group
	Away           bool
	Reference      bool
}

// ServeHTTP answers with the page; without the document it says so with 503.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, v := http.StatusOK, view{Title: title, Version: version}
	doc, err := p.source.document(r.Context())
	if err == nil {
		v.Groups, err = groups(doc)
	}
	if err != nil {
		p.source.log.ErrorContext(r.Context(), "API page not served", "request_id", httpapi.RequestID(r.Context()), "err", err)
		w.Header().Set("Retry-After", "1")
		status, v.Away = http.StatusServiceUnavailable, true
	}
	if v.Reference = p.reference && !v.Away; v.Reference {
		w.Header().Set("Content-Security-Policy", referencePolicy)
	}
	var out bytes.Buffer
	if err := p.template.Execute(&out, v); err != nil {
		p.source.log.ErrorContext(r.Context(), "API page not rendered", "request_id", httpapi.RequestID(r.Context()), "err", err)
		httpapi.Write(r.Context(), w, httpapi.NewProblem(http.StatusInternalServerError, "internal", ""))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the client is gone: nobody to tell
}

// ServeStyle answers with the page's style sheet, which the content policy wants
// in a file of its own.
func (p *Page) ServeStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(pageStyle)
}

// ServeScript answers with the script that starts the reference.
func (p *Page) ServeScript(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(pageScript)
}

// methods are the members of a path item that are operations, in the order of a
// thing's life.
func methods() []string { return []string{"post", "get", "put", "patch", "delete", "head", "options"} }

func groups(doc []byte) ([]group, error) {
	var read document
	if err := json.Unmarshal(doc, &read); err != nil {
		return nil, fmt.Errorf("reading the merged document: %w", err)
	}
	var (
		out  []group
		errs []error
	)
	for _, path := range slices.Sorted(maps.Keys(read.Paths)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, group{Name: name})
		}
		last := &out[len(out)-1]
		for _, method := range methods() {
			raw, ok := read.Paths[path][method]
			if !ok {
				continue
			}
			op, err := parseOperation(method, path, raw)
			errs = append(errs, err)
			last.Operations = append(last.Operations, op)
		}
	}
	return out, errors.Join(errs...)
}

func parseOperation(method, path string, raw json.RawMessage) (operation, error) {
	var read struct {
		Summary     string                `json:"summary"`
		Description string                `json:"description"`
		Security    []map[string][]string `json:"security"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return operation{}, fmt.Errorf("reading %s %s: %w", method, path, err)
	}
	var scopes []string
	for _, requirement := range read.Security {
		for _, names := range requirement {
			scopes = append(scopes, names...)
		}
	}
	return operation{
		Method:      strings.ToUpper(method),
		Path:        path,
		Summary:     read.Summary,
		Description: read.Description,
		Scope:       strings.Join(scopes, ", "),
	}, nil
}
