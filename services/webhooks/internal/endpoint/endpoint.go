// Package endpoint is the domain of webhooks: what an endpoint is, what it may ask for,
// and which events are for it.
//
// It promises that every field that is wrong is reported at once. It knows no database,
// no HTTP server and no Kafka.
package endpoint

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/webhooks/internal/event"
)

// What can go wrong with an endpoint, beyond its fields.
var (
	// ErrNotFound: there is no such thing in the workspace.
	ErrNotFound = errors.New("no such endpoint")
	// ErrStale: it has another version than the caller knew.
	ErrStale = errors.New("the endpoint has changed since")
	// ErrTooMany: the workspace has Max endpoints.
	ErrTooMany = errors.New("the workspace has as many endpoints as it may have")
	// ErrDisabled: nothing is sent to an endpoint that is disabled.
	ErrDisabled = errors.New("the endpoint is disabled")
	// ErrUnavailable: the store cannot be reached; the same call may work later.
	ErrUnavailable = errors.New("the store cannot be reached")
)

// Max is how many endpoints a workspace may have: each costs a row for each event.
const Max = 20

// Reason says why an endpoint is disabled.
type Reason string

// The reasons.
const (
	// ByRequest: somebody switched it off.
	ByRequest Reason = "request"
	// Gone: it answered 410.
	Gone Reason = "gone"
	// Failing: nothing has reached it for days.
	Failing Reason = "failing"
	// QueueFull: more events wait for it than are kept.
	QueueFull Reason = "queue_full"
)

// Endpoint is where a workspace wants to be told of events.
type Endpoint struct {
	ID          uuid.UUID
	WorkspaceID uuid.UUID
	URL         string
	Description string
	Filter      Filter
	// Thresholds are numbers of clicks, ascending.
	Thresholds []int64
	// SummaryEvery is how long clicks are collected for one summary.
	SummaryEvery time.Duration

	Enabled        bool
	DisabledReason Reason // empty when enabled
	DisabledAt     *time.Time
	// ActiveFrom is when it was made or enabled last. What happened before is not for it.
	ActiveFrom time.Time
	// FailingSince is when the first of the attempts failed that have failed ever since.
	FailingSince *time.Time
	// PreviousUntil is until when the secret before the current one signs too.
	PreviousUntil *time.Time

	Version              uint64
	CreatedAt, UpdatedAt time.Time
}

// Filter says which events an endpoint or a viewer wants. An empty list lets everything
// pass.
type Filter struct {
	Types   []event.Type
	Domains []string
	// Tags: one of them has to be among the link's.
	Tags  []string
	Links []uuid.UUID
}

// Wants says whether an event passes.
func (f *Filter) Wants(e *event.Event) bool {
	return f.WantsType(e.Type) && f.wantsPlace(e.Domain, e.Link) && f.WantsTags(e.Tags)
}

// WantsType says whether events of the type may pass.
func (f *Filter) WantsType(t event.Type) bool {
	return len(f.Types) == 0 || slices.Contains(f.Types, t)
}

// WantsClickOn says whether clicks on a link pass, as far as is known without its tags.
func (f *Filter) WantsClickOn(domain string, link uuid.UUID) bool { return f.wantsPlace(domain, link) }

func (f *Filter) wantsPlace(domain string, link uuid.UUID) bool {
	return (len(f.Domains) == 0 || slices.Contains(f.Domains, domain)) && (len(f.Links) == 0 || slices.Contains(f.Links, link))
}

// WantsTags says whether a link with these tags passes.
func (f *Filter) WantsTags(tags []string) bool {
	return len(f.Tags) == 0 || slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(f.Tags, tag) })
}

// WantsClicks says whether the endpoint needs clicks counted.
func (e *Endpoint) WantsClicks() bool {
	return e.Filter.WantsType(event.ClicksSummary) || e.Filter.WantsType(event.LinkThresholdReached) && len(e.Thresholds) > 0
}

// Wants says whether an event is for the endpoint.
func (e *Endpoint) Wants(ev *event.Event) bool {
	return e.Enabled && e.WorkspaceID == ev.Workspace && !ev.At.Before(e.ActiveFrom) && e.Filter.Wants(ev)
}

// secretBytes is what Standard Webhooks recommends at least, and more than anybody tries.
const secretBytes = 32

// SecretPrefix is how every secret begins.
const SecretPrefix = "whsec_"

// NewSecret is a secret as its owner sees it, once.
func NewSecret() string {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return SecretPrefix + base64.StdEncoding.EncodeToString(b)
}
