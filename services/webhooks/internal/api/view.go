package api

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

// WebhookFields are what may be said of an endpoint. (huma sees exported embedded structs
// only.)
type WebhookFields struct {
	Description     field[string]   `json:"description,omitzero" doc:"At most 500 characters" example:"CRM"`
	Enabled         field[bool]     `json:"enabled,omitzero" doc:"Nothing is queued for an endpoint that is disabled, and what waits for it is given up; it can be replayed. true when left out"`
	Events          field[[]string] `json:"events,omitzero" doc:"Kinds of events: link.created, link.updated, link.deleted, link.expired, link.threshold_reached, clicks.summary. All of them when left out, null or empty" example:"[\"link.created\",\"link.deleted\"]"`
	Domains         field[[]string] `json:"domains,omitzero" doc:"Only links on these hosts; all when left out, null or empty" example:"[\"go.example.com\"]"`
	Tags            field[[]string] `json:"tags,omitzero" doc:"Only links that have one of these tags; all when left out, null or empty" example:"[\"spring\"]"`
	LinkIDs         field[[]string] `json:"link_ids,omitzero" doc:"Only these links; all when left out, null or empty"`
	ClickThresholds field[[]int64]  `json:"click_thresholds,omitzero" doc:"Numbers of clicks at which link.threshold_reached is told, once for each link. Clicks count from the moment at which the endpoint is made, while it is enabled; those of robots do not. 100 to 1,000,000 by powers of ten when left out or null" example:"[100,1000]"`
	SummaryInterval field[int]      `json:"summary_interval_seconds,omitzero" doc:"For how long clicks are collected for one clicks.summary, from the first of them on: 60 to 86400, 300 when left out or null" example:"300"`
}

type newWebhookBody struct {
	URL string `json:"url" doc:"An https address at a public host. Redirects are not followed" example:"https://example.com/hooks/linkstream"`
	WebhookFields
}

type editWebhookBody struct {
	URL field[string] `json:"url,omitzero" doc:"An https address at a public host. Redirects are not followed" example:"https://example.com/hooks/linkstream"`
	WebhookFields
}

// fresh is a draft with what an endpoint is when nothing is said of it.
func fresh() endpoint.Draft {
	return endpoint.Draft{Enabled: true, Thresholds: endpoint.DefaultThresholds(), SummaryEvery: endpoint.DefaultSummaryEvery}
}

// draftOf is an endpoint in a caller's words.
func draftOf(e *endpoint.Endpoint) endpoint.Draft {
	d := endpoint.Draft{
		URL: e.URL, Description: e.Description, Domains: e.Filter.Domains, Tags: e.Filter.Tags, Thresholds: e.Thresholds,
		SummaryEvery: e.SummaryEvery, Enabled: e.Enabled,
	}
	for _, t := range e.Filter.Types {
		d.Events = append(d.Events, string(t))
	}
	for _, id := range e.Filter.Links {
		d.Links = append(d.Links, id.String())
	}
	return d
}

// into writes what was sent into a draft.
func (f *WebhookFields) into(d *endpoint.Draft) {
	cleared := fresh()
	f.Description.into(&d.Description, cleared.Description)
	f.Enabled.into(&d.Enabled, cleared.Enabled)
	f.Events.into(&d.Events, nil)
	f.Domains.into(&d.Domains, nil)
	f.Tags.into(&d.Tags, nil)
	f.LinkIDs.into(&d.Links, nil)
	f.ClickThresholds.into(&d.Thresholds, cleared.Thresholds)
	if f.SummaryInterval.Sent && !f.SummaryInterval.Null {
		d.SummaryEvery = time.Duration(min(max(f.SummaryInterval.Value, 0), 1_000_000)) * time.Second
	} else if f.SummaryInterval.Null {
		d.SummaryEvery = cleared.SummaryEvery
	}
}

// WebhookView is an endpoint as callers see it. (huma sees exported embedded structs
// only.)
type WebhookView struct {
	ID              string      `json:"id" format:"uuid"`
	URL             string      `json:"url" format:"uri" example:"https://example.com/hooks/linkstream"`
	Description     string      `json:"description" example:"CRM"`
	Enabled         bool        `json:"enabled"`
	DisabledReason  *string     `json:"disabled_reason" nullable:"true" enum:"request,gone,failing,queue_full" doc:"request: somebody switched it off; gone: it answered 410; failing: nothing has reached it for three days; queue_full: too much waited for it"`
	DisabledAt      *time.Time  `json:"disabled_at" nullable:"true"`
	FailingSince    *time.Time  `json:"failing_since" nullable:"true" doc:"When the first attempt failed of those that have failed ever since; null when the last one worked"`
	Events          []string    `json:"events" nullable:"false"`
	Domains         []string    `json:"domains" nullable:"false"`
	Tags            []string    `json:"tags" nullable:"false"`
	LinkIDs         []uuid.UUID `json:"link_ids" nullable:"false"`
	ClickThresholds []int64     `json:"click_thresholds" nullable:"false"`
	SummaryInterval int         `json:"summary_interval_seconds"`
	ActiveFrom      time.Time   `json:"active_from" doc:"What happened before is not told"`
	SecretUntil     *time.Time  `json:"previous_secret_until" nullable:"true" doc:"Until then the secret before the current one signs, too"`
	Version         uint64      `json:"version" minimum:"1" doc:"Counts the endpoint's changes; also its ETag"`
	CreatedAt       time.Time   `json:"created_at"`
	UpdatedAt       time.Time   `json:"updated_at"`
}

type secretView struct {
	WebhookView
	Secret string `json:"secret" doc:"Verifies signatures, see standardwebhooks.com. It is shown this once" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"`
}

func view(e *endpoint.Endpoint) WebhookView {
	v := WebhookView{
		ID: e.ID.String(), URL: e.URL, Description: e.Description, Enabled: e.Enabled, DisabledAt: e.DisabledAt, FailingSince: e.FailingSince,
		Events: []string{}, Domains: list(e.Filter.Domains), Tags: list(e.Filter.Tags), LinkIDs: list(e.Filter.Links), ClickThresholds: list(e.Thresholds),
		SummaryInterval: int(e.SummaryEvery / time.Second), ActiveFrom: e.ActiveFrom, SecretUntil: e.PreviousUntil,
		Version: e.Version, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
	if e.DisabledReason != "" {
		reason := string(e.DisabledReason)
		v.DisabledReason = &reason
	}
	for _, t := range e.Filter.Types {
		v.Events = append(v.Events, string(t))
	}
	return v
}

func list[T any](s []T) []T { return append([]T{}, s...) }

// DeliveryView is a delivery as callers see it. (huma sees exported embedded structs
// only.)
type DeliveryView struct {
	ID            string     `json:"id" format:"uuid"`
	EventID       string     `json:"event_id" doc:"The header webhook-id: the same for every attempt and replay" example:"evt_0f3a..."`
	EventType     string     `json:"event_type" example:"link.created"`
	LinkID        *uuid.UUID `json:"link_id" nullable:"true"`
	State         string     `json:"state" enum:"pending,delivered,failed"`
	Failure       *string    `json:"failure" nullable:"true" enum:"given_up,gone,endpoint_disabled" doc:"Why it failed for good"`
	Attempts      int        `json:"attempts" doc:"Replays included"`
	LastStatus    *int       `json:"last_status" nullable:"true" doc:"Status of the last answer; null when nobody answered"`
	LastError     *string    `json:"last_error" nullable:"true" doc:"Why nobody answered"`
	NextAttemptAt *time.Time `json:"next_attempt_at" nullable:"true" doc:"null for a delivery that waits for an earlier one of its link, and for one that is done"`
	CreatedAt     time.Time  `json:"created_at"`
	FinishedAt    *time.Time `json:"finished_at" nullable:"true"`
}

type attemptView struct {
	Number     int       `json:"number" minimum:"1"`
	StartedAt  time.Time `json:"started_at"`
	DurationMS int64     `json:"duration_ms"`
	Status     *int      `json:"status" nullable:"true" doc:"null when nobody answered"`
	Error      *string   `json:"error" nullable:"true" doc:"Why nobody answered"`
	Response   string    `json:"response" doc:"The first 1,024 bytes of the answer"`
}

type deliveryDetail struct {
	DeliveryView
	Payload json.RawMessage `json:"payload" doc:"The body, as it is sent"`
	Log     []attemptView   `json:"log" nullable:"false" doc:"The last 100 attempts, newest first"`
}

func viewDelivery(l *postgres.Logged) DeliveryView {
	return DeliveryView{
		ID: l.ID.String(), EventID: l.EventID, EventType: l.EventType, LinkID: l.LinkID, State: l.State, Failure: given(l.Failure), Attempts: l.Attempts,
		LastStatus: l.LastStatus, LastError: given(l.LastError), NextAttemptAt: l.NextAttemptAt, CreatedAt: l.CreatedAt, FinishedAt: l.FinishedAt,
	}
}

func viewAttempts(attempts []postgres.LoggedAttempt) []attemptView {
	views := make([]attemptView, len(attempts))
	for i, a := range attempts {
		views[i] = attemptView{Number: a.Number, StartedAt: a.StartedAt, DurationMS: a.Took.Milliseconds(), Error: given(a.Error), Response: a.Response}
		if a.Status != 0 {
			views[i].Status = &attempts[i].Status
		}
	}
	return views
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
