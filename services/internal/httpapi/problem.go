package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Problem is an error answer: RFC 9457 with a stable code.
type Problem struct { //nolint:errname // RFC 9457 calls it a problem
	Type      string       `json:"type" example:"about:blank" doc:"URI of the kind of problem"`
	Title     string       `json:"title" example:"Unprocessable Entity" doc:"The status in words"`
	Status    int          `json:"status" example:"422"`
	Detail    string       `json:"detail,omitempty" doc:"What went wrong, for a person"`
	Code      string       `json:"code" example:"validation" doc:"What went wrong, for a program; stable"`
	RequestID string       `json:"request_id,omitempty" doc:"Quote it when you ask for help"`
	Errors    []FieldError `json:"errors,omitempty" doc:"One entry for each field that is wrong"`
}

// FieldError is what is wrong with one field of a request.
type FieldError struct {
	Field  string `json:"field" example:"destination"`
	Code   string `json:"code" example:"invalid"`
	Detail string `json:"detail"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// NewProblem returns a problem with a code of its own. Its request id is filled
// in when it is written.
func NewProblem(status int, code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// Invalid is a 422 that names each wrong field.
func Invalid(fields ...FieldError) *Problem {
	p := NewProblem(http.StatusUnprocessableEntity, "validation", "The request has fields that are wrong; see errors.")
	p.Errors = fields
	return p
}

// Report is the border of an API's package: it returns the answer for err, which p is in
// the caller's words. What is our fault goes to the log with all that the caller does not
// need to know, unless the caller went away; what may be tried again says when.
func Report(ctx context.Context, log *slog.Logger, p *Problem, err error) error {
	if p.Status < http.StatusInternalServerError {
		return p
	}
	if !errors.Is(err, context.Canceled) { // nobody's fault
		log.ErrorContext(ctx, "request failed", "request_id", RequestID(ctx), "err", err)
	}
	if p.Status == http.StatusServiceUnavailable {
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {"1"}})
	}
	return p
}

// Write writes a problem outside huma: in middleware, for unknown routes.
func Write(ctx context.Context, w http.ResponseWriter, p *Problem) {
	answer := *p
	answer.RequestID = RequestID(ctx)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(answer.Status)
	_ = json.NewEncoder(w).Encode(&answer) // the client is gone: nobody to tell
}

// WriteProblem writes a problem from a middleware of an API, where huma.WriteErr would
// know its status only.
func WriteProblem(api huma.API, ctx huma.Context, p *Problem) error {
	answer := *p
	answer.RequestID = RequestID(ctx.Context())
	ctx.SetHeader("Content-Type", answer.ContentType(""))
	ctx.SetStatus(answer.Status)
	return api.Marshal(ctx.BodyWriter(), "application/json", &answer)
}

// FieldErrors are what huma's validation found wrong, field by field.
func FieldErrors(errs []error) []FieldError {
	var fields []FieldError
	for _, err := range errs {
		if detailer, ok := err.(huma.ErrorDetailer); ok {
			fields = append(fields, fieldError(detailer.ErrorDetail()))
		}
	}
	return fields
}

// newError is what huma calls for the errors it finds itself, and for errors of
// handlers that are no Problem.
func newError(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
	if status == http.StatusUnprocessableEntity && unreadable(errs) {
		status = http.StatusBadRequest
	}
	p := NewProblem(status, codeFor(status), message)
	if status == http.StatusUnprocessableEntity {
		p.Errors = FieldErrors(errs)
	}
	switch {
	case message == bodyUnread:
		p = NewProblem(http.StatusBadRequest, "malformed", "The body broke off before its end.")
	case status == http.StatusRequestTimeout:
		p.Detail = "The body came too slowly."
	case status == http.StatusBadRequest && message == validationFailed:
		p.Detail = "The body is not what it should be: " + firstMessage(errs) + "."
	case status == http.StatusUnsupportedMediaType:
		p.Detail = "Send the body as application/json."
	case status == http.StatusServiceUnavailable:
		p.Detail = "A part that is needed for this does not answer. Try again in a moment."
	case status >= http.StatusInternalServerError:
		p.Detail = "Something went wrong here. The request can be tried again; if it goes on, quote the request id."
	}
	if ctx != nil {
		p.RequestID = RequestID(ctx.Context())
	}
	return p
}

// What huma says: of every request it refuses, and of a body whose sender hung up.
const (
	validationFailed = "validation failed"
	bodyUnread       = "cannot read request body"
)

// unreadable says whether what is wrong is that the body is no JSON: of an operation
// that validates its body itself, huma reports that like a field.
func unreadable(errs []error) bool {
	if len(errs) != 1 {
		return false
	}
	message := firstMessage(errs)
	return strings.HasPrefix(message, "invalid character ") || message == "unexpected end of JSON input" || message == errNotUTF8.Error()
}

func firstMessage(errs []error) string {
	for _, err := range errs {
		if detailer, ok := err.(huma.ErrorDetailer); ok {
			return detailer.ErrorDetail().Message
		}
	}
	return "it cannot be read"
}

// wrongType takes apart what encoding/json says of a value that does not fit.
var wrongType = regexp.MustCompile(`^json: cannot unmarshal .*Go struct field \S*?(\w+) of type (\S+)$`)

// wanted is a Go type in a caller's words.
func wanted(goType string) string {
	switch strings.TrimLeft(goType, "*[]") {
	case "int", "int64", "uint64":
		return "a whole number"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "time.Time":
		return "a time as in RFC 3339"
	default:
		return "something else"
	}
}

// fieldError names the field that huma's validation complains of. Of a missing
// property huma reports the place where it should be, and the name in the text.
func fieldError(detail *huma.ErrorDetail) FieldError {
	e := FieldError{Field: strings.TrimPrefix(detail.Location, "body."), Code: "invalid", Detail: detail.Message}
	switch {
	case strings.HasPrefix(detail.Message, "expected required property "):
		e.Code = "required"
		name := strings.Fields(detail.Message)[3]
		if e.Field == "body" {
			e.Field = name
		} else {
			e.Field += "." + name
		}
	case wrongType.MatchString(detail.Message):
		parts := wrongType.FindStringSubmatch(detail.Message)
		e.Field, e.Detail = parts[1], "expected "+wanted(parts[2])
	case detail.Message == repeated:
		e.Code = "repeated"
	case detail.Message == "expected length >= 1", detail.Message == "expected array length >= 1":
		e.Code = "required"
	case strings.HasPrefix(detail.Message, "expected length >= "):
		e.Code = "too_short"
	case strings.HasPrefix(detail.Message, "expected length <= "):
		e.Code = "too_long"
	case strings.HasPrefix(detail.Message, "expected array length <= "):
		e.Code = "too_many"
	case detail.Message == "unexpected property", detail.Message == "unknown query parameter":
		e.Code = "unknown"
	}
	return e
}

// withRequestID fills in the request id of a problem that a handler returned.
func withRequestID(ctx huma.Context, _ string, v any) (any, error) {
	p, ok := v.(*Problem)
	if !ok || p.RequestID != "" {
		return v, nil
	}
	answer := *p
	answer.RequestID = RequestID(ctx.Context())
	return &answer, nil
}

// codeFor is the code of a problem that has only a status.
func codeFor(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "malformed"
	case http.StatusUnauthorized:
		return "unauthenticated"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusMethodNotAllowed:
		return "method_not_allowed"
	case http.StatusRequestTimeout:
		return "request_timeout"
	case http.StatusRequestEntityTooLarge:
		return "body_too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusUnprocessableEntity:
		return "validation"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusServiceUnavailable:
		return "unavailable"
	default:
		return "internal"
	}
}
