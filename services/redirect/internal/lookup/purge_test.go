package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// corrupt puts a copy into Redis whatever is there: a revision that is known, with
// another target than the link's.
func (w *world) corrupt(t *testing.T, slug string, revision uint64, destination string) {
	t.Helper()
	r := record(revision, destination)
	value, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Set(t.Context(), linkcache.Key("s.test", slug), value, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
}

func (w *world) purge(t *testing.T, slug string, revision uint64, destination string) (redisDone bool) {
	t.Helper()
	done, err := w.lookup.Purge(t.Context(), []linkcache.Entry{{Key: linkcache.Key("s.test", slug), Record: record(revision, destination)}})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// Guards I22.
func TestAPurgeEndsACopyOfTheSameRevision(t *testing.T) {
	w := newWorld(t)
	w.corrupt(t, "a", 3, "https://wrong.test/")
	w.becomesHit(t, "a", "https://wrong.test/")
	if !w.purge(t, "a", 3, "https://right.test/") {
		t.Error("Redis was not reached")
	}
	w.leads(t, "a", "https://right.test/", lookup.L2)
	w.becomesHit(t, "a", "https://right.test/")
	if got := w.invalidations(t, "purge"); got != 1 {
		t.Errorf("cache_invalidation_total{source=\"purge\"} is %v, want 1", got)
	}
}

// The take-down of a link that was deleted, and lives on in a cache.
func TestAPurgeOfADeletedLinkLeavesItsMarker(t *testing.T) {
	w := newWorld(t)
	w.corrupt(t, "a", 3, "https://wrong.test/")
	w.becomesHit(t, "a", "https://wrong.test/")
	w.purge(t, "a", 3, "")
	w.leads(t, "a", "", lookup.L2)
}

// The link was changed after the purge was asked for.
func TestAPurgeKeepsANewerRecord(t *testing.T) {
	w := newWorld(t)
	w.origin.Put(change("a", 4, "https://newer.test/"))
	w.put(t, "a", 4, "https://newer.test/")
	w.becomesHit(t, "a", "https://newer.test/")
	w.purge(t, "a", 3, "https://right.test/")
	w.leads(t, "a", "https://newer.test/", lookup.L2)
	w.corrupt(t, "a", 4, "https://wrong.test/")
	w.purge(t, "a", 3, "https://right.test/")
	w.leads(t, "a", "https://newer.test/", lookup.L2)
}

// A revision that nobody gave would win against every change to come.
func TestAPurgeEndsACopyWithARevisionThatWasNeverGiven(t *testing.T) {
	w := newWorld(t)
	w.corrupt(t, "a", 900, "https://wrong.test/")
	w.becomesHit(t, "a", "https://wrong.test/")
	w.origin.Put(change("a", 3, "https://right.test/"))
	if !w.purge(t, "a", 3, "https://right.test/") {
		t.Error("Redis was not reached")
	}
	w.leads(t, "a", "https://right.test/", lookup.L2)
	w.becomesHit(t, "a", "https://right.test/")
	w.corrupt(t, "b", 900, "https://wrong.test/")
	w.becomesHit(t, "b", "https://wrong.test/")
	w.purge(t, "b", 3, "") // deleted
	w.leads(t, "b", "", lookup.L2)
}

// The fill has the wrong copy in its hands when the purge begins, and brings it after
// the purge has ended. Whoever comes in between does not wait for it.
//
// Guards I22.
func TestASlowFillNeitherStoresNorServesWhatWasPurged(t *testing.T) {
	w := newWorld(t)
	w.corrupt(t, "a", 3, "https://wrong.test/")
	g := newGate()
	hold := g.only(linkcache.Key("s.test", "a"))
	w.store.gate.Store(&hold)
	late := w.findLater(t, "a")
	<-g.arrived
	w.purge(t, "a", 3, "https://right.test/")
	w.leads(t, "a", "https://right.test/", lookup.L2)
	close(g.open)
	(<-late).leads(t, "https://right.test/")
	w.becomesHit(t, "a", "https://right.test/")
}

// The same with a monitor's question, which stores nothing.
func TestASlowProbeDoesNotServeWhatWasPurged(t *testing.T) {
	w := newWorld(t)
	w.corrupt(t, "a", 3, "https://wrong.test/")
	g := newGate()
	hold := g.only(linkcache.Key("s.test", "a"))
	w.store.gate.Store(&hold)
	late := make(chan result, 1)
	go func() {
		e, source, err := w.lookup.Probe(context.WithoutCancel(t.Context()), []byte(linkcache.Key("s.test", "a")), time.Now())
		late <- result{&e, source, err}
	}()
	<-g.arrived
	w.purge(t, "a", 3, "https://right.test/")
	close(g.open)
	(<-late).leads(t, "https://right.test/")
}

// A replica lags behind the purge, with a copy of the same revision.
func TestAfterAPurgeThePrimaryIsAsked(t *testing.T) {
	w := newWorld(t)
	w.corrupt(t, "a", 3, "https://wrong.test/")
	w.becomesHit(t, "a", "https://wrong.test/")
	wrong := record(3, "https://wrong.test/")
	w.store.lag.Store(&wrong)
	w.purge(t, "a", 3, "https://right.test/")
	w.leads(t, "a", "https://right.test/", lookup.L2)
}

// Redis takes no writes: the purge says so, and what Redis still holds of the key is
// not believed, however healthy Redis looks to readers.
//
// Guards I23.
func TestWhatAPurgeCouldNotReplaceIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.corrupt(t, "a", 3, "https://wrong.test/")
	w.becomesHit(t, "a", "https://wrong.test/")
	w.origin.Put(change("a", 3, "https://right.test/"))
	if err := w.client.Do(t.Context(), "CLIENT", "PAUSE", 60_000, "WRITE").Err(); err != nil {
		t.Fatal(err)
	}
	if w.purge(t, "a", 3, "https://right.test/") {
		t.Error("the purge says that Redis was reached")
	}
	w.leads(t, "a", "https://right.test/", lookup.Origin)
	w.origin.SetDown(true)
	w.purge(t, "a", 3, "https://right.test/")
	if e, source, err := w.find(t, "a"); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("the look-up gave %+v by %s, %v; want ErrUnavailable", e, source, err)
	}
	if err := w.client.Do(t.Context(), "CLIENT", "UNPAUSE").Err(); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "the purge reaches Redis", func() bool { return w.purge(t, "a", 3, "https://right.test/") })
	facttest.Eventually(t, "Redis is believed again", func() bool {
		e, source, err := w.find(t, "a")
		return err == nil && source == lookup.L2 && e.Destination == "https://right.test/"
	})
}

// With Redis and the origin away an edge serves what it has. Not what was purged.
func TestWhatWasPurgedIsNotServedStale(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 3, "https://wrong.test/")
	w.becomesHit(t, "a", "https://wrong.test/")
	w.origin.SetDown(true)
	w.redis.Kill()
	if w.purge(t, "a", 3, "https://right.test/") {
		t.Error("the purge says that Redis was reached")
	}
	if e, source, err := w.find(t, "a"); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("the look-up gave %+v by %s, %v; want ErrUnavailable", e, source, err)
	}
}

// Every interleaving that chance finds: what a look-up gives that began after a purge
// had returned was not read before it.
//
// Guards I22.
func TestNothingReadBeforeAPurgeIsServedAfterIt(t *testing.T) {
	w := newWorld(t)
	const rounds, readers = 150, 6
	var purged atomic.Int64 // rounds whose purge has returned
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range readers {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				done := purged.Load()
				e, source, err := w.find(t, "a")
				var round int64
				if err != nil || e.Destination == "" {
					continue
				}
				if _, err := fmt.Sscanf(e.Destination, "https://e.test/%d", &round); err != nil || round < done {
					t.Errorf("purge %d had returned, and %s gave %s", done, source, e.Destination)
				}
			}
		})
	}
	for round := int64(1); round <= rounds; round++ {
		// Every round brings another target under the same revision.
		right := fmt.Sprintf("https://e.test/%d", round)
		w.origin.Put(change("a", 3, right))
		w.purge(t, "a", 3, right)
		purged.Store(round)
		if round%3 == 0 {
			w.becomesHit(t, "a", right)
		}
	}
	close(stop)
	running.Wait()
}

// A hit looks at the mark that a purge has left of its key, and allocates nothing.
func TestHitAfterAPurgeStaysInBudget(t *testing.T) {
	w := newWorld(t)
	w.purge(t, "a", 1, "https://a.test/")
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

func TestPrewarmMakesTheFirstVisitAHit(t *testing.T) {
	w := newWorld(t)
	entry := linkcache.Entry{Key: linkcache.Key("s.test", "a"), Record: record(3, "https://right.test/")}
	if memory, redis := w.lookup.Prewarm(t.Context(), entry); !memory || !redis {
		t.Fatalf("Prewarm gives %t, %t", memory, redis)
	}
	w.leads(t, "a", "https://right.test/", lookup.L1)
	if got, ok, err := w.store.Get(t.Context(), entry.Key); err != nil || !ok || got.Destination != "https://right.test/" {
		t.Errorf("Redis holds %+v, %t, %v", got, ok, err)
	}
	if memory, redis := w.lookup.Prewarm(t.Context(), entry); !memory || !redis {
		t.Errorf("a second Prewarm gives %t, %t", memory, redis)
	}
}

// What is older than what was heard of is warmed nowhere.
func TestPrewarmNeverGoesBelowTheFloor(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 5, "https://newer.test/")
	w.announce(t, "a", 5)
	w.lookup.Prewarm(t.Context(), linkcache.Entry{Key: linkcache.Key("s.test", "a"), Record: record(4, "https://old.test/")})
	w.leads(t, "a", "https://newer.test/", lookup.L1)
}

func TestPrewarmWithoutRedisSaysSo(t *testing.T) {
	w := newWorld(t)
	w.redis.Kill()
	w.origin.Put(change("a", 3, "https://right.test/"))
	entry := linkcache.Entry{Key: linkcache.Key("s.test", "a"), Record: record(3, "https://right.test/")}
	if memory, redis := w.lookup.Prewarm(t.Context(), entry); !memory || redis {
		t.Errorf("Prewarm gives %t, %t; want memory only", memory, redis)
	}
	w.leads(t, "a", "https://right.test/", lookup.L1)
}
