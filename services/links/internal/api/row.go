package api

import (
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// rowReader reads links that come many at a time, by the same schema as single ones.
//
// Most are plain: strings, tags, a status, booleans, each at most once. These are read in
// one pass (see plainRow), in an eighth of the time. All others are checked and
// read as single ones are, and so is whatever is wrong: the short way knows no errors.
type rowReader struct {
	registry huma.Registry
	schema   *huma.Schema
	// short says that the schema asks of plain members what plainRow sees to, and no more.
	short bool
}

func newRowReader(h huma.API) *rowReader {
	registry := h.OpenAPI().Components.Schemas
	r := &rowReader{registry: registry, schema: registry.Schema(reflect.TypeFor[newLinkBody](), true, "")}
	r.short = plainSchema(registry, r.schema)
	return r
}

// read returns what is wrong with the row, or nil. The row is JSON: whoever took it out of
// the body has looked.
func (r *rowReader) read(text string, into *newLinkBody) *httpapi.Problem {
	if r.short && plainRow(text, into) {
		return nil
	}
	*into = newLinkBody{}
	return r.long([]byte(text), into)
}

// check is read for text that nobody has looked at.
func (r *rowReader) check(text []byte, into *newLinkBody) *httpapi.Problem {
	if !json.Valid(text) {
		return r.long(text, into)
	}
	return r.read(string(text), into)
}

func (r *rowReader) long(text []byte, into *newLinkBody) *httpapi.Problem {
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return httpapi.NewProblem(http.StatusBadRequest, "malformed", "The link cannot be read.")
	}
	path, result := huma.NewPathBuffer(make([]byte, 0, 64), 0), &huma.ValidateResult{}
	path.Push("body")
	huma.Validate(r.registry, r.schema, path, huma.ModeWriteToServer, tree, result)
	if len(result.Errors) > 0 {
		return httpapi.Invalid(httpapi.FieldErrors(result.Errors)...)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return httpapi.Invalid(httpapi.FieldErrors([]error{&huma.ErrorDetail{Location: "body", Message: err.Error()}})...)
	}
	return nil
}

// plainSchema says whether the schema wants of a plain row what plainRow reads, and
// nothing else: a limit that is added to it sends all rows the long way.
func plainSchema(registry huma.Registry, schema *huma.Schema) bool {
	if schema.Ref != "" {
		schema = registry.SchemaFromRef(schema.Ref)
	}
	const text, truth = `{"type":["string","null"]}`, `{"type":["boolean","null"]}`
	for name, want := range map[string]string{
		"destination": `{"type":"string"}`, "domain": text, "slug": text, "title": text, "notes": text, "fallback_url": text,
		"tags":        `{"items":{"type":"string"},"type":["array","null"]}`,
		"status_code": `{"enum":[301,302,307,308],"format":"int64","type":["integer","null"]}`,
		"archived":    truth, "disabled": truth, "forward_path": truth, "find_or_create": truth,
	} {
		if bare(schema.Properties[name]) != want {
			return false
		}
	}
	whole := *schema
	whole.Properties = nil
	return bare(&whole) == `{"additionalProperties":false,"required":["destination"],"type":"object"}`
}

// bare is what a schema asks for, without what it says.
func bare(s *huma.Schema) string {
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	members := map[string]any{}
	if json.Unmarshal(text, &members) != nil {
		return ""
	}
	for _, name := range []string{"description", "examples", "default", "title"} {
		delete(members, name)
	}
	text, err = json.Marshal(members)
	if err != nil {
		return ""
	}
	return string(text)
}
