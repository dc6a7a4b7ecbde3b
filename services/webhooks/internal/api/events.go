package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
	"github.com/linkstream/linkstream/services/webhooks/internal/stream"
)

const (
	// writeTimeout is how long a viewer may not read at all.
	writeTimeout = 10 * time.Second
	// joinTimeout bounds the wait for the broker.
	joinTimeout = 5 * time.Second
)

type streamAPI struct {
	stream *stream.Stream
	auth   httpapi.Authenticator
	log    *slog.Logger
}

// RegisterStream adds GET /v1/events to h. auth is asked again while a stream goes on.
func RegisterStream(h huma.API, s *stream.Stream, auth httpapi.Authenticator, log *slog.Logger) {
	a := &streamAPI{stream: s, auth: auth, log: log}
	h.OpenAPI().Tags = append(h.OpenAPI().Tags, &huma.Tag{Name: "events", Description: "What happens, as it happens."})
	huma.Register(h, huma.Operation{
		OperationID: "stream-events", Method: http.MethodGet, Path: "/v1/events", Summary: "Look on, as server-sent events",
		Description: "An EventSource of a browser reads it, and so does curl. The name of an event is its type (`link.created`, `link.updated`, `link.deleted`, with clicks=true also `click`), " +
			"its data a JSON object with id, type, timestamp and data as in webhooks. A reader who comes back with the id of the last event (header Last-Event-ID, or the parameter) gets what it missed, once, " +
			"the changes of a link in their order. `gap` says that some of that is not kept any more; changes are kept for 7 days. `end` says why a stream ends: slow, stopping, interrupted, refused. " +
			"Every 15 seconds there is a comment, so that the line stays up.",
		Tags: []string{"events"}, Security: httpapi.Needs(access.LinksRead), RejectUnknownQueryParameters: true,
		Errors: []int{401, 403, 422, 429, 503},
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, a.serve)
}

type streamInput struct {
	Authorization string   `header:"Authorization" hidden:"true"`
	LastEventID   string   `header:"Last-Event-ID" doc:"The id of the last event that was seen"`
	LastID        string   `query:"last_event_id" doc:"The same, for who cannot set the header"`
	Types         []string `query:"type" doc:"Only events of these types" example:"link.created,link.deleted"`
	Domain        string   `query:"domain" doc:"Only links on this host"`
	Tag           string   `query:"tag" doc:"Only links that have this tag; clicks have none"`
	LinkID        string   `query:"link_id" doc:"Only this link"`
	Clicks        bool     `query:"clicks" doc:"Clicks, too"`
}

// request checks what a viewer asks for.
func (in *streamInput) request(id *access.Identity) (stream.Request, error) {
	r := stream.Request{Workspace: id.WorkspaceID, Clicks: in.Clicks, LastID: in.LastEventID}
	if r.LastID == "" {
		r.LastID = in.LastID
	}
	var wrong endpoint.WrongError
	for _, name := range in.Types {
		t := event.Type(name)
		switch t {
		case event.LinkCreated, event.LinkUpdated, event.LinkDeleted, stream.Click:
			r.Filter.Types = append(r.Filter.Types, t)
			r.Clicks = r.Clicks || t == stream.Click
		default:
			wrong = append(wrong, endpoint.Wrong{Field: "query.type", Code: "invalid", Detail: "streams have link.created, link.updated, link.deleted and click"})
		}
	}
	if in.Domain != "" {
		r.Filter.Domains = []string{strings.ToLower(in.Domain)}
	}
	if in.Tag != "" {
		r.Filter.Tags = []string{in.Tag}
	}
	if in.LinkID != "" {
		link, err := parseID(in.LinkID)
		if err != nil {
			wrong = append(wrong, endpoint.Wrong{Field: "query.link_id", Code: "invalid", Detail: "it is the id of a link"})
		}
		r.Filter.Links = append(r.Filter.Links, link)
	}
	return r, wrong.Err()
}

func (a *streamAPI) serve(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	id, err := access.FromContext(ctx)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	request, err := in.request(id)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	if request.Clicks && !id.May(access.AnalyticsRead) {
		return nil, httpapi.NewProblem(http.StatusForbidden, "forbidden", "The API key lacks the scope analytics:read, which clicks take.")
	}
	joining, cancel := context.WithTimeout(ctx, joinTimeout)
	session, err := a.stream.Open(joining, request)
	cancel()
	switch {
	case errors.Is(err, stream.ErrBadID):
		return nil, problem(ctx, a.log, endpoint.WrongError{{Field: "last_event_id", Code: "invalid", Detail: "this is no id of an event"}})
	case errors.Is(err, stream.ErrTooMany):
		return nil, huma.ErrorWithHeaders(httpapi.NewProblem(http.StatusTooManyRequests, "rate_limited", "As many look on as may."), http.Header{"Retry-After": {"10"}})
	case err != nil:
		return nil, problem(ctx, a.log, errors.Join(endpoint.ErrUnavailable, err))
	}
	_, token, _ := strings.Cut(in.Authorization, " ")
	return &huma.StreamResponse{Body: func(hctx huma.Context) { //nolint:contextcheck // it has the request's context
		defer session.Close()
		a.write(hctx, session, strings.TrimSpace(token))
	}}, nil
}

func (a *streamAPI) write(hctx huma.Context, session *stream.Session, token string) {
	hctx.SetHeader("Content-Type", "text/event-stream")
	hctx.SetHeader("Cache-Control", "no-store")
	hctx.SetHeader("X-Accel-Buffering", "no") // nginx would hold events back
	hctx.SetStatus(http.StatusOK)
	w, ok := hctx.BodyWriter().(http.ResponseWriter)
	if !ok {
		return // huma's adapter for net/http has one
	}
	ctx := hctx.Context()
	control := http.NewResponseController(w)
	still := func() error {
		asking, cancel := context.WithTimeout(ctx, joinTimeout)
		defer cancel()
		// While links cannot be asked, whoever was let in stays.
		if _, err := a.auth.Authenticate(asking, token); errors.Is(err, access.ErrUnauthenticated) {
			return err
		}
		return nil
	}
	if err := session.Serve(ctx, &flushed{w: w, control: control}, still); err != nil {
		a.log.DebugContext(ctx, "stream ended", "err", err)
	}
}

// flushed writes pieces that arrive at once, or fails when nobody takes them.
type flushed struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer.
func (f *flushed) Write(b []byte) (int, error) {
	if err := f.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := f.w.Write(b)
	if err != nil {
		return n, err
	}
	return n, f.control.Flush()
}
