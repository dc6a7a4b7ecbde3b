package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/internal/qrcode"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/link"
)

// problem is what a caller is told of an error, once: what is our fault goes to the
// log with all that the caller does not need to know.
func (a *api) problem(ctx context.Context, err error) error { return problem(ctx, a.log, err) }

func problem(ctx context.Context, log *slog.Logger, err error) error {
	return httpapi.Report(ctx, log, told(err), err)
}

// told translates the domain's errors into what callers see.
func told(err error) *httpapi.Problem {
	var (
		invalid link.FieldErrors
		wrong   account.WrongError
		inUse   *link.DomainInUseError
		drawing qrcode.FieldErrors
	)
	switch {
	case errors.As(err, &invalid):
		fields := make([]httpapi.FieldError, len(invalid))
		for i, f := range invalid {
			fields[i] = httpapi.FieldError{Field: f.Field, Code: string(f.Code), Detail: f.Detail}
		}
		return httpapi.Invalid(fields...)
	case errors.As(err, &wrong):
		fields := make([]httpapi.FieldError, len(wrong))
		for i, f := range wrong {
			fields[i] = httpapi.FieldError(f)
		}
		return httpapi.Invalid(fields...)
	case errors.As(err, &drawing):
		fields := make([]httpapi.FieldError, len(drawing))
		for i, f := range drawing {
			fields[i] = httpapi.FieldError{Field: f.Field, Code: string(f.Code), Detail: f.Detail}
		}
		return httpapi.Invalid(fields...)
	case errors.As(err, &inUse):
		return httpapi.NewProblem(http.StatusConflict, "domain_in_use", "A domain with links keeps its case rule and is not deleted: "+inUse.Error()+".")
	case errors.Is(err, link.ErrDomainTaken):
		return httpapi.NewProblem(http.StatusConflict, "domain_taken", "Somebody has this host already.")
	case errors.Is(err, link.ErrSharedDomain):
		return httpapi.NewProblem(http.StatusForbidden, "shared_domain", "This domain belongs to the installation: every workspace may use it, and none change it.")
	case errors.Is(err, link.ErrNotFound):
		return httpapi.NewProblem(http.StatusNotFound, "not_found", "There is no such thing in this workspace.")
	case errors.Is(err, account.ErrNotFound):
		return httpapi.NewProblem(http.StatusNotFound, "not_found", "There is no such thing in this workspace.")
	case errors.Is(err, link.ErrSlugTaken):
		return httpapi.NewProblem(http.StatusConflict, "slug_taken", "Another link has this slug on this domain.")
	case errors.Is(err, account.ErrEmailTaken):
		return httpapi.NewProblem(http.StatusConflict, "email_taken", "A member of this workspace has this email already.")
	case errors.Is(err, account.ErrLastOwner):
		return httpapi.NewProblem(http.StatusConflict, "last_owner", "A workspace keeps one owner at least.")
	case errors.Is(err, link.ErrTemplateNameTaken):
		return httpapi.NewProblem(http.StatusConflict, "name_taken", "The workspace has a campaign template of this name.")
	case errors.Is(err, link.ErrTooManyTemplates):
		return httpapi.NewProblem(http.StatusConflict, "too_many_templates", "The workspace has as many campaign templates as it may have.")
	case errors.Is(err, link.ErrStale):
		return httpapi.NewProblem(http.StatusPreconditionFailed, "stale_version", "It has changed since the version in If-Match.")
	case errors.Is(err, link.ErrUnavailable), errors.Is(err, access.ErrUnavailable):
		return httpapi.NewProblem(http.StatusServiceUnavailable, "unavailable", "The store cannot be reached. The request can be tried again.")
	default:
		return httpapi.NewProblem(http.StatusInternalServerError, "internal", "Something went wrong here. If it goes on, quote the request id.")
	}
}
