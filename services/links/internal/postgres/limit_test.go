package postgres_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

func TestATokenBucketIsExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limit := postgres.Limit{Policy: "test", Capacity: 10, Rate: 2}
	take := func() postgres.Allowance {
		t.Helper()
		a, err := w.store.Take(t.Context(), w.workspace, limit)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := take()
	if !first.Allowed || first.Remaining != 9 || first.Full != 500*time.Millisecond || first.Next != 0 {
		t.Errorf("the first gives %+v", first)
	}
	start := time.Now()
	var allowed atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				a, err := w.store.Take(t.Context(), w.workspace, limit)
				if err != nil {
					t.Error(err)
				}
				if a.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n, most := allowed.Load(), 9+int64(2*time.Since(start).Seconds())+1; n < 9 || n > most {
		t.Errorf("%d of 40 at once were allowed, want 9 to %d", n, most)
	}

	// A second brings two tokens, an hour no more than there is room for.
	age := func(by string) {
		t.Helper()
		if _, err := w.pool.Exec(t.Context(), `UPDATE workspace_limits SET level = 0, level_at = (extract(epoch FROM clock_timestamp() - $1::interval) * 1000000)::bigint`, by); err != nil {
			t.Fatal(err)
		}
	}
	age("-1 hour")
	if a := take(); a.Allowed || a.Remaining != 0 || a.Next != 500*time.Millisecond || a.Full != 5*time.Second {
		t.Errorf("an empty one gives %+v", a)
	}
	age("1 second")
	if a := take(); !a.Allowed || a.Remaining < 1 {
		t.Errorf("after a second it gives %+v", a)
	}
	age("1 hour")
	if a := take(); !a.Allowed || a.Remaining != 9 {
		t.Errorf("after an hour it gives %+v", a)
	}
}
