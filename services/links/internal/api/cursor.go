package api

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// A cursor is a position in a list in a form that callers have no reason to read: one
// byte of kind, microseconds since 1970, and the id.
const cursorBytes = 1 + 8 + 16

// The kinds of cursors: one of another list is refused.
const (
	cursorOfLinks   = 1
	cursorOfKeys    = 2
	cursorOfUsers   = 3
	cursorOfDomains = 4
	cursorOfImports = 5

	cursorOfTemplates = 6
)

// position is a place in a list that is ordered by creation and id.
type position struct {
	createdAt time.Time
	id        uuid.UUID
}

func encodeCursor(kind byte, createdAt time.Time, id uuid.UUID) string {
	b := make([]byte, 0, cursorBytes)
	b = append(b, kind)
	b = binary.BigEndian.AppendUint64(b, uint64(createdAt.UnixMicro())) //nolint:gosec // the bits come back as they are
	b = append(b, id[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor returns nil for what encodeCursor did not write.
func decodeCursor(kind byte, s string) *position {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != cursorBytes || b[0] != kind {
		return nil
	}
	p := &position{createdAt: time.UnixMicro(int64(binary.BigEndian.Uint64(b[1:9]))).UTC()} //nolint:gosec // see encodeCursor
	copy(p.id[:], b[9:])
	if year := p.createdAt.Year(); year < 1970 || year > 9999 {
		return nil // Postgres has no such time
	}
	return p
}

// page is what callers see of a list that was asked for one item more than the limit, and
// where the next page begins, if there is one.
func page[Item, View any](kind byte, items []Item, limit int, view func(Item) View, at func(Item) position) (data []View, next *string) {
	if len(items) > limit {
		items = items[:limit]
		last := at(items[limit-1])
		cursor := encodeCursor(kind, last.createdAt, last.id)
		next = &cursor
	}
	data = make([]View, len(items))
	for i, item := range items {
		data[i] = view(item)
	}
	return data, next
}
