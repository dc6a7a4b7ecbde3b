package lookup

import (
	"context"
	"sync"
	"time"
)

// found is what a fill returns.
type found struct {
	entry  *Entry
	source Source
}

// flight is one fill under way, whoever waits for it.
type flight struct {
	began time.Time
	done  chan struct{} // closed when found and err are set
	found found
	err   error
}

// flights makes sure that there is one fill per key at a time. A fill goes on when
// nobody waits any more: its answer is wanted for the next visitor.
type flights struct {
	mu      sync.Mutex
	byKey   map[string]*flight
	running sync.WaitGroup
}

// join returns the flight of a key. It starts one if there is none, and says so. ctx
// must outlive the request.
func (f *flights) join(ctx context.Context, key string, fill func(ctx context.Context) (found, error)) (fl *flight, started bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if under := f.byKey[key]; under != nil {
		return under, false
	}
	fl = &flight{began: time.Now(), done: make(chan struct{})}
	f.byKey[key] = fl
	f.running.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, fillTimeout)
		defer cancel()
		fl.found, fl.err = fill(ctx)
		f.mu.Lock()
		if f.byKey[key] == fl {
			delete(f.byKey, key)
		}
		f.mu.Unlock()
		close(fl.done)
	})
	return fl, true
}

// stuck says whether the fill of a key that is under way has taken longer than anybody
// who answers does.
func (f *flights) stuck(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	under := f.byKey[key]
	return under != nil && under.stuck()
}

func (fl *flight) stuck() bool { return time.Since(fl.began) > slowAfter }

// forget lets the next who asks for a key start a fill of his own, instead of waiting
// for one whose answer is void already. Whoever waits for that one goes on waiting.
func (f *flights) forget(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byKey, key)
}
