package lookup_test

import (
	"context"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// Guards promise 7: one visitor's hit starts the refresh, and nobody waits for it.
func TestPastHalfOfItsLifeAnEntryIsRefreshedOnceBehindItsBack(t *testing.T) {
	w := newWorld(t, func(s *lookup.Settings) { s.TTL = 5 * time.Second })
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.put(t, "a", 2, "https://new.test/") // nobody announced it
	g := newGate()
	hold := func(key string) { // whoever comes for it
		if key == linkcache.Key("s.test", "a") {
			g.arrived <- struct{}{}
			<-g.open
		}
	}
	w.store.gate.Store(&hold)
	if got := facttest.Metric(t, w.registry, "cache_refresh_total", ""); got != 0 {
		t.Fatalf("%v refreshes before their time", got)
	}
	facttest.Eventually(t, "the refresh is under way", func() bool {
		w.leads(t, "a", "https://old.test/", lookup.L1)
		return len(g.arrived) > 0
	})
	for range 100 {
		w.leads(t, "a", "https://old.test/", lookup.L1)
	}
	if got := len(g.arrived); got != 1 {
		t.Errorf("redis was asked %d times, want once", got)
	}
	close(g.open)
	facttest.Eventually(t, "the new one is served", func() bool {
		e, source, err := w.find(t, "a")
		if err != nil || source != lookup.L1 {
			t.Errorf("a visitor waited: %s, %v", source, err)
		}
		return err == nil && e.Destination == "https://new.test/"
	})
	if got := facttest.Metric(t, w.registry, "cache_refresh_total", ""); got != 1 {
		t.Errorf("cache_refresh_total = %v, want 1", got)
	}
}

// Guards promise 7.
//
// Guards I19.
func TestAKeyThatIsVisitedAllTheTimeIsNeverAMiss(t *testing.T) {
	const ttl = time.Second
	w := newWorld(t, func(s *lookup.Settings) { s.TTL = ttl })
	w.put(t, "a", 1, "https://a.test/")
	w.becomesHit(t, "a", "https://a.test/")
	began := time.Now()
	facttest.Eventually(t, "three lives are over", func() bool {
		w.leads(t, "a", "https://a.test/", lookup.L1)
		return time.Since(began) > 3*ttl
	})
	if got := facttest.Metric(t, w.registry, "cache_refresh_total", ""); got < 3 || got > 10 {
		t.Errorf("cache_refresh_total = %v in three lives of one entry", got)
	}
}

// Guards promises 1 and 7: a refresh is a fill, and what was heard of while it was
// under way counts.
func TestARefreshThatRacedAnInvalidationIsNotStored(t *testing.T) {
	w := newWorld(t, func(s *lookup.Settings) { s.TTL = 4 * time.Second })
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	g := newGate()
	hold := g.only(linkcache.Key("s.test", "a"))
	w.store.gate.Store(&hold)
	facttest.Eventually(t, "the refresh is under way", func() bool {
		_, _, err := w.find(t, "a")
		return err == nil && len(g.arrived) > 0
	})
	w.put(t, "a", 2, "https://new.test/")
	w.announce(t, "a", 2)
	late := w.findLater(t, "a")
	close(g.open)
	(<-late).leads(t, "https://new.test/")
	w.becomesHit(t, "a", "https://new.test/")
}

// Guards promises 4 and 7: a refresh that fails changes nothing for visitors.
func TestARefreshThatFailsIsNotNoticed(t *testing.T) {
	w := newWorld(t, func(s *lookup.Settings) { s.TTL = 2 * time.Second })
	w.put(t, "a", 1, "https://a.test/")
	w.becomesHit(t, "a", "https://a.test/")
	if err := w.client.Del(t.Context(), linkcache.Key("s.test", "a")).Err(); err != nil {
		t.Fatal(err)
	}
	w.origin.SetDown(true)
	facttest.Eventually(t, "a refresh has failed", func() bool {
		w.leads(t, "a", "https://a.test/", lookup.L1)
		return facttest.Metric(t, w.registry, "cache_origin_error_total", "") > 0
	})
	w.leads(t, "a", "https://a.test/", lookup.L1)
	_, source, err := w.lookup.Find(context.WithoutCancel(t.Context()), []byte(linkcache.Key("s.test", "a")), time.Now().Add(2*time.Second))
	if err != nil || source != lookup.Stale {
		t.Errorf("after its time it is served by %s, %v", source, err)
	}
}
