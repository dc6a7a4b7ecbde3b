package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
)

// problem is what a caller is told of an error, once: what is our fault goes to the
// log with all that the caller does not need to know.
func problem(ctx context.Context, log *slog.Logger, err error) error {
	return httpapi.Report(ctx, log, told(err), err)
}

// told translates the domain's errors into what callers see.
func told(err error) *httpapi.Problem {
	var (
		wrong endpoint.WrongError
		ready *httpapi.Problem
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &wrong):
		fields := make([]httpapi.FieldError, len(wrong))
		for i, f := range wrong {
			fields[i] = httpapi.FieldError(f)
		}
		return httpapi.Invalid(fields...)
	case errors.Is(err, endpoint.ErrNotFound):
		return httpapi.NewProblem(http.StatusNotFound, "not_found", "There is no such thing in this workspace.")
	case errors.Is(err, endpoint.ErrStale):
		return httpapi.NewProblem(http.StatusPreconditionFailed, "stale_version", "It has changed since the version in If-Match.")
	case errors.Is(err, endpoint.ErrTooMany):
		return httpapi.NewProblem(http.StatusConflict, "too_many_webhooks", "A workspace has at most 20 endpoints.")
	case errors.Is(err, endpoint.ErrDisabled):
		return httpapi.NewProblem(http.StatusConflict, "webhook_disabled", "The endpoint is disabled: enable it first.")
	case errors.Is(err, endpoint.ErrUnavailable), errors.Is(err, access.ErrUnavailable):
		return httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "The store cannot be reached. The request can be tried again.")
	default:
		return httpapi.NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id.")
	}
}
