package lookup_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// visitFor looks a link up again and again, as its visitors do, and returns how long
// each look-up took, in order of length.
func (w *world) visitFor(t *testing.T, slug string, length time.Duration, check func(e *lookup.Entry, source lookup.Source)) []time.Duration {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var took []time.Duration
	for begun := time.Now(); time.Since(begun) < length; <-tick.C {
		asked := time.Now()
		e, source, err := w.find(t, slug)
		took = append(took, time.Since(asked))
		if err != nil {
			t.Fatalf("a visitor of a warm link gets %v", err)
		}
		check(e, source)
	}
	slices.Sort(took)
	return took
}

// A store that hangs is worse than a dead one: nothing fails at once.
//
// Guards I11.
func TestNobodyWaitsForThoseWhoHang(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.origin.Put(change("a", 1, "https://a.test/"))
	w.becomesHit(t, "a", "https://a.test/")
	hung := make(chan struct{})
	w.origin.SetGate(func(string) { <-hung })
	w.setBeating(false) // the publisher would wait as well
	w.redis.Pause()
	t.Cleanup(func() { w.redis.Resume(); close(hung) })

	last := lookup.L1
	took := w.visitFor(t, "a", 5*time.Second, func(e *lookup.Entry, source lookup.Source) {
		if e.Destination != "https://a.test/" {
			t.Errorf("it leads to %q", e.Destination)
		}
		last = source
	})
	if last != lookup.Stale {
		t.Errorf("after five seconds the answer comes from %s", last)
	}
	// Each visitor who asked would have waited for 100 ms, the whole patience.
	if p99 := took[len(took)*99/100]; p99 > 30*time.Millisecond {
		t.Errorf("p99 of %d look-ups is %v, the longest took %v", len(took), p99, took[len(took)-1])
	}
}

// While links answers, a link that is visited is confirmed before the trust in it ends.
//
// Guards I19.
func TestWithoutHeartbeatsAVisitedLinkIsStillAHit(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.origin.Put(change("a", 1, "https://a.test/"))
	w.becomesHit(t, "a", "https://a.test/")
	w.setBeating(false)
	gap := w.invalidations(t, "gap")
	misses := 0
	w.visitFor(t, "a", 4*time.Second, func(_ *lookup.Entry, source lookup.Source) {
		if source != lookup.L1 {
			misses++
		}
	})
	if w.invalidations(t, "gap") == gap {
		t.Fatal("the edge has not noticed that heartbeats are missing")
	}
	if misses > 0 {
		t.Errorf("%d visitors have waited, want none", misses)
	}
}

// The same when the connection is lost at once: an origin that takes a moment is asked
// behind the visitors' backs.
//
// Guards I11, I19.
func TestWhenRedisDiesNobodyWaitsForTheOrigin(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.origin.Put(change("a", 1, "https://a.test/"))
	w.becomesHit(t, "a", "https://a.test/")
	w.origin.SetGate(func(string) { <-time.After(100 * time.Millisecond) })
	w.redis.Kill()
	disconnected, sources := false, map[lookup.Source]int{}
	w.visitFor(t, "a", 3*time.Second, func(_ *lookup.Entry, source lookup.Source) {
		disconnected = disconnected || !w.feed.Subscribed()
		sources[source]++
	})
	if !disconnected {
		t.Fatal("the edge has not noticed that Redis is away")
	}
	if len(sources) > 1 {
		t.Errorf("answers come from %v, want L1 alone", sources)
	}
}

// The last target that was acknowledged before an outage is asked for as soon as
// somebody answers again, by the first visitor who comes.
//
// Guards I8.
func TestTheEndOfAnOutageIsNoticedWithoutVisitors(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.origin.SetDown(true)
	w.redis.Kill()
	facttest.Eventually(t, "what nobody confirms is served", func() bool { return w.source(t, "a") == lookup.Stale })
	w.origin.Put(change("a", 2, "https://new.test/"))
	w.origin.SetDown(false)
	facttest.Eventually(t, "the edge knows that the origin is back", func() bool { return facttest.Metric(t, w.registry, "cache_unanswered", "origin") == 0 })
	if e, source, err := w.find(t, "a"); err != nil || e.Destination != "https://new.test/" {
		t.Errorf("it leads to %q by %v, %v", e.Destination, source, err)
	}
}

// The first edit after an outage is heard of while the breakers are still open: what L1
// holds must not be served, and whoever comes is not turned away.
//
// Guards I11.
func TestNobodyIsTurnedAwayFromALinkThatIsEditedRightAfterAnOutage(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.origin.SetDown(true)
	w.redis.Pause()
	for i := range 8 { // of whom nobody knows anything: each asks everybody
		if _, _, err := w.find(t, fmt.Sprint("unknown-", i)); !errors.Is(err, lookup.ErrUnavailable) {
			t.Errorf("%v, want ErrUnavailable", err)
		}
	}
	w.redis.Resume()
	w.put(t, "a", 2, "https://new.test/")
	w.announce(t, "a", 2)
	var visitors sync.WaitGroup
	for range 20 { // a breaker that tries again lets one through
		visitors.Go(func() {
			if e, source, err := w.find(t, "a"); err != nil || e.Destination != "https://new.test/" {
				t.Errorf("it leads to %q by %v, %v", e.Destination, source, err)
			}
		})
	}
	visitors.Wait()
}

// What is changed during a fill is announced at its end, which may be minutes away.
//
// Guards I9.
func TestWhileRedisIsFilledAChangeIsServedWithinTwoSeconds(t *testing.T) {
	w := newWorld(t)
	w.origin.Put(change("a", 1, "https://old.test/"))
	before := w.invalidations(t, "gap")
	w.setFilling(true)
	facttest.Eventually(t, "the edge knows that Redis is being filled", func() bool { return w.invalidations(t, "gap") > before })
	w.becomesHit(t, "a", "https://old.test/")
	w.origin.Put(change("a", 2, "https://new.test/"))
	acknowledged := time.Now()
	facttest.Eventually(t, "the new target is served", func() bool {
		e, _, err := w.find(t, "a")
		return err == nil && e.Destination == "https://new.test/"
	})
	if took := time.Since(acknowledged); took > 2*time.Second {
		t.Errorf("the old target was served for %v", took)
	}
	w.setFilling(false)
	facttest.Eventually(t, "Redis is believed again", func() bool {
		reads := w.store.reads.Load()
		return w.source(t, "never-"+time.Now().String()) == lookup.Origin && w.store.reads.Load() > reads
	})
}

// A primary that takes no writes goes on answering: it is not taken for away.
func TestARedisThatRefusesWritesIsRead(t *testing.T) {
	w := newWorld(t)
	if err := w.client.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err(); err != nil {
		t.Fatal(err)
	}
	for _, slug := range []string{"a", "b", "c", "d", "e"} {
		w.origin.Put(change(slug, 1, "https://"+slug+".test/"))
		reads := w.store.reads.Load()
		w.leads(t, slug, "https://"+slug+".test/", lookup.Origin)
		if w.store.reads.Load() == reads {
			t.Errorf("Redis was not asked for %s", slug)
		}
	}
}

// The origin hangs, and heartbeats are missing, but Redis answers: it may know more
// than this process does.
//
// Guards I11.
func TestWhileTheOriginHangsRedisIsAskedForSomethingNewer(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.origin.Put(change("a", 1, "https://old.test/"))
	w.becomesHit(t, "a", "https://old.test/")
	hung := make(chan struct{})
	w.origin.SetGate(func(string) { <-hung })
	t.Cleanup(func() { close(hung) })
	w.setBeating(false)
	facttest.Eventually(t, "what nobody confirms is served", func() bool { return w.source(t, "a") == lookup.Stale })
	w.put(t, "a", 2, "https://new.test/")
	took := w.visitFor(t, "a", 2*time.Second, func(e *lookup.Entry, _ lookup.Source) {
		if e.Destination != "https://new.test/" {
			t.Errorf("it leads to %q", e.Destination)
		}
	})
	if p99 := took[len(took)*99/100]; p99 > 30*time.Millisecond {
		t.Errorf("p99 of %d look-ups is %v, the longest took %v", len(took), p99, took[len(took)-1])
	}
}

// A fill that began while only the origin could be trusted hangs there for a second.
// When Redis can be trusted again before that, the visitors of the link are answered at
// once, and it is asked.
//
// Guards I11.
func TestNobodyWaitsForAFillThatHangsWhenRedisIsTrustedAgain(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://a.test/")
	w.origin.Put(change("a", 1, "https://a.test/"))
	w.becomesHit(t, "a", "https://a.test/")
	hung := make(chan struct{})
	w.origin.SetGate(func(string) { <-hung })
	t.Cleanup(func() { close(hung) })
	gap := w.invalidations(t, "gap")
	w.setFilling(true)
	facttest.Eventually(t, "the edge knows that Redis is being filled", func() bool { return w.invalidations(t, "gap") > gap })
	if source := w.source(t, "a"); source != lookup.Stale {
		t.Fatalf("the first visitor is answered from %s", source)
	}
	w.setFilling(false)
	hits := 0
	took := w.visitFor(t, "a", 700*time.Millisecond, func(_ *lookup.Entry, source lookup.Source) {
		if source == lookup.L1 {
			hits++
		}
	})
	// Each would have waited for 100 ms, the whole patience: there is time for six.
	waited := 0
	for _, d := range took {
		if d > 80*time.Millisecond {
			waited++
		}
	}
	if waited > 3 || hits == 0 {
		t.Errorf("%d of %d visitors have waited, %d were answered from memory", waited, len(took), hits)
	}
}
