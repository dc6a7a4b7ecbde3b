package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/query"
)

// feed gives viewers the clicks as they come.
type feed interface{}

// Moment is what is going on: one event of the live stream.
type Moment struct {
	T              time.Time    `json:"t" doc:"When the event was made"`
	Clicks         uint64       `json:"clicks" doc:"Clicks of the window; without bots unless bots says otherwise"`
	UniqueVisitors uint64       `json:"unique_visitors" doc:"Visitors among them"`
	BotClicks      uint64       `json:"bot_clicks" doc:"Clicks of bots in the window"`
	WindowSeconds  int          `json:"window_seconds" doc:"How long the window is that ends with t"`
	BucketSeconds  int          `json:"bucket_seconds" doc:"How long a bucket is"`
	Buckets        []LiveBucket `json:"buckets" nullable:"false" doc:"The window cut into buckets, the oldest first; the last one is not over yet"`
	Top            LiveTop      `json:"top" doc:"What had the most clicks in the window"`
	Recent         []LiveClick  `json:"recent" nullable:"false" doc:"The newest clicks, the newest first, 20 at most"`
}

// LiveBucket is a few seconds.
type LiveBucket struct {
	T         time.Time `json:"t" doc:"When the bucket starts"`
	Clicks    uint64    `json:"clicks"`
	BotClicks uint64    `json:"bot_clicks"`
}

// LiveTop are the values with the most clicks, ten of each at most.
type LiveTop struct {
	Links     []LiveValue `json:"links" nullable:"false"`
	Countries []LiveValue `json:"countries" nullable:"false"`
	Referrers []LiveValue `json:"referrers" nullable:"false"`
}

// LiveValue is a value and its clicks.
type LiveValue struct {
	Value  string `json:"value"`
	Clicks uint64 `json:"clicks"`
}

// LiveClick is one click.
type LiveClick struct {
	ID         uuid.UUID `json:"id"`
	T          time.Time `json:"t"`
	LinkID     uuid.UUID `json:"link_id"`
	Host       string    `json:"host"`
	Slug       string    `json:"slug"`
	Status     int       `json:"status"`
	EdgeRegion string    `json:"edge_region"`
	Country    string    `json:"country" doc:"Empty when it is unknown, as all texts"`
	City       string    `json:"city"`
	Device     string    `json:"device"`
	OS         string    `json:"os"`
	Browser    string    `json:"browser"`
	Referrer   string    `json:"referrer"`
	Source     string    `json:"source"`
	Variant    int       `json:"variant"`
	Rule       int       `json:"rule"`
	Bot        bool      `json:"bot"`
}

func (h *handlers) registerLive(api huma.API) {
	op := operation("stream-live", "/v1/analytics/live", "What is going on now, as server-sent events",
		"About one event a second, of the type `moment`: each is the whole of the last five minutes, so whoever connects again has missed nothing. "+
			"A comment comes when nothing else does for 15 seconds. The stream ends when the service is stopped; connect again. "+
			"Clicks come from the edges, some tenths of a second after they happened, before they are counted: the figures of the other calls are about a second later.",
		query.Dimensions()...)
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Events",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Moment](), true, "Moment")}},
	}}
	op.Errors = append(op.Errors, http.StatusTooManyRequests)
	huma.Register(api, op, h.liveStream)
}

type liveInput struct{ FilterParams }

func (h *handlers) liveStream(ctx context.Context, in *liveInput) (*huma.StreamResponse, error) {
	if _, err := h.question(ctx, nil, &in.FilterParams); err != nil {
		return nil, err
	}
	return nil, unavailable("unavailable", "Not built yet.")
}
