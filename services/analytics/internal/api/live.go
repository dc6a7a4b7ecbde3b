package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/live"
	"github.com/linkstream/linkstream/services/analytics/internal/query"
	"github.com/linkstream/linkstream/services/internal/httpapi"
)

// feed gives viewers the clicks as they come; live.Hub is one.
type feed interface {
	Watch(view live.View) (*live.Viewer, error)
}

const (
	// heartbeat keeps proxies from closing a stream in which nothing happens.
	heartbeat = 15 * time.Second
	// writeTimeout is for one event: a viewer that does not take a few kilobytes in it
	// is gone.
	writeTimeout = 10 * time.Second
	// reconnect is what a browser waits before it connects again, in milliseconds.
	reconnect = 2000
)

func (h *handlers) registerLive(api huma.API) {
	op := operation("stream-live", "/v1/analytics/live", "What is going on now, as server-sent events",
		"About one event a second, of the type `moment`: each is the whole of the last five minutes, so whoever connects again has missed nothing. "+
			"While nothing happens there are none, but for a comment every 15 seconds. The stream ends when the service is stopped; connect again. "+
			"Clicks come from the edges, some tenths of a second after they happened and before they are counted: the other calls' figures are about a second later. "+
			"A filter by `tag` means the links that have it when the stream begins.",
		query.Dimensions()...)
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Events",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: liveEvent(api)}},
	}}
	huma.Register(api, op, h.liveStream)
}

// liveEvent is an event of the stream, whose data are a Moment.
func liveEvent(api huma.API) *huma.Schema {
	moment := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[live.Moment](), true, "Moment")
	text := func() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }
	data := text()
	data.Description = "A Moment, as JSON"
	data.Extensions = map[string]any{"contentMediaType": "application/json", "contentSchema": moment}
	return &huma.Schema{Type: huma.TypeObject, Required: []string{"data"}, Properties: map[string]*huma.Schema{
		"id": text(), "event": {Type: huma.TypeString, Enum: []any{"moment"}}, "data": data,
	}}
}

type liveInput struct{ FilterParams }

func (h *handlers) liveStream(ctx context.Context, in *liveInput) (*huma.StreamResponse, error) {
	q, err := h.question(ctx, nil, &in.FilterParams)
	if err != nil {
		return nil, err
	}
	viewer, err := h.watch(ctx, q)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) { //nolint:contextcheck // the context is in it
		defer viewer.Leave()
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no") // nginx would collect the events
		ctx.SetStatus(http.StatusOK)
		stream(ctx.Context(), newEventWriter(ctx.BodyWriter()), viewer.Moments())
	}}, nil
}

// watch makes a viewer of a question.
func (h *handlers) watch(ctx context.Context, q *query.Question) (*live.Viewer, error) {
	view := live.View{Workspace: q.Workspace, Bots: q.Bots, Filters: q.Filters}
	for _, f := range q.Filters {
		if f.Dimension != query.Tag {
			continue
		}
		links, err := h.store.LinksWith(ctx, q.Workspace, f.Values)
		if err != nil {
			return nil, h.translate(ctx, err)
		}
		tagged := make(map[uuid.UUID]bool, len(links))
		for _, id := range links {
			tagged[id] = true
		}
		view.Tagged = append(view.Tagged, tagged)
	}
	viewer, err := h.live.Watch(view)
	switch {
	case errors.Is(err, live.ErrTooManyViewers):
		return nil, huma.ErrorWithHeaders(httpapi.NewProblem(http.StatusServiceUnavailable, "too_many_viewers",
			"As many live views are open as this service has room for. Close one, or try again later."), http.Header{"Retry-After": {"30"}})
	case err != nil:
		return nil, unavailable("The service is being stopped. The request can be tried again.")
	}
	return viewer, nil
}

// stream writes moments until there are no more or the viewer is gone.
func stream(ctx context.Context, w *eventWriter, moments <-chan *live.Moment) {
	if w.write(fmt.Sprintf("retry: %d\n\n", reconnect)) != nil {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	quiet := false // the last event said that nothing happens
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if w.write(": nothing new\n\n") != nil {
				return
			}
		case m, ok := <-moments:
			if !ok {
				return
			}
			still := m.Clicks == 0 && m.BotClicks == 0 && !m.Delayed
			if still && quiet {
				continue
			}
			quiet = still
			data, err := json.Marshal(m)
			if err != nil || w.write(fmt.Sprintf("id: %d\nevent: moment\ndata: %s\n\n", m.T.UnixMilli(), data)) != nil {
				return
			}
			beat.Reset(heartbeat)
		}
	}
}

// eventWriter writes and flushes, each time with a deadline of its own.
type eventWriter struct {
	w       io.Writer
	control *http.ResponseController
}

func newEventWriter(w io.Writer) *eventWriter {
	out := &eventWriter{w: w}
	if rw, ok := w.(http.ResponseWriter); ok {
		out.control = http.NewResponseController(rw)
	}
	return out
}

func (e *eventWriter) write(text string) error {
	if e.control == nil {
		_, err := io.WriteString(e.w, text)
		return err
	}
	e.within(writeTimeout)
	if _, err := io.WriteString(e.w, text); err != nil {
		return err
	}
	return e.control.Flush()
}

// within sets the deadline of what is written from now on. Where that is not supported
// there is none, as in tests without a connection.
func (e *eventWriter) within(limit time.Duration) {
	if e.control != nil {
		_ = e.control.SetWriteDeadline(time.Now().Add(limit))
	}
}
