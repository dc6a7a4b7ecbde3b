package feed

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/webhooks/internal/endpoint"
	"github.com/linkstream/linkstream/services/webhooks/internal/postgres"
)

const (
	// askEvery bounds how often the database is asked whether endpoints have changed,
	// however many changes of links come in: a change waits for at most so long.
	askEvery = 10 * time.Millisecond
	// trustAfter is when a change whose time is ahead of the database's clock is handled
	// nevertheless: a database that was restored may have another clock.
	trustAfter = 2 * time.Second
)

// known holds all enabled endpoints in memory, so that a change that nobody wants to hear
// of costs no question.
//
// It promises that who asks for a moment gets every endpoint that was there at that
// moment: it asks the database again when what it has is older.
type known struct {
	store *postgres.Store

	mu          sync.Mutex // held while asking, so that all who wait share one question
	revision    int64
	asOf        time.Time // the database's clock
	asked       time.Time // ours
	byWorkspace map[uuid.UUID][]endpoint.Endpoint
}

// at returns the endpoints of a workspace as they were at a moment, or later.
func (k *known) at(ctx context.Context, workspace uuid.UUID, moment time.Time) ([]endpoint.Endpoint, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for began := time.Now(); !k.asOf.After(moment); {
		if err := pause(ctx, askEvery-time.Since(k.asked)); err != nil {
			return nil, err
		}
		if err := k.ask(ctx); err != nil {
			return nil, err
		}
		if time.Since(began) > trustAfter {
			break
		}
	}
	return k.byWorkspace[workspace], nil
}

func (k *known) ask(ctx context.Context) error {
	fresh, err := k.store.Known(ctx, k.revision)
	k.asked = time.Now()
	if err != nil {
		return err
	}
	if fresh.Revision != k.revision {
		k.byWorkspace = map[uuid.UUID][]endpoint.Endpoint{}
		for _, e := range fresh.Endpoints {
			k.byWorkspace[e.WorkspaceID] = append(k.byWorkspace[e.WorkspaceID], e)
		}
	}
	k.revision, k.asOf = fresh.Revision, fresh.AsOf
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
