// Package feed turns what happens into deliveries: changes of links, clicks, and time.
//
// It promises that an event is queued once for each endpoint that wants it, whatever is
// killed in between: a record is marked after what it makes is committed, and what is
// queued already is left as it is. Clicks are counted in the transaction that notes how
// far they are counted. It refuses to guess: a record that does not decode goes to the
// dead topic, and while the database or the links service is away, records wait.
package feed

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

// Links handles changes of links.
type Links struct {
	store *postgres.Store
	known *known
	urls  address.URLs
	now   func() time.Time
}

// NewLinks returns a handler for events.SubscribeLinks.
func NewLinks(store *postgres.Store, urls address.URLs, now func() time.Time) *Links {
	return &Links{store: store, known: &known{store: store}, urls: urls, now: now}
}

// Handle queues what a change means to endpoints, and remembers when the link expires.
func (l *Links) Handle(ctx context.Context, c events.LinkChange) error {
	if c.Event == nil {
		return nil // a tombstone: the deletion was told a week ago
	}
	endpoints, err := l.known.at(ctx, uuid.UUID(c.Event.GetWorkspaceId()), c.Event.GetChangedAt().AsTime())
	if err != nil {
		return fmt.Errorf("asking for the endpoints: %w", err)
	}
	ev := event.Changed(c.Event, l.urls)
	if ev == nil {
		return fmt.Errorf("kind %v of a change is not known: %w", c.Event.GetKind(), events.ErrPoison)
	}
	var queue []postgres.Queued
	for i := range endpoints {
		if endpoints[i].Wants(ev) {
			queue = append(queue, postgres.Queued{Endpoint: endpoints[i].ID, Event: ev})
		}
	}
	if err := l.store.Enqueue(ctx, queue); err != nil {
		return fmt.Errorf("queueing: %w", err)
	}
	return l.noteExpiry(ctx, c.Event)
}

// Skip is for events.Settings: it says of a change that it means nothing to anybody, so
// that nobody need decode it. Most workspaces have no endpoint.
func (l *Links) Skip(ctx context.Context, b events.Brief) bool {
	if b.Expires {
		return false
	}
	endpoints, err := l.known.at(ctx, uuid.UUID(b.Workspace), b.ChangedAt)
	return err == nil && len(endpoints) == 0 // Handle meets the error again, and says it
}

// noteExpiry remembers links that expire. One that no longer does is found out when its
// time comes: who changes a link without an expiry pays nothing.
func (l *Links) noteExpiry(ctx context.Context, c *eventspb.LinkChanged) error {
	id := uuid.UUID(c.GetLinkId())
	if c.GetKind() == eventspb.LinkChanged_KIND_DELETED && c.GetExpiresAt() != nil {
		if err := l.store.ForgetExpiry(ctx, id); err != nil {
			return fmt.Errorf("forgetting an expiry: %w", err)
		}
		return nil
	}
	if c.GetExpiresAt() == nil {
		return nil
	}
	expires := c.GetExpiresAt().AsTime()
	err := l.store.NoteExpiry(ctx, postgres.Expiry{
		Link: id, Workspace: uuid.UUID(c.GetWorkspaceId()), Host: c.GetAddress().GetHost(), SlugKey: c.GetAddress().GetSlugKey(),
		At: expires, HappensAt: later(expires, c.GetChangedAt().AsTime()), Revision: c.GetRevision(),
	}, l.now().Add(-forgetAfter))
	if err != nil {
		return fmt.Errorf("noting an expiry: %w", err)
	}
	return nil
}

// forgetAfter is how late an expiry is still told. What is older was over before anybody
// asked: a group begins at the start of the topic.
const forgetAfter = 7 * 24 * time.Hour

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
