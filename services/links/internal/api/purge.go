package api

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/access"
	"github.com/linkstream/linkstream/services/internal/httpapi"
	"github.com/linkstream/linkstream/services/links/internal/control"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

// Each workspace may purge a few times a second: a purge makes every edge ask the
// origin again. A pre-warm is cheaper, and comes for a whole campaign at once. The
// buckets are in Postgres and hold over all processes; see postgres.Store.Take.
const (
	purgePolicy, purgeCapacity, purgeRate       = "purge", 5, 3
	prewarmPolicy, prewarmCapacity, prewarmRate = "prewarm", 50, 20
)

// edges reaches every edge. Its errors are those of package link.
type edges interface {
	Purge(ctx context.Context, workspace uuid.UUID, id link.ID) (control.Result, error)
	Prewarm(ctx context.Context, workspace uuid.UUID, id link.ID) (control.Result, error)
}

// limits keeps the token buckets of workspaces.
type limits interface {
	Take(ctx context.Context, workspace uuid.UUID, l postgres.Limit) (postgres.Allowance, error)
}

type edgeAPI struct {
	api
	edges  edges
	limits limits
}

// RegisterEdges adds the operations that reach the edges to h.
func RegisterEdges(h huma.API, reach edges, buckets limits, log *slog.Logger) {
	a := &edgeAPI{api: api{log: log}, edges: reach, limits: buckets}
	tags := []string{"links"}
	huma.Register(h, huma.Operation{
		OperationID: "purge-link", Method: http.MethodPost, Path: "/v1/links/{id}/purge", Summary: "Purge a link from every cache",
		Description: "Every live edge stops serving what it holds of the link, whatever it is, drops it, and replaces the copy in its region's Redis. " +
			"This holds for the address that the link has and for those it has left, and for a deleted link as long as it is remembered (a week by default). " +
			"The answer comes when every live edge has confirmed, or after two seconds: edges that did not are edges_live - edges_confirmed. Limited to a few a second for each workspace.",
		Tags: tags, Security: httpapi.Needs(access.LinksWrite),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404
		Errors:             []int{401, 403, 404, 429, 503},
	}, a.purge)
	huma.Register(h, huma.Operation{
		OperationID: "prewarm-link", Method: http.MethodPost, Path: "/v1/links/{id}/prewarm", Summary: "Have every edge hold a link before its first visit",
		Description: "Fills the Redis of every region that has live edges, and the memory of each of them. Limited for each workspace.",
		Tags:        tags, Security: httpapi.Needs(access.LinksWrite),
		SkipValidateParams: true, // an id that is no UUID is the id of no link: 404
		Errors:             []int{401, 403, 404, 429, 503},
	}, a.prewarm)
}

// LimitHeaders say how much of a limit is left. (huma sees exported embedded structs
// only.)
type LimitHeaders struct {
	Limit      string `header:"X-RateLimit-Limit" doc:"How many requests may come at once"`
	Remaining  string `header:"X-RateLimit-Remaining" doc:"How many are left now"`
	Reset      string `header:"X-RateLimit-Reset" doc:"Seconds until all are back"`
	RateLimit  string `header:"RateLimit" doc:"The same in the IETF's words"`
	RatePolicy string `header:"RateLimit-Policy"`
}

type purgeOutput struct {
	LimitHeaders
	Body purgeView
}

type prewarmOutput struct {
	LimitHeaders
	Body prewarmView
}

type purgeView struct {
	Version        uint64        `json:"version" doc:"Version of the link that every cache has now"`
	EdgesLive      int           `json:"edges_live" doc:"Edges that were live when the purge began"`
	EdgesConfirmed int           `json:"edges_confirmed" doc:"How many of them have confirmed"`
	DurationMS     int64         `json:"duration_ms" doc:"How long it took, in milliseconds, rounded up"`
	Regions        []purgeRegion `json:"regions" doc:"The same for each region that has live edges"`
}

type purgeRegion struct {
	Region         string `json:"region" example:"fra"`
	EdgesLive      int    `json:"edges_live"`
	EdgesConfirmed int    `json:"edges_confirmed"`
	L2             string `json:"l2" enum:"done,unreachable,unconfirmed" doc:"Whether the copy in the region's Redis was replaced. If not, the edges that confirmed do not believe that copy, and replace it when they can."`
}

type prewarmView struct {
	Version    uint64          `json:"version" doc:"Version of the link that was sent"`
	DurationMS int64           `json:"duration_ms" doc:"How long it took, in milliseconds, rounded up"`
	Regions    []prewarmRegion `json:"regions" doc:"One for each region that has live edges"`
}

type prewarmRegion struct {
	Region      string `json:"region" example:"fra"`
	EdgesLive   int    `json:"edges_live"`
	EdgesWarmed int    `json:"edges_warmed" doc:"How many hold the link in memory now"`
	L2          string `json:"l2" enum:"done,unreachable,unconfirmed" doc:"Whether the region's Redis holds the link"`
	DurationMS  int64  `json:"duration_ms" doc:"Until the region's last confirmation, in milliseconds, rounded up"`
}

// edgeInput is a request that says all it has to say by its address.
type edgeInput struct{ IDParam }

func (a *edgeAPI) purge(ctx context.Context, in *edgeInput) (*purgeOutput, error) {
	result, headers, err := a.command(ctx, in.ID, postgres.Limit{Policy: purgePolicy, Capacity: purgeCapacity, Rate: purgeRate}, a.edges.Purge)
	if err != nil {
		return nil, err
	}
	body := purgeView{
		Version: result.Version, EdgesLive: result.Live(), EdgesConfirmed: result.Done(), DurationMS: milliseconds(result.Took),
		Regions: make([]purgeRegion, len(result.Regions)),
	}
	for i, r := range result.Regions {
		body.Regions[i] = purgeRegion{Region: r.Name, EdgesLive: r.Live, EdgesConfirmed: r.Done, L2: string(r.Redis)}
	}
	return &purgeOutput{LimitHeaders: headers, Body: body}, nil
}

func (a *edgeAPI) prewarm(ctx context.Context, in *edgeInput) (*prewarmOutput, error) {
	result, headers, err := a.command(ctx, in.ID, postgres.Limit{Policy: prewarmPolicy, Capacity: prewarmCapacity, Rate: prewarmRate}, a.edges.Prewarm)
	if err != nil {
		return nil, err
	}
	body := prewarmView{Version: result.Version, DurationMS: milliseconds(result.Took), Regions: make([]prewarmRegion, len(result.Regions))}
	for i, r := range result.Regions {
		body.Regions[i] = prewarmRegion{Region: r.Name, EdgesLive: r.Live, EdgesWarmed: r.Done, L2: string(r.Redis), DurationMS: milliseconds(r.Took)}
	}
	return &prewarmOutput{LimitHeaders: headers, Body: body}, nil
}

// command takes a token and gives a command. The limit comes first, so that asking for
// links that are not there is limited as well.
func (a *edgeAPI) command(ctx context.Context, rawID string, limit postgres.Limit,
	give func(context.Context, uuid.UUID, link.ID) (control.Result, error),
) (control.Result, LimitHeaders, error) {
	ctx, workspace, done, err := begin(ctx)
	if err != nil {
		return control.Result{}, LimitHeaders{}, err
	}
	defer done()
	left, err := a.limits.Take(ctx, workspace, limit)
	if err != nil {
		return control.Result{}, LimitHeaders{}, a.problem(ctx, err)
	}
	headers := limitHeaders(limit, left)
	if !left.Allowed {
		p := httpapi.NewProblem(http.StatusTooManyRequests, "rate_limited", "This workspace has used up its limit of "+limit.Policy+" requests. Wait for as long as Retry-After says.")
		return control.Result{}, headers, huma.ErrorWithHeaders(p, headers.with("Retry-After", seconds(left.Next)))
	}
	id, err := parseID(rawID)
	if err != nil {
		return control.Result{}, headers, huma.ErrorWithHeaders(a.problem(ctx, err), headers.with("", ""))
	}
	result, err := give(ctx, workspace, id)
	if err != nil {
		return control.Result{}, headers, huma.ErrorWithHeaders(a.problem(ctx, err), headers.with("", ""))
	}
	return result, headers, nil
}

func limitHeaders(limit postgres.Limit, left postgres.Allowance) LimitHeaders {
	window := seconds(time.Duration(limit.Capacity) * time.Second / time.Duration(limit.Rate))
	remaining := strconv.FormatInt(left.Remaining, 10)
	return LimitHeaders{
		Limit: strconv.FormatInt(limit.Capacity, 10), Remaining: remaining, Reset: seconds(left.Full),
		RateLimit:  `"` + limit.Policy + `";r=` + remaining + `;t=` + seconds(left.Full),
		RatePolicy: `"` + limit.Policy + `";q=` + strconv.FormatInt(limit.Capacity, 10) + `;w=` + window,
	}
}

// with is what an error's answer carries: the limit, and one header more unless its
// name is empty.
func (l *LimitHeaders) with(name, value string) http.Header {
	h := http.Header{
		"X-Ratelimit-Limit": {l.Limit}, "X-Ratelimit-Remaining": {l.Remaining}, "X-Ratelimit-Reset": {l.Reset},
		"Ratelimit": {l.RateLimit}, "Ratelimit-Policy": {l.RatePolicy},
	}
	if name != "" {
		h.Set(name, value)
	}
	return h
}

// seconds is a duration in whole seconds, rounded up.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10) }

// milliseconds is a duration in whole milliseconds, rounded up.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
