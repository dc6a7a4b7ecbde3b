package live

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/enrich"
)

// maxRows bounds the clicks of all workspaces that are kept: some 60 MB. Policy: the
// workspace that has the most gives up its oldest, and its moments say how far back
// they look.
const maxRows = 100_000

// window holds the clicks of the last minutes by workspace. It is not safe for
// concurrent use.
type window struct {
	rows  map[uuid.UUID][]enrich.Row // in the order in which they came
	total int
	// since is the time of the newest click that a workspace gave up.
	since map[uuid.UUID]int64
}

func newWindow() *window {
	return &window{rows: map[uuid.UUID][]enrich.Row{}, since: map[uuid.UUID]int64{}}
}

func (w *window) add(r enrich.Row) {
	w.rows[r.WorkspaceID] = append(w.rows[r.WorkspaceID], r)
	if w.total++; w.total > maxRows {
		w.giveUp()
	}
}

// giveUp drops a tenth of what may be kept, so that it is seldom called.
func (w *window) giveUp() {
	var most uuid.UUID
	for id, rows := range w.rows {
		if len(rows) > len(w.rows[most]) {
			most = id
		}
	}
	rows := w.rows[most]
	n := min(maxRows/10, len(rows))
	for i := range rows[:n] {
		w.since[most] = max(w.since[most], rows[i].TimeUnixMilli)
	}
	w.rows[most] = append([]enrich.Row(nil), rows[n:]...) // the rest of the array goes
	w.total -= n
}

// expire drops what is older than the window.
func (w *window) expire(now time.Time) {
	before := now.Add(-Window - bucket).UnixMilli()
	for id, rows := range w.rows {
		kept := slices.DeleteFunc(rows, func(r enrich.Row) bool { return r.TimeUnixMilli < before })
		w.total -= len(rows) - len(kept)
		w.rows[id] = kept
		if len(kept) == 0 {
			delete(w.rows, id)
		}
		if w.since[id] < before {
			delete(w.since, id)
		}
	}
}

// kept is how far back the clicks of a workspace go.
func (w *window) kept(workspace uuid.UUID, now time.Time) time.Duration {
	since, ok := w.since[workspace]
	if !ok {
		return Window
	}
	return max(now.Sub(time.UnixMilli(since)), 0)
}
