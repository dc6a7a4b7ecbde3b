package feed

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/address"
	"github.com/linkstream/linkstream/services/webhooks/internal/event"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

const (
	// tickEvery is how late an expiry or a summary may be. Each look is one question to an
	// index, whatever there is.
	tickEvery = time.Second
	// atOnce bounds one look.
	atOnce = 100
	// expiryLease is how long an expiry that could not be told waits.
	expiryLease = 15 * time.Second
)

// finder says what a link is now; Origin is one.
type finder interface {
	Find(ctx context.Context, host, slugKey string, link uuid.UUID) (*eventspb.LinkChanged, error)
}

// Timer queues what time brings: expiries and summaries of clicks.
type Timer struct {
	store *postgres.Store
	known *known
	links finder
	urls  address.URLs
	log   *slog.Logger
}

// NewTimer returns a Timer.
func NewTimer(store *postgres.Store, links finder, urls address.URLs, log *slog.Logger) *Timer {
	return &Timer{store: store, known: &known{store: store}, links: links, urls: urls, log: log}
}

// Run works until ctx is done. Several processes may do it at the same time.
func (t *Timer) Run(ctx context.Context) error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, work := range []func(context.Context) error{t.expire, t.sumUp} {
			if err := work(ctx); err != nil && ctx.Err() == nil {
				t.log.ErrorContext(ctx, "not told in time", "err", err)
			}
		}
	}
}

func (t *Timer) sumUp(ctx context.Context) error {
	for {
		n, err := t.store.SumUp(ctx, atOnce)
		if err != nil || n < atOnce {
			return err
		}
	}
}

func (t *Timer) expire(ctx context.Context) error {
	for {
		due, err := t.store.Expiries(ctx, atOnce, expiryLease)
		if err != nil {
			return err
		}
		for _, e := range due {
			if err := t.tell(ctx, e); err != nil {
				return err // the rest waits for the lease
			}
		}
		if len(due) < atOnce {
			return nil
		}
	}
}

// tell queues the expiry of a link, if it still expires when we thought.
func (t *Timer) tell(ctx context.Context, e postgres.Expiry) error {
	endpoints, err := t.known.at(ctx, e.Workspace, e.HappensAt)
	if err != nil {
		return fmt.Errorf("asking for the endpoints: %w", err)
	}
	if len(endpoints) == 0 {
		return t.store.Expire(ctx, e, nil)
	}
	link, err := t.links.Find(ctx, e.Host, e.SlugKey, e.Link)
	if err != nil {
		return err
	}
	var queue []postgres.Queued
	if link != nil && link.GetExpiresAt() != nil && link.GetExpiresAt().AsTime().Equal(e.At) {
		ev := event.Expired(link, e.HappensAt, t.urls)
		for i := range endpoints {
			if endpoints[i].Wants(ev) {
				queue = append(queue, postgres.Queued{Endpoint: endpoints[i].ID, Event: ev})
			}
		}
	}
	return t.store.Expire(ctx, e, queue)
}
