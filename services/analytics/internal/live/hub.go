// Package live shows clicks as they come.
//
// It promises that the clicks topic is read once for all viewers of a process, and not
// at all while there are none; that every moment is the whole of the last minutes, so
// that a viewer who was away has missed nothing; and that what it says of a click is what
// will be counted. It refuses more viewers than it can serve, and to wait for one that
// does not read: such a viewer gets the newest moment when it does.
package live

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/linkstream/linkstream/services/internal/enrich"
)

const (
	tick = time.Second
	// linger is how long reading goes on without viewers: somebody who reloads a page
	// should not wait for the window to be read again.
	linger = 30 * time.Second
	// MaxViewers bounds the viewers of a process: with a full window a moment takes some
	// milliseconds to make.
	MaxViewers = 200
	// maxPerWorkspace keeps one customer from taking all of them.
	maxPerWorkspace = 50
)

// What keeps a viewer out.
var (
	ErrTooManyViewers = errors.New("too many viewers")
	ErrStopped        = errors.New("the live view is being stopped")
)

// Source reads clicks; Reader is one.
type Source interface {
	// Read hands over clicks from since on until ctx is done, and says of each fetch
	// whether it worked.
	Read(ctx context.Context, since time.Time, take func(rows []enrich.Row, err error)) error
}

// Hub is what all viewers of a process share.
type Hub struct {
	source Source
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	viewers map[*Viewer]struct{}
	stopped bool
	arrived chan struct{} // signals that the first viewer has come

	window  *window
	delayed bool
}

// New returns a hub over a source.
func New(source Source, now func() time.Time, log *slog.Logger) *Hub {
	return &Hub{source: source, now: now, log: log, viewers: map[*Viewer]struct{}{}, arrived: make(chan struct{}, 1), window: newWindow()}
}

// Viewer gets moments.
type Viewer struct {
	hub     *Hub
	view    *view
	moments chan *Moment
}

// Moments is closed when the hub is stopped. A moment that was not taken is replaced by
// the next.
func (v *Viewer) Moments() <-chan *Moment { return v.moments }

// Watch adds a viewer, who has to leave. It returns ErrTooManyViewers or ErrStopped.
func (h *Hub) Watch(view View) (*Viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil, ErrStopped
	}
	mine := 0
	for v := range h.viewers {
		if v.view.workspace == view.Workspace {
			mine++
		}
	}
	if len(h.viewers) >= MaxViewers || mine >= maxPerWorkspace {
		return nil, ErrTooManyViewers
	}
	v := &Viewer{hub: h, view: compile(view), moments: make(chan *Moment, 1)}
	h.viewers[v] = struct{}{}
	select {
	case h.arrived <- struct{}{}:
	default:
	}
	return v, nil
}

// Leave ends a viewer.
func (v *Viewer) Leave() {
	v.hub.mu.Lock()
	defer v.hub.mu.Unlock()
	delete(v.hub.viewers, v)
}

// Viewers is how many there are.
func (h *Hub) Viewers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers)
}

// Run serves viewers until ctx is done, and then ends them all.
func (h *Hub) Run(ctx context.Context) error {
	defer h.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.arrived:
			if h.Viewers() > 0 { // not one who came while others were served, and has left
				h.serve(ctx)
			}
		}
	}
}

func (h *Hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for v := range h.viewers {
		close(v.moments)
		delete(h.viewers, v)
	}
}

// serve reads and makes moments until there have been no viewers for a while.
func (h *Hub) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.read(ctx)
	}()
	defer func() {
		cancel()
		<-done
		h.mu.Lock()
		h.window = newWindow()
		h.mu.Unlock()
	}()
	every := time.NewTicker(tick)
	defer every.Stop()
	last := h.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		now := h.now()
		if h.Viewers() > 0 {
			last = now
			h.show(now)
		} else if now.Sub(last) > linger {
			return
		}
	}
}

// read reads until ctx is done, again after a fault.
func (h *Hub) read(ctx context.Context) {
	since := h.now().Add(-Window)
	for ctx.Err() == nil {
		err := h.source.Read(ctx, since, h.take)
		if ctx.Err() != nil {
			return
		}
		h.log.WarnContext(ctx, "live clicks not read; it is tried again", "err", err)
		h.mu.Lock()
		h.delayed = true
		h.window = newWindow() // read again as a whole: nothing twice
		h.mu.Unlock()
		pause := time.NewTimer(tick)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		since = h.now().Add(-Window)
	}
}

func (h *Hub) take(rows []enrich.Row, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.delayed = err != nil
	begin := h.now().Add(-Window - bucket).UnixMilli()
	for i := range rows {
		if rows[i].TimeUnixMilli >= begin {
			h.window.add(rows[i])
		}
	}
}

// show gives every viewer a moment. Viewers of one view are not told apart: there are
// few of them, and what they see is made from memory.
func (h *Hub) show(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.window.expire(now)
	for v := range h.viewers {
		m := momentOf(h.window.rows[v.view.workspace], v.view, now, h.window.kept(v.view.workspace, now))
		m.Delayed = h.delayed
		select {
		case <-v.moments: // was not taken: too old by now
		default:
		}
		v.moments <- m
	}
}
