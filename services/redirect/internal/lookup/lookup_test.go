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

func TestSourcesAreAskedInOrder(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.origin.Put(change("b", 2, "https://b.test/"))
	asked := w.origin.Asked()

	w.leads(t, "a", "https://a.test/", lookup.L2)
	w.becomesHit(t, "a", "https://a.test/")
	if got := w.origin.Asked(); got != asked {
		t.Errorf("the origin was asked %d times for what redis has", got-asked)
	}
	w.leads(t, "b", "https://b.test/", lookup.Origin)
	w.becomesHit(t, "b", "https://b.test/")
	if r, ok, err := w.store.Store.Get(t.Context(), linkcache.Key("s.test", "b")); err != nil || !ok || r.Destination != "https://b.test/" || r.Revision != 2 {
		t.Errorf("after the origin's answer redis holds %+v, %t, %v", r, ok, err)
	}
	w.leads(t, "c", "", lookup.Origin)
	w.becomesHit(t, "c", "")
}

func TestUnknownIsRememberedForSecondsOnly(t *testing.T) {
	w := newWorld(t)
	w.leads(t, "a", "", lookup.Origin)
	w.becomesHit(t, "a", "")
	w.origin.Put(change("a", 1, "https://a.test/")) // nobody announced it
	facttest.Eventually(t, "it is found", func() bool {
		e, _, err := w.find(t, "a")
		return err == nil && e.Found
	})
}

func TestEntriesAskAgainAfterTheirTime(t *testing.T) {
	w := newWorld(t, func(s *lookup.Settings) { s.TTL = time.Second })
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.put(t, "a", 2, "https://new.test/")
	later := time.Now().Add(time.Second)
	e, source, err := w.lookup.Find(context.WithoutCancel(t.Context()), []byte(linkcache.Key("s.test", "a")), later)
	if err != nil || source != lookup.L2 || e.Destination != "https://new.test/" {
		t.Errorf("after its time it leads to %+v by %s, %v", e, source, err)
	}
	if w.invalidations(t, "ttl") == 0 {
		t.Error("the expiry is not counted")
	}
}

// Guards promises 4 and 5.
//
// Guards I11.
func TestWithEverythingDownKnownLinksRedirect(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.becomesHit(t, "a", "https://a.test/")
	w.redis.Kill()
	w.origin.Close()
	facttest.Eventually(t, "nobody vouches for the link", func() bool {
		e, source, err := w.find(t, "a")
		if err != nil || e.Destination != "https://a.test/" {
			t.Errorf("meanwhile it leads to %q by %s, %v", e.Destination, source, err)
		}
		return source == lookup.Stale
	})
	before := facttest.Metric(t, w.registry, "cache_stale_served_total", "")
	for range 20 {
		w.leads(t, "a", "https://a.test/", lookup.Stale)
	}
	if got := facttest.Metric(t, w.registry, "cache_stale_served_total", ""); got != before+20 {
		t.Errorf("cache_stale_served_total = %v, want %v", got, before+20)
	}
	// The breakers are open by now: an answer does not wait for anybody.
	began := time.Now()
	w.leads(t, "a", "https://a.test/", lookup.Stale)
	if took := time.Since(began); took > 50*time.Millisecond {
		t.Errorf("a known link took %v", took)
	}
	for _, slug := range []string{"b", "c"} {
		if e, _, err := w.find(t, slug); !errors.Is(err, lookup.ErrUnavailable) {
			t.Errorf("%s = %+v, %v; want ErrUnavailable", slug, e, err)
		}
	}
	w.redis.Restart(t)
	w.put(t, "a", 2, "https://new.test/")
	facttest.Eventually(t, "it recovers by itself", func() bool {
		e, _, err := w.find(t, "a")
		return err == nil && e.Destination == "https://new.test/"
	})
}

func TestUnknownIsNotServedStale(t *testing.T) {
	w := newWorld(t)
	w.leads(t, "a", "", lookup.Origin)
	w.becomesHit(t, "a", "")
	w.redis.Kill()
	w.origin.Close()
	facttest.Eventually(t, "the no is not repeated", func() bool {
		_, _, err := w.find(t, "a")
		return errors.Is(err, lookup.ErrUnavailable)
	})
}

// Redis is there, but nobody speaks for it, and the origin is away: what Redis
// has is better than nothing, and does not pass for fresh.
func TestL2IsTheLastResortWithoutHeartbeats(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.setBeating(false)
	w.origin.SetDown(true)
	facttest.Eventually(t, "it is served as stale", func() bool {
		e, source, err := w.find(t, "a")
		return err == nil && source == lookup.Stale && e.Destination == "https://a.test/"
	})
}

// Guards promise 6.
func TestOneQuestionPerKeyAtATime(t *testing.T) {
	w := newWorld(t)
	w.origin.Put(change("a", 1, "https://a.test/"))
	g := newGate()
	w.origin.SetGate(g.only("a"))
	asked := w.origin.Asked()
	var all []<-chan result
	for range 50 {
		all = append(all, w.findLater(t, "a"))
	}
	<-g.arrived
	close(g.open)
	for _, r := range all {
		(<-r).leads(t, "https://a.test/")
	}
	if got := w.origin.Asked() - asked; got != 1 {
		t.Errorf("the origin was asked %d times, want once", got)
	}
}

func TestAFloodDoesNotReachTheOrigin(t *testing.T) {
	w := newWorld(t)
	open := make(chan struct{})
	w.origin.SetGate(func(string) { <-open })
	asked := w.origin.Asked()
	const flood = 300
	var refused sync.Map
	var all sync.WaitGroup
	for i := range flood {
		all.Go(func() {
			if _, _, err := w.find(t, fmt.Sprint("made-up-", i)); errors.Is(err, lookup.ErrUnavailable) {
				refused.Store(i, true)
			}
		})
	}
	facttest.Eventually(t, "the rest is refused", func() bool { return facttest.Metric(t, w.registry, "cache_origin_refused_total", "") >= flood-64 })
	if got := w.origin.Asked() - asked; got > 64 {
		t.Errorf("the origin was asked %d questions at once", got)
	}
	close(open)
	all.Wait()
	n := 0
	refused.Range(func(any, any) bool { n++; return true })
	if n < flood-64 {
		t.Errorf("%d look-ups were refused, want at least %d: the rest must not be a false no", n, flood-64)
	}
}

// Guards I14.
func TestHitStaysInBudget(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.becomesHit(t, "a", "https://a.test/")
	ctx, key, now := context.WithoutCancel(t.Context()), []byte(linkcache.Key("s.test", "a")), time.Now()
	w.setBeating(false) // it allocates
	got := testing.AllocsPerRun(1000, func() {
		if _, source, err := w.lookup.Find(ctx, key, now); err != nil || source != lookup.L1 {
			t.Errorf("not a hit: %s, %v", source, err)
		}
	})
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	if got > 0 {
		t.Errorf("a hit allocates %v times, the budget is 0", got)
	}
}

func TestMemoryIsAccountedAndBounded(t *testing.T) {
	const most = 1 << 20
	w := newWorld(t, func(s *lookup.Settings) { s.MaxBytes = most })
	for i := range 5000 {
		w.put(t, fmt.Sprint("x", i), uint64(i+1), "https://e.test/a/destination/of/ordinary/length?utm_source=newsletter")
		w.source(t, fmt.Sprint("x", i))
	}
	got := facttest.Metric(t, w.registry, "cache_l1_memory_bytes", "")
	if got > most || got < most/2 {
		t.Errorf("cache_l1_memory_bytes = %v, want near and not above %v", got, most)
	}
}
