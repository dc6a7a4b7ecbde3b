package transfer

import (
	"errors"
	"strconv"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

// What became of a row.
const (
	statusCreated = "created"
	statusRenamed = "renamed" // created, under another slug
	statusSkipped = "skipped"
	statusFailed  = "failed"
)

// What a report names beside the codes of fields.
const (
	reasonTaken    link.Code = "slug_taken"
	reasonInternal link.Code = "internal"
)

func reportHead() []byte {
	return appendLine(nil, "row", "slug", "status", "code", "detail", "link_id")
}

// report collects lines and counts.
type report struct {
	text []byte
	n    int
	Counts
}

func (r *report) line(row *Row, slug, status string, reason link.Code, detail, id string) {
	r.n++
	r.text = appendLine(r.text, strconv.FormatInt(row.Number, 10), Harmless(storable(slug)), status, string(reason), Harmless(storable(detail)), id)
	switch status {
	case statusCreated:
		r.Created++
	case statusRenamed:
		r.Created++
		r.Renamed++
	case statusSkipped:
		r.Skipped++
	default:
		r.Failed++
	}
}

// made notes a link. In a dry run it has no id.
func (r *report) made(row *Row, l *link.Link, dry bool) {
	status, detail, id, slug := statusCreated, "", "", l.Slug
	if row.Slug != "" && row.Slug != l.Slug {
		status, detail = statusRenamed, "the slug "+row.Slug+" was taken"
	}
	if !dry {
		id = l.ID.String()
	} else if row.Slug == "" {
		slug = "" // it would be another one
	}
	r.line(row, slug, status, "", detail, id)
}

func (r *report) fault(row *Row, f *Fault) {
	r.line(row, row.Slug, statusFailed, f.Reason, f.Detail, "")
}

// refused notes why the rules or the store took no link.
func (r *report) refused(row *Row, err error, on Conflict) {
	var wrong link.FieldErrors
	switch {
	case errors.Is(err, link.ErrSlugTaken) && on == Skip:
		r.line(row, row.Slug, statusSkipped, reasonTaken, "another link has this slug on this domain", "")
	case errors.Is(err, link.ErrSlugTaken):
		r.line(row, row.Slug, statusFailed, reasonTaken, "another link has this slug on this domain", "")
	case errors.As(err, &wrong) && len(wrong) > 0:
		r.line(row, row.Slug, statusFailed, wrong[0].Code, wrong.Error(), "")
	default:
		r.line(row, row.Slug, statusFailed, reasonInternal, "the link could not be stored", "")
	}
}
