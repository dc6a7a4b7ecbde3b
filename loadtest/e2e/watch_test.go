package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// readEvery is the time between two questions to one edge. They go through the links
// in turn, so that each is looked at every 30 ms.
const readEvery = 5 * time.Millisecond

// watch edits links and looks at them through all edges at the same time. It knows
// when each edit was acknowledged, and how long after that an edge still sent a visitor
// to the target before.
type watch struct {
	links []link

	mu       sync.Mutex
	acked    map[string][]time.Time // by slug: when target number n was acknowledged
	late     map[sighting]time.Duration
	worst    []time.Duration // by edge
	answers  int
	failures []string // answers that are no redirects to one of the targets
}

// sighting is an edit as seen by one edge.
type sighting struct {
	edge int
	slug string
	n    int
}

func target(slug string, n int) string { return fmt.Sprintf("https://e.test/%s/%d", slug, n) }

// newWatch makes links and begins to look at them.
func newWatch(t *testing.T, s *stack, edges []string, prefix string, links int) *watch {
	t.Helper()
	w := &watch{acked: map[string][]time.Time{}}
	for i := range links {
		slug := fmt.Sprint(prefix, i)
		w.links = append(w.links, s.create(t, slug, target(slug, 0)))
		w.acked[slug] = []time.Time{time.Now()}
	}
	for _, l := range w.links {
		for _, edge := range edges {
			s.eventually(t, freshness, edge+" knows "+l.Slug, func(ctx context.Context) error {
				if status, location, _, err := visit(ctx, http.MethodHead, edge, l.Slug); err != nil || status != http.StatusFound {
					return fmt.Errorf("%d %s %w", status, location, err)
				}
				return nil
			})
		}
	}
	w.reset(len(edges))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	for i, edge := range edges {
		running.Go(func() { w.look(ctx, i, edge) })
	}
	t.Cleanup(func() { stop(); running.Wait() })
	return w
}

func (w *watch) reset(edges int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late, w.worst = map[sighting]time.Duration{}, make([]time.Duration, edges)
	w.answers, w.failures = 0, nil
}

func (w *watch) look(ctx context.Context, edge int, url string) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		slug := w.links[i%len(w.links)].Slug
		// The edge decides after this: measured from here no answer seems later than
		// it was.
		asked := time.Now()
		status, location, cache, err := visit(ctx, http.MethodGet, url, slug)
		if ctx.Err() == nil {
			w.saw(edge, slug, asked, status, location, cache, err)
		}
	}
}

func (w *watch) saw(edge int, slug string, asked time.Time, status int, location, cache string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers++
	text, ok := strings.CutPrefix(location, "https://e.test/"+slug+"/")
	n, parse := strconv.Atoi(text)
	if err != nil || status != http.StatusFound || !ok || parse != nil {
		w.failures = append(w.failures, fmt.Sprintf("edge %d: %d %q from %s: %v", edge, status, location, cache, err))
		return
	}
	acked := w.acked[slug]
	if n+1 >= len(acked) {
		return // the newest, or one whose answer to the editor is under way
	}
	late := asked.Sub(acked[n+1])
	if late > 0 {
		at := sighting{edge, slug, n + 1}
		w.late[at] = max(w.late[at], late)
		w.worst[edge] = max(w.worst[edge], late)
	}
}

// edit changes links, chosen by chance, one every 40 ms for that long.
func (w *watch) edit(t *testing.T, s *stack, length time.Duration) {
	t.Helper()
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < length; <-tick.C {
		w.editOne(t, s, w.links[rand.IntN(len(w.links))])
	}
}

// editAll changes each link once more.
func (w *watch) editAll(t *testing.T, s *stack) {
	t.Helper()
	for _, l := range w.links {
		w.editOne(t, s, l)
	}
}

func (w *watch) editOne(t *testing.T, s *stack, l link) {
	t.Helper()
	w.mu.Lock()
	n := len(w.acked[l.Slug])
	w.mu.Unlock()
	body, err := json.Marshal(map[string]string{"destination": target(l.Slug, n)})
	if err != nil {
		t.Fatal(err)
	}
	if status := s.call(t, http.MethodPatch, "/v1/links/"+l.ID, string(body), nil); status != http.StatusOK {
		t.Fatalf("editing %s: status %d", l.Slug, status)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked[l.Slug] = append(w.acked[l.Slug], time.Now())
}

// report checks what was seen since the last reset, and returns the p99 over all edits
// and edges of how long an old target was still served.
func (w *watch) report(t *testing.T) time.Duration {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.failures) > 0 {
		t.Errorf("%d of %d answers were wrong, the first: %s", len(w.failures), w.answers, w.failures[0])
	}
	for edge, worst := range w.worst {
		if worst >= freshness {
			t.Errorf("edge %d served an old target %v after the new one was acknowledged", edge, worst.Round(time.Millisecond))
		}
	}
	edits := 0
	for _, acked := range w.acked {
		edits += len(acked) - 1
	}
	seen := make([]time.Duration, 0, len(w.late))
	for _, late := range w.late {
		seen = append(seen, late)
	}
	slices.Sort(seen)
	t.Logf("%d answers; the last old target by edge: %v after the acknowledgment", w.answers, w.worst)
	return percentile(seen, 99)
}

// percentile of values in order, 0 for none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}
