package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// problem translates the domain's errors, once, into what callers see.
func (a *api) problem(ctx context.Context, err error) error {
	var invalid link.FieldErrors
	switch {
	case errors.As(err, &invalid):
		fields := make([]httpapi.FieldError, len(invalid))
		for i, f := range invalid {
			fields[i] = httpapi.FieldError{Field: f.Field, Code: string(f.Code), Detail: f.Detail}
		}
		return httpapi.Invalid(fields...)
	case errors.Is(err, link.ErrNotFound):
		return httpapi.NewProblem(http.StatusNotFound, "not_found", "There is no such link in this workspace.")
	case errors.Is(err, link.ErrSlugTaken):
		return httpapi.NewProblem(http.StatusConflict, "slug_taken", "Another link has this slug on this domain.")
	case errors.Is(err, link.ErrStale):
		return httpapi.NewProblem(http.StatusPreconditionFailed, "stale_version", "The link has changed since the version in If-Match.")
	case errors.Is(err, link.ErrUnavailable):
		a.log.ErrorContext(ctx, "request failed", "request_id", httpapi.RequestID(ctx), "err", err)
		return huma.ErrorWithHeaders(httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "The store cannot be reached. The request can be tried again."),
			http.Header{"Retry-After": {"1"}})
	default:
		if !errors.Is(err, context.Canceled) { // the caller went away: nobody's fault
			a.log.ErrorContext(ctx, "request failed", "request_id", httpapi.RequestID(ctx), "err", err)
		}
		return httpapi.NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id.")
	}
}
