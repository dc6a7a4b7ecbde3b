package cpu

import (
	"context"
	"slices"
	"sync"
	"time"
)

// lookEvery is how often is looked who uses the processors. What a process of ours uses
// between the last look and its end counts as strangers' use.
const lookEvery = time.Second

// Strangers watches how much of the machine's processors is used by processes that are
// not ours: what they take, nobody who is measured can have.
type Strangers struct {
	mu    sync.Mutex
	use   []float64 // processors, for each look
	spans []time.Duration
}

// Watch looks until the returned function is called. ours returns the ids of processes
// that are ours with all their descendants; this process always is. Where nobody can say
// who uses what, nothing is seen.
func (s *Strangers) Watch(ctx context.Context, ours func() []int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		last, err := look(ours())
		for err == nil {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			var now glance
			if now, err = look(ours()); err == nil {
				s.add(now.since(last))
				last = now
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

func (s *Strangers) add(strangers, took time.Duration) {
	if took <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use = append(s.use, max(0, strangers.Seconds()/took.Seconds()))
	s.spans = append(s.spans, took)
}

// Use is how many processors strangers used, on average and in the worst second of a
// hundred.
func (s *Strangers) Use() (mean, worst float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.use) == 0 {
		return 0, 0
	}
	var sum, took float64
	for i, use := range s.use {
		sum += use * s.spans[i].Seconds()
		took += s.spans[i].Seconds()
	}
	sorted := slices.Sorted(slices.Values(s.use))
	return sum / took, sorted[(len(sorted)*99+99)/100-1]
}

// glance is what all have used so far.
type glance struct {
	at      time.Time
	machine time.Duration         // everybody
	ours    map[int]time.Duration // by process
}

// since is what strangers have used since an earlier glance.
func (g glance) since(earlier glance) (strangers, took time.Duration) {
	strangers = g.machine - earlier.machine
	for pid, used := range g.ours {
		strangers -= used - earlier.ours[pid] // of one that is new all of it
	}
	return strangers, g.at.Sub(earlier.at)
}
