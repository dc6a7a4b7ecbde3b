package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

const hotKeys = 300

// crowd is a world whose L1 holds about two thousand links, with hot ones in it that
// have been visited some times.
func crowd(t *testing.T, cold string, colds int) *world {
	t.Helper()
	w := newWorld(t, func(s *lookup.Settings) { s.MaxBytes, s.TTL = 1<<20, time.Hour })
	w.putMany(t, "hot-", hotKeys)
	w.putMany(t, cold, colds)
	for range 20 {
		w.hotHits(t)
	}
	facttest.Eventually(t, "the hot links are in memory", func() bool { return w.hotHits(t) == hotKeys })
	return w
}

func (w *world) putMany(t *testing.T, prefix string, n int) {
	t.Helper()
	const batch = 1000
	for first := 0; first < n; first += batch {
		var entries []linkcache.Entry
		for i := first; i < min(first+batch, n); i++ {
			slug := fmt.Sprint(prefix, i)
			entries = append(entries, linkcache.Entry{Key: linkcache.Key("s.test", slug), Record: record(1, "https://"+slug+".test/")})
		}
		if _, err := w.store.Put(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
	}
}

// hotHits visits every hot link once and says how many were in memory.
func (w *world) hotHits(t *testing.T) (hits int) {
	t.Helper()
	for i := range hotKeys {
		if w.source(t, fmt.Sprint("hot-", i)) == lookup.L1 {
			hits++
		}
	}
	return hits
}

// rush looks up n links once each, some at a time, and visits the hot ones now and
// then. It returns how many of those visits were hits, and how many there were.
func (w *world) rush(t *testing.T, prefix string, n int, look func(ctx context.Context, key []byte, now time.Time) (lookup.Entry, lookup.Source, error)) (hits, visits int) {
	t.Helper()
	const crawlers, rounds = 8, 25
	ctx := context.WithoutCancel(t.Context())
	for round := range rounds {
		var all sync.WaitGroup
		for crawler := range crawlers {
			all.Go(func() {
				for i := round*n/rounds + crawler; i < (round+1)*n/rounds; i += crawlers {
					slug := fmt.Sprint(prefix, i)
					e, _, err := look(ctx, []byte(linkcache.Key("s.test", slug)), time.Now())
					if err != nil || e.Destination != "https://"+slug+".test/" {
						t.Errorf("%s: %+v, %v", slug, e, err)
					}
				}
			})
		}
		all.Wait()
		hits, visits = hits+w.hotHits(t), visits+hotKeys
	}
	return hits, visits
}

// Guards promise 8.
//
// Guards I20.
func TestACrawlLeavesTheHotLinksInMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector sync.Pool forgets at random, and with it the cache its counts of visits")
	}
	const slugs = 50_000
	w := crowd(t, "once-", slugs)
	hits, visits := w.rush(t, "once-", slugs, w.lookup.Find)
	if held := facttest.Metric(t, w.registry, "cache_l1_memory_bytes", ""); held < 0.9*(1<<20) {
		t.Errorf("the memory was never full: %v bytes", held)
	}
	rate := float64(hits) / float64(visits)
	t.Logf("hot links were hits in %d of %d visits during a crawl of %d others: %.4f", hits, visits, slugs, rate)
	if rate < 0.95 {
		t.Errorf("the hit rate of hot links fell to %.4f, want 0.95", rate)
	}
}

// Guards promise 8.
//
// Guards I20.
func TestAMonitorLeavesNoTraceInMemory(t *testing.T) {
	const links = 18_000
	w := crowd(t, "watched-", links)
	count := func(name string) float64 { return facttest.Metric(t, w.registry, name, "") }
	held, l1 := count("cache_l1_memory_bytes"), count("cache_l1_hit_total")+count("cache_l1_miss_total")
	hits, visits := w.rush(t, "watched-", links, w.lookup.Probe)
	if hits != visits {
		t.Errorf("hot links were hits in %d of %d visits, want all", hits, visits)
	}
	if got := count("cache_l1_memory_bytes"); got != held {
		t.Errorf("a monitor changed what is in memory from %v to %v bytes", held, got)
	}
	if got := count("cache_l1_hit_total") + count("cache_l1_miss_total") - l1; got != float64(visits) {
		t.Errorf("%v look-ups in memory, want the %d of visitors", got, visits)
	}
	if got := count("cache_probe_total"); got != links {
		t.Errorf("cache_probe_total = %v, want %d", got, links)
	}
	// Nor does it read what is there.
	if e, source, err := w.probe(t, "hot-0"); err != nil || source != lookup.L2 || e.Destination != "https://hot-0.test/" {
		t.Errorf("a monitor gets %+v by %s, %v; want it from redis", e, source, err)
	}
}

func (w *world) probe(t *testing.T, slug string) (*lookup.Entry, lookup.Source, error) {
	t.Helper()
	e, source, err := w.lookup.Probe(context.WithoutCancel(t.Context()), []byte(linkcache.Key("s.test", slug)), time.Now())
	return &e, source, err
}

// Guards promises 4 and 5 for monitors.
func TestAMonitorGetsWhatIsInMemoryWhenNobodyElseAnswers(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.becomesHit(t, "a", "https://a.test/")
	w.redis.Kill()
	w.origin.Close()
	if e, source, err := w.probe(t, "a"); err != nil || source != lookup.Stale || e.Destination != "https://a.test/" {
		t.Errorf("a monitor gets %+v by %s, %v; want what is in memory", e, source, err)
	}
	if e, _, err := w.probe(t, "b"); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("b = %+v, %v; want ErrUnavailable", e, err)
	}
}

// Guards promise 1 for monitors.
func TestAMonitorGetsNothingBelowTheFloor(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 4, "https://old.test/")
	w.origin.Put(change("a", 5, "https://new.test/"))
	w.announce(t, "a", 5)
	if e, source, err := w.probe(t, "a"); err != nil || source != lookup.Origin || e.Destination != "https://new.test/" {
		t.Errorf("a monitor gets %+v by %s, %v; want the new one", e, source, err)
	}
}
