package redirect

import (
	"bytes"
	"context"
	"time"

	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/linkoption"
	"github.com/linkstream/linkstream/services/redirect/internal/http1"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/target"
)

// deep says whether a path has segments beneath its first.
func deep(path []byte) bool {
	return len(path) > 1 && bytes.IndexByte(path[1:], '/') >= 0
}

// above are the addresses above a path, from the longest that can be one on.
type above struct {
	ends []int // of the paths, from the shortest on
	room [linkoption.MaxForwardSegments]int
	path []byte
	name []byte
	fold bool
}

func (w *worker) above(req *http1.Request) above {
	host, path, _ := asTarget(req)
	var a asked
	name, domain := w.place(host, &a)
	up := above{path: path, name: name, fold: domain != nil && domain.FoldCase}
	up.ends = up.room[:0]
	for at := 1; at < len(path) && len(up.ends) < len(up.room); at++ {
		if path[at] == '/' {
			up.ends = append(up.ends, at)
		}
	}
	return up
}

// next is the key of the next address, and what is asked for beneath it; nil when there
// is none.
func (w *worker) next(up *above) (key, suffix []byte) {
	for len(up.ends) > 0 {
		end := up.ends[len(up.ends)-1]
		up.ends = up.ends[:len(up.ends)-1]
		if key, view, ok := w.key(up.name, up.path[:end], up.fold); ok && view == address.Redirect {
			return key, up.path[end:]
		}
	}
	return nil, nil
}

// takes makes the request one for the link above, if that forwards what is beneath it.
func takes(e *lookup.Entry, ask *asked, suffix []byte) bool {
	if !e.Found || e.Flags&linkcache.FlagForwardPath == 0 || e.Flags&^linkcache.KnownFlags != 0 || !target.SafeBeneath(suffix) {
		return false
	}
	ask.suffix, ask.view = suffix, address.Redirect
	return true
}

// hit writes what this process holds for the request into w.entry: the link at the
// address or, only if there is none, the one above it that forwards. It says false when
// others have to be asked.
func (w *worker) hit(ctx context.Context, req *http1.Request, ask *asked) bool {
	if ask.key != nil && !w.lookup.Hit(ctx, ask.key, req.Time, &w.entry) {
		return false
	}
	if ask.key != nil && w.entry.Found {
		return true
	}
	if ask.key == nil {
		w.entry = lookup.Entry{}
	}
	if _, path, _ := asTarget(req); !deep(path) {
		return true
	}
	up := w.above(req)
	for key, suffix := w.next(&up); key != nil; key, suffix = w.next(&up) {
		var e lookup.Entry
		if !w.lookup.Hit(ctx, key, req.Time, &e) {
			return false
		}
		if takes(&e, ask, suffix) {
			w.entry = e
			return true
		}
	}
	return true
}

type find func(ctx context.Context, key []byte, now time.Time) (lookup.Entry, lookup.Source, error)

// search is hit by asking others.
func (w *worker) search(ctx context.Context, req *http1.Request, ask *asked, find find) (lookup.Entry, lookup.Source, error) {
	var none lookup.Entry
	source := lookup.L1 // which is nobody, where there is nothing to ask for
	if ask.key != nil {
		e, from, err := find(ctx, ask.key, req.Time)
		if err != nil || e.Found {
			return e, from, err
		}
		none, source = e, from
	}
	if _, path, _ := asTarget(req); !deep(path) {
		return none, source, nil
	}
	up := w.above(req)
	for key, suffix := w.next(&up); key != nil; key, suffix = w.next(&up) {
		e, from, err := find(ctx, key, req.Time)
		if err != nil {
			return e, from, err
		}
		if takes(&e, ask, suffix) {
			return e, from, nil
		}
		if ask.key == nil {
			source = from
		}
	}
	return none, source, nil
}
