package api

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

func (a *api) registerDeliveries(h huma.API, operation func(method, path, id, summary, description string, errors ...int) huma.Operation) {
	huma.Register(h, operation(http.MethodGet, "/v1/webhooks/{id}/deliveries", "list-webhook-deliveries", "List deliveries, newest first",
		"They are kept for 30 days after they were taken or given up.", 404, 422), a.deliveries)
	looked := operation(http.MethodGet, "/v1/webhooks/{id}/deliveries/{delivery_id}", "get-webhook-delivery", "Get a delivery with its body and its attempts", "", 404)
	looked.SkipValidateParams = true
	huma.Register(h, looked, a.delivery)
	one := operation(http.MethodPost, "/v1/webhooks/{id}/deliveries/{delivery_id}/replay", "replay-webhook-delivery", "Send a delivery again",
		"With the same webhook-id. One that waits for its next attempt is tried now.", 404, 409)
	one.DefaultStatus = http.StatusAccepted
	huma.Register(h, one, a.replay)
	many := operation(http.MethodPost, "/v1/webhooks/{id}/replay", "replay-webhook-deliveries", "Send the deliveries of a time again",
		"Those that were queued in it, the oldest first, 1,000 at most: `more` says whether the call should be repeated, which goes on where it stopped when `state` is failed.", 400, 404, 409, 413, 415, 422)
	many.DefaultStatus = http.StatusAccepted
	huma.Register(h, many, a.replayRange)
}

type rotateInput struct {
	WebhookID
	Body *struct {
		Overlap *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" default:"86400" doc:"For how long the secret that it has signs, too"`
	}
}

func (a *api) rotate(ctx context.Context, in *rotateInput) (*secretOutput, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	overlap := 24 * time.Hour
	if in.Body != nil && in.Body.Overlap != nil {
		overlap = time.Duration(*in.Body.Overlap) * time.Second
	}
	secret := endpoint.NewSecret()
	e, err := a.store.Rotate(ctx, workspace, id, secret, overlap)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &secretOutput{ETag: etag(e.Version), Body: secretView{WebhookView: view(e), Secret: secret}}, nil
}

type queuedOutput struct {
	Body struct {
		EventID string `json:"event_id" doc:"The header webhook-id of the event"`
	}
}

func (a *api) test(ctx context.Context, in *getInput) (*queuedOutput, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	e, err := a.store.Get(ctx, workspace, id)
	if err == nil && !e.Enabled {
		err = endpoint.ErrDisabled
	}
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	ev := event.Tested(e.ID, workspace, a.now())
	if err := a.store.Enqueue(ctx, []postgres.Queued{{Endpoint: e.ID, Event: ev}}); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &queuedOutput{}
	out.Body.EventID = ev.ID
	return out, nil
}

type deliveriesInput struct {
	WebhookID
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"Deliveries on a page"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	State  string `query:"state" enum:"pending,delivered,failed" doc:"Only these"`
	Type   string `query:"event_type" doc:"Only events of this kind"`
	LinkID string `query:"link_id" doc:"Only events of this link"`
}

type deliveriesOutput struct {
	Body struct {
		Data       []DeliveryView `json:"data" nullable:"false"`
		NextCursor *string        `json:"next_cursor" nullable:"true" doc:"Where the next page begins; null on the last one"`
	}
}

func (a *api) deliveries(ctx context.Context, in *deliveriesInput) (*deliveriesOutput, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	var wrong endpoint.WrongError
	filter := postgres.LogFilter{State: in.State, EventType: in.Type}
	if in.LinkID != "" {
		link, err := uuid.Parse(in.LinkID)
		if err != nil {
			wrong = append(wrong, endpoint.Wrong{Field: "link_id", Code: "invalid", Detail: "it is the id of a link"})
		}
		filter.Link = &link
	}
	after := decodeCursor(in.Cursor)
	if in.Cursor != "" && after == nil {
		wrong = append(wrong, endpoint.Wrong{Field: "cursor", Code: "invalid", Detail: "this is no next_cursor of a list of deliveries"})
	}
	if len(wrong) > 0 {
		return nil, problem(ctx, a.log, wrong)
	}
	page, next, err := a.store.Log(ctx, workspace, id, filter, after, in.Limit)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	out := &deliveriesOutput{}
	out.Body.Data = make([]DeliveryView, len(page))
	for i := range page {
		out.Body.Data[i] = viewDelivery(&page[i])
	}
	if next != nil {
		cursor := encodeCursor(next)
		out.Body.NextCursor = &cursor
	}
	return out, nil
}

// DeliveryID is the id of a delivery in a path. (huma sees exported embedded structs
// only.)
type DeliveryID struct {
	DeliveryID string `path:"delivery_id" format:"uuid" doc:"Id of the delivery"`
}

type deliveryInput struct {
	WebhookID
	DeliveryID
}

type deliveryOutput struct{ Body deliveryDetail }

func (a *api) delivery(ctx context.Context, in *deliveryInput) (*deliveryOutput, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	delivery, err := parseID(in.DeliveryID.DeliveryID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	l, payload, attempts, err := a.store.Look(ctx, workspace, id, delivery)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return &deliveryOutput{Body: deliveryDetail{DeliveryView: viewDelivery(&l), Payload: json.RawMessage(payload), Log: viewAttempts(attempts)}}, nil
}

func (a *api) replay(ctx context.Context, in *deliveryInput) (*struct{}, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	delivery, err := parseID(in.DeliveryID.DeliveryID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	if err := a.store.Replay(ctx, workspace, id, delivery); err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return nil, nil
}

type replayInput struct {
	WebhookID
	Body struct {
		From  time.Time `json:"from" doc:"Queued at this moment or later" example:"2026-11-30T08:00:00Z"`
		To    time.Time `json:"to" doc:"Queued before this moment" example:"2026-11-30T09:00:00Z"`
		State string    `json:"state,omitempty" enum:"failed,delivered" default:"failed" doc:"Those that failed, or those that were taken"`
	}
}

type replayedOutput struct {
	Body struct {
		Replayed int  `json:"replayed" doc:"How many were queued again"`
		More     bool `json:"more" doc:"Whether there are more in this time"`
	}
}

func (a *api) replayRange(ctx context.Context, in *replayInput) (*replayedOutput, error) {
	ctx, workspace, id, done, err := beginWith(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	defer done()
	if !in.Body.From.Before(in.Body.To) {
		return nil, problem(ctx, a.log, endpoint.WrongError{{Field: "from", Code: "not_before_to", Detail: "it is not before to"}})
	}
	out := &replayedOutput{}
	out.Body.Replayed, out.Body.More, err = a.store.ReplayRange(ctx, workspace, id, in.Body.From, in.Body.To, in.Body.State)
	if err != nil {
		return nil, problem(ctx, a.log, err)
	}
	return out, nil
}

// A cursor is a position in a form that callers have no reason to read.
const cursorBytes = 8 + 16

func encodeCursor(p *postgres.Position) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, cursorBytes), uint64(p.CreatedAt.UnixMicro())) //nolint:gosec // the bits come back as they are
	return base64.RawURLEncoding.EncodeToString(append(b, p.ID[:]...))
}

// decodeCursor returns nil for what encodeCursor did not write.
func decodeCursor(s string) *postgres.Position {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != cursorBytes {
		return nil
	}
	p := &postgres.Position{CreatedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), ID: uuid.UUID(b[8:])} //nolint:gosec // see encodeCursor
	if year := p.CreatedAt.Year(); year < 1970 || year > 9999 {
		return nil // Postgres has no such time
	}
	return p
}
