package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkstream/linkstream/services/links/internal/link"
)

func TestLinksThatComeTogetherAreMadeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches, rows, atOnce, most atomic.Int64
		c := &combiner{make: func(_ context.Context, batch []link.New) []link.Outcome {
			most.Store(max(most.Load(), atOnce.Add(1)))
			defer atOnce.Add(-1)
			batches.Add(1)
			rows.Add(int64(len(batch)))
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // virtual time
			out := make([]link.Outcome, len(batch))
			for i := range batch {
				out[i].Link = &link.Link{ID: batch[i].ID} // each gets its own
			}
			return out
		}}
		const callers = 1000
		var wg sync.WaitGroup
		began := time.Now()
		for range callers {
			wg.Go(func() {
				id, err := link.NewID()
				if err != nil {
					t.Error(err)
				}
				if got := c.create(t.Context(), link.New{ID: id}); got.Err != nil || got.Link.ID != id {
					t.Errorf("got %+v, want the link %v", got, id)
				}
			})
		}
		wg.Wait()
		if rows.Load() != callers || most.Load() != combineBatches {
			t.Errorf("%d rows, %d batches at once", rows.Load(), most.Load())
		}
		// Four at once alone, and the rest in batches of 200, four at a time, give or take
		// who came while a batch was put together.
		if batches.Load() > 20 || time.Since(began) > 60*time.Millisecond {
			t.Errorf("%d batches in %v", batches.Load(), time.Since(began))
		}
		if c.busy != 0 || len(c.waiting) != 0 {
			t.Errorf("%d slots and %d callers are left", c.busy, len(c.waiting))
		}
	})
}

func TestWhoHangsUpHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rows atomic.Int64
		c := &combiner{make: func(ctx context.Context, batch []link.New) []link.Outcome {
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // virtual time
			rows.Add(int64(len(batch)))
			if err := ctx.Err(); err != nil {
				t.Errorf("a batch ended with its caller: %v", err)
			}
			return make([]link.Outcome, len(batch))
		}}
		ctx, hangUp := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				mine := t.Context()
				if i%2 == 0 {
					mine = ctx
				}
				got := c.create(mine, link.New{})
				if got.Err != nil && (i%2 != 0 || !errors.Is(got.Err, link.ErrUnavailable)) {
					t.Errorf("%d: %v", i, got.Err)
				}
			})
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time
		hangUp()
		wg.Wait()
		if c.busy != 0 || len(c.waiting) != 0 || rows.Load() < 30 {
			t.Errorf("%d slots and %d callers are left, %d rows were made", c.busy, len(c.waiting), rows.Load())
		}
	})
}
