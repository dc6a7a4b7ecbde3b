package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

const (
	// combineRows bounds how many single creations share a transaction.
	combineRows = 200

	// combineBatches bounds how many such transactions run at the same time. With one,
	// the machine would wait for the disk; with many, each would be small again. Four
	// measured best with 64 callers on two cores.
	combineBatches = 4

	// combineTimeout bounds one of them. It is not a caller's time: they share it.
	combineTimeout = 3500 * time.Millisecond
)

// combiner lets links that are made at the same time share a transaction: one
// commit, one set of round trips, for all that came while the last one was busy.
// Nobody waits for company: whoever finds a free slot starts at once.
//
// Its queue has no bound of its own: it is as long as there are callers, who wait.
type combiner struct {
	make func(ctx context.Context, rows []link.New) []link.Outcome

	mu      sync.Mutex
	waiting []*wish
	busy    int
}

// wish is one caller's link.
type wish struct {
	row     link.New
	outcome link.Outcome
	// One of them is closed: lead when the caller shall run the next batch, with its
	// own link in it, or done when another's batch had it.
	lead, done chan struct{}
}

// create returns what became of one link. When ctx ends first the link may still be
// made, as with any commit that nobody waited for.
func (c *combiner) create(ctx context.Context, row link.New) link.Outcome {
	w := &wish{row: row, lead: make(chan struct{}), done: make(chan struct{})}
	c.mu.Lock()
	if c.busy < combineBatches {
		c.busy++
		c.mu.Unlock()
		c.run(ctx, w)
		return w.outcome
	}
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case <-w.done:
	case <-w.lead:
		c.run(ctx, w)
	case <-ctx.Done():
		return c.leave(ctx, w)
	}
	return w.outcome
}

// leave ends a caller's wait. One who was just asked to run the next batch does so
// all the same: others count on it.
func (c *combiner) leave(ctx context.Context, w *wish) link.Outcome {
	c.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *wish) bool { return other == w })
	c.mu.Unlock()
	select {
	case <-w.lead:
		c.run(ctx, w)
		return w.outcome
	default:
		return link.Outcome{Err: fmt.Errorf("%w: %w", link.ErrUnavailable, ctx.Err())}
	}
}

// run makes the caller's link and those that wait, and then hands the slot to the
// first who came meanwhile.
func (c *combiner) run(ctx context.Context, own *wish) {
	defer c.handOver()
	c.mu.Lock()
	n := min(len(c.waiting), combineRows-1)
	batch := append([]*wish{own}, c.waiting[:n]...)
	c.waiting = c.waiting[n:]
	c.mu.Unlock()

	rows := make([]link.New, len(batch))
	for i, w := range batch {
		rows[i] = w.row
		w.outcome.Err = errNotMade
	}
	defer func() {
		for _, w := range batch[1:] {
			close(w.done)
		}
	}()
	// The batch belongs to all of its callers; one who hangs up ends it for nobody.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), combineTimeout)
	defer cancel()
	for i, outcome := range c.make(ctx, rows) {
		batch[i].outcome = outcome
	}
}

func (c *combiner) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.busy--
		return
	}
	next := c.waiting[0]
	c.waiting = c.waiting[1:]
	close(next.lead)
}

// errNotMade is the outcome of a batch that panicked.
var errNotMade = errors.New("making links ended early")
