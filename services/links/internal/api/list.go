package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

type listInput struct {
	Limit         int                 `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Links on a page"`
	Cursor        string              `query:"cursor" doc:"next_cursor of the page before"`
	Domain        string              `query:"domain" doc:"Links on this host"`
	Tag           string              `query:"tag" doc:"Links that have this tag"`
	Query         string              `query:"q" maxLength:"500" doc:"Links with this text in title, slug or destination, whatever its case"`
	Archived      optionalParam[bool] `query:"archived" doc:"Archived links only, or all others only; both when left out"`
	CreatedAfter  time.Time           `query:"created_after" doc:"Links created at this moment or later"`
	CreatedBefore time.Time           `query:"created_before" doc:"Links created before this moment"`
}

type listOutput struct {
	Body struct {
		Data       []linkView `json:"data" nullable:"false"`
		NextCursor *string    `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

func (a *api) list(ctx context.Context, in *listInput) (*listOutput, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var after *link.Position
	if in.Cursor != "" {
		if after = decodeCursor(in.Cursor); after == nil {
			return nil, a.problem(ctx, link.FieldErrors{{Field: "cursor", Code: link.CodeInvalid, Detail: "this is no next_cursor of a list of links"}})
		}
	}
	page, err := a.links.List(ctx, workspace, link.Filter{
		Domain: in.Domain, Tag: in.Tag, Query: in.Query, Archived: in.Archived.pointer(),
		CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore,
	}, after, in.Limit)
	if err != nil {
		return nil, a.problem(ctx, err)
	}
	out := &listOutput{}
	out.Body.Data = make([]linkView, len(page.Links))
	for i := range page.Links {
		out.Body.Data[i] = a.view(&page.Links[i])
	}
	if page.Next != nil {
		cursor := encodeCursor(*page.Next)
		out.Body.NextCursor = &cursor
	}
	return out, nil
}

// A cursor is a position in a form that callers have no reason to read: one byte
// of format, microseconds since 1970, and the id.
const (
	cursorFormat = 1
	cursorBytes  = 1 + 8 + 16
)

func encodeCursor(p link.Position) string {
	b := make([]byte, 0, cursorBytes)
	b = append(b, cursorFormat)
	b = binary.BigEndian.AppendUint64(b, uint64(p.CreatedAt.UnixMicro())) //nolint:gosec // the bits come back as they are
	b = append(b, p.ID.UUID[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor returns nil for what encodeCursor did not write.
func decodeCursor(s string) *link.Position {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != cursorBytes || b[0] != cursorFormat {
		return nil
	}
	p := &link.Position{CreatedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(b[1:9]))).UTC()} //nolint:gosec // see encodeCursor
	copy(p.ID.UUID[:], b[9:])
	if year := p.CreatedAt.Year(); year < 1970 || year > 9999 {
		return nil // Postgres has no such time
	}
	return p
}
