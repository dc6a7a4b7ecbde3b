package account

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// UseInterval is how often the last uses of keys are written: one statement for
// all keys, instead of one for each request.
const UseInterval = 10 * time.Second

// lastWrite bounds the last writing of a process that stops.
const lastWrite = 2 * time.Second

func (a *Accounts) noteUse(id uuid.UUID) {
	now := a.now()
	a.mu.Lock()
	a.used[id] = now
	a.mu.Unlock()
}

// RecordUses writes when keys were used last, until ctx is done, and then once more.
// A store that is away is no error: the uses wait.
func (a *Accounts) RecordUses(ctx context.Context, log *slog.Logger) error {
	tick := time.NewTicker(UseInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer cancel()
			if err := a.WriteUses(last); err != nil {
				log.WarnContext(last, "last uses of keys are lost", "err", err)
			}
			return nil
		case <-tick.C:
			if err := a.WriteUses(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "last uses of keys not written", "err", err)
			}
		}
	}
}

// WriteUses writes what was noted since the last time, or keeps it for the next.
func (a *Accounts) WriteUses(ctx context.Context) error {
	a.mu.Lock()
	noted := a.used
	a.used = map[uuid.UUID]time.Time{}
	a.mu.Unlock()
	if len(noted) == 0 {
		return nil
	}
	ids, at := make([]uuid.UUID, 0, len(noted)), make([]time.Time, 0, len(noted))
	for id, t := range noted {
		ids, at = append(ids, id), append(at, t)
	}
	err := a.store.MarkUsed(ctx, ids, at)
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, t := range noted {
		if _, newer := a.used[id]; !newer {
			a.used[id] = t
		}
	}
	return err
}
