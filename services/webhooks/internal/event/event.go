// Package event says what webhooks and event streams tell of: the kinds of events, their
// ids, and the JSON that carries them.
//
// It promises that an event has the same id whenever and however often it is made from
// the same record, so that a receiver can leave out what it has, and that the JSON shows
// a link as the API does. It refuses to show what the API does not: fields are copied one
// by one, never passed through.
package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
)

// Type is a kind of event.
type Type string

// The kinds. The list may grow.
const (
	LinkCreated          Type = "link.created"
	LinkUpdated          Type = "link.updated"
	LinkDeleted          Type = "link.deleted"
	LinkExpired          Type = "link.expired"
	LinkThresholdReached Type = "link.threshold_reached"
	ClicksSummary        Type = "clicks.summary"
	// Test is sent on request only.
	Test Type = "webhook.test"
)

// Types are those that an endpoint can ask for.
func Types() []Type {
	return []Type{LinkCreated, LinkUpdated, LinkDeleted, LinkExpired, LinkThresholdReached, ClicksSummary}
}

// Event is something to tell.
type Event struct {
	// ID is the same for the same event, always.
	ID        string
	Type      Type
	Workspace uuid.UUID
	// At is when it happened.
	At time.Time
	// Link is uuid.Nil for what is not about one link.
	Link uuid.UUID
	// Domain and Tags are the link's, for filters.
	Domain string
	Tags   []string
	// Order is what comes one after the other: events with the same one are told in the
	// order in which they were queued.
	Order uuid.UUID
	// Data is the member data of the JSON.
	Data any
}

// JSON is the event as Standard Webhooks has it: type, timestamp, data.
func (e *Event) JSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(Message{Type: e.Type, Timestamp: e.At.UTC(), Data: e.Data})
	if err != nil {
		return nil, fmt.Errorf("writing an event: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Message is the JSON of an event.
type Message struct {
	Type      Type      `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// id makes an event's id from what makes it that event.
func id(kind Type, parts ...string) string {
	h := sha256.New()
	for _, part := range append([]string{string(kind)}, parts...) {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return "evt_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// Changed is the event of a change of a link; nil for a kind that is unknown here.
func Changed(c *eventspb.LinkChanged, urls address.URLs) *Event {
	var kind Type
	switch c.GetKind() {
	case eventspb.LinkChanged_KIND_CREATED:
		kind = LinkCreated
	case eventspb.LinkChanged_KIND_UPDATED:
		kind = LinkUpdated
	case eventspb.LinkChanged_KIND_DELETED:
		kind = LinkDeleted
	case eventspb.LinkChanged_KIND_UNSPECIFIED:
		return nil
	default:
		return nil
	}
	e := about(kind, c, c.GetChangedAt().AsTime())
	// Not the kind: one change is one event, whatever a later release calls it.
	e.ID = id("link.changed", e.Link.String(), strconv.FormatUint(c.GetRevision(), 10))
	e.Data = LinkOf(c, urls)
	return e
}

// Expired is the event of a link whose time is over since at.
func Expired(c *eventspb.LinkChanged, at time.Time, urls address.URLs) *Event {
	e := about(LinkExpired, c, at)
	e.ID = id(LinkExpired, e.Link.String(), strconv.FormatInt(c.GetExpiresAt().AsTime().UnixMicro(), 10))
	e.Data = LinkOf(c, urls)
	return e
}

func about(kind Type, c *eventspb.LinkChanged, at time.Time) *Event {
	link := uuid.UUID(c.GetLinkId())
	return &Event{
		Type: kind, Workspace: uuid.UUID(c.GetWorkspaceId()), At: at, Link: link,
		Domain: c.GetAddress().GetHost(), Tags: c.GetTags(), Order: link,
	}
}

// ThresholdData is the data of LinkThresholdReached.
type ThresholdData struct {
	LinkID    uuid.UUID `json:"link_id"`
	Threshold int64     `json:"threshold" doc:"The number of clicks that was reached"`
	Clicks    int64     `json:"clicks" doc:"How many there were when it was noticed"`
	Link      *LinkData `json:"link,omitempty" doc:"The link; left out when it is gone"`
}

// Reached is the event of a link that has been clicked so often since the endpoint was
// made. It is told once for each endpoint, link and threshold.
func Reached(endpoint, workspace uuid.UUID, t ThresholdData, at time.Time) *Event {
	return &Event{
		ID:   id(LinkThresholdReached, endpoint.String(), t.LinkID.String(), strconv.FormatInt(t.Threshold, 10)),
		Type: LinkThresholdReached, Workspace: workspace, At: at, Link: t.LinkID, Order: t.LinkID, Data: t,
	}
}

// ClickSummary is the data of ClicksSummary.
type ClickSummary struct {
	From   time.Time    `json:"from" doc:"When the first of these clicks was counted"`
	To     time.Time    `json:"to" doc:"When the summary was made"`
	Clicks int64        `json:"clicks" doc:"Of all links below"`
	Links  []LinkClicks `json:"links" nullable:"false"`
	Part   int          `json:"part" minimum:"1" doc:"A summary of more than 500 links comes in parts"`
	Parts  int          `json:"parts" minimum:"1"`
}

// LinkClicks is one link of a ClickSummary.
type LinkClicks struct {
	LinkID uuid.UUID `json:"link_id"`
	Domain string    `json:"domain"`
	Slug   string    `json:"slug" doc:"As it is looked up"`
	Clicks int64     `json:"clicks" doc:"Since the last summary"`
	Total  int64     `json:"total_clicks" doc:"Since the endpoint was made, while it was enabled"`
}

// Summed is the event of an endpoint's n-th summary.
func Summed(endpoint, workspace uuid.UUID, n int64, s ClickSummary) *Event {
	return &Event{
		ID:   id(ClicksSummary, endpoint.String(), strconv.FormatInt(n, 10), strconv.Itoa(s.Part)),
		Type: ClicksSummary, Workspace: workspace, At: s.To, Order: endpoint, Data: s,
	}
}

// TestData is the data of Test.
type TestData struct {
	EndpointID uuid.UUID `json:"endpoint_id"`
	Message    string    `json:"message"`
}

// Tested is an event for trying an endpoint, never the same twice.
func Tested(endpoint, workspace uuid.UUID, at time.Time) *Event {
	unique := uuid.New()
	return &Event{
		ID: id(Test, unique.String()), Type: Test, Workspace: workspace, At: at, Order: unique,
		Data: TestData{EndpointID: endpoint, Message: "This is a test. Nothing has happened."},
	}
}
