package lookup_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

type result struct {
	entry  *lookup.Entry
	source lookup.Source
	err    error
}

// findLater looks up in the background, for tests that hold the answer back.
func (w *world) findLater(t *testing.T, slug string) <-chan result {
	t.Helper()
	out := make(chan result, 1)
	go func() {
		e, source, err := w.find(t, slug)
		out <- result{e, source, err}
	}()
	return out
}

func (r result) leads(t *testing.T, destination string) {
	t.Helper()
	if r.err != nil || r.entry.Destination != destination {
		t.Errorf("the look-up gave %+v, %v; want %q", r.entry, r.err, destination)
	}
}

// Guards promise 1: a fill that read L2 before the change.
//
// Guards I8.
func TestFillThatRacedAnInvalidationIsNeitherStoredNorServed(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	g := newGate()
	hold := g.only(linkcache.Key("s.test", "a"))
	w.store.gate.Store(&hold)
	late := w.findLater(t, "a")
	<-g.arrived // the old record is in its hands
	w.put(t, "a", 2, "https://new.test/")
	w.announce(t, "a", 2)
	close(g.open)
	(<-late).leads(t, "https://new.test/")
	w.becomesHit(t, "a", "https://new.test/")
}

// Guards promise 1: the origin was read before the commit, and the invalidation
// was heard.
func TestOriginAnswerFromBeforeTheCommitIsNotServed(t *testing.T) {
	w := newWorld(t)
	w.origin.Put(change("a", 1, "https://old.test/"))
	g := newGate()
	w.origin.SetGate(g.only("a"))
	late := w.findLater(t, "a")
	<-g.arrived
	w.origin.Put(change("a", 2, "https://new.test/"))
	w.put(t, "a", 2, "https://new.test/")
	w.announce(t, "a", 2)
	close(g.open)
	(<-late).leads(t, "https://new.test/")
	w.becomesHit(t, "a", "https://new.test/")
}

// The same, and the invalidation was lost: Redis refuses the old answer.
func TestOriginAnswerThatRedisKnowsToBeOldIsNotServed(t *testing.T) {
	w := newWorld(t)
	w.origin.Put(change("a", 1, "https://old.test/"))
	g := newGate()
	w.origin.SetGate(g.only("a"))
	late := w.findLater(t, "a")
	<-g.arrived
	w.put(t, "a", 2, "https://new.test/")
	close(g.open)
	(<-late).leads(t, "https://new.test/")
}

// Guards promise 1: "no such link" is an answer too, and can be too old.
func TestUnknownThatRacedACreateIsNotServed(t *testing.T) {
	w := newWorld(t)
	g := newGate()
	w.origin.SetGate(g.only("a"))
	late := w.findLater(t, "a")
	<-g.arrived
	w.origin.Put(change("a", 7, "https://new.test/"))
	w.put(t, "a", 7, "https://new.test/")
	w.announce(t, "a", 7)
	close(g.open)
	(<-late).leads(t, "https://new.test/")
}

func TestCreateReplacesAnUnknownAtOnce(t *testing.T) {
	w := newWorld(t)
	w.leads(t, "a", "", lookup.Origin)
	w.becomesHit(t, "a", "")
	w.put(t, "a", 1, "https://new.test/")
	w.announce(t, "a", 1)
	w.leads(t, "a", "https://new.test/", lookup.L2)
}

func TestDeleteThenCreateOnOneAddress(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://first.test/")
	w.becomesHit(t, "a", "https://first.test/")
	w.put(t, "a", 2, "")
	w.announce(t, "a", 2)
	w.leads(t, "a", "", lookup.L2)
	w.becomesHit(t, "a", "")
	w.put(t, "a", 3, "https://second.test/") // row version 1 again
	w.announce(t, "a", 3)
	w.leads(t, "a", "https://second.test/", lookup.L2)
}

// Guards promise 1: a replica that lags, or a new primary that lost the write.
func TestL2BelowTheFloorIsNotServed(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 4, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.origin.Put(change("a", 5, "https://new.test/"))
	w.announce(t, "a", 5)
	w.leads(t, "a", "https://new.test/", lookup.Origin)
}

// Guards promise 1: the nearest replica has not heard of the change yet, the
// primary has.
//
// Guards I8.
func TestLaggingReplicaIsNotBelieved(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 4, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	old, _, err := w.store.Get(t.Context(), linkcache.Key("s.test", "a"))
	if err != nil {
		t.Fatal(err)
	}
	w.store.lag.Store(&old)
	w.put(t, "a", 5, "https://new.test/")
	w.announce(t, "a", 5)
	w.leads(t, "a", "https://new.test/", lookup.L2)
}

// Nobody has the new one: better no answer than one known to be old.
func TestBelowTheFloorIsNotServedStaleEither(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 4, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.origin.SetDown(true)
	w.announce(t, "a", 5)
	if e, source, err := w.find(t, "a"); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("the look-up gave %+v by %s, %v; want ErrUnavailable", e, source, err)
	}
	w.origin.SetDown(false)
	w.origin.Put(change("a", 4, "https://old.test/")) // it reads a replica
	if e, source, err := w.find(t, "a"); !errors.Is(err, lookup.ErrUnavailable) {
		t.Errorf("the look-up gave %+v by %s, %v; want ErrUnavailable", e, source, err)
	}
}

// The marker of a deleted link is gone from Redis: the floor remembers.
func TestDeletedLinkWhoseMarkerExpired(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	if err := w.client.Del(t.Context(), linkcache.Key("s.test", "a")).Err(); err != nil {
		t.Fatal(err)
	}
	w.announce(t, "a", 2)
	w.leads(t, "a", "", lookup.Origin)
	w.becomesHit(t, "a", "")
	w.put(t, "a", 1, "https://old.test/") // the slowest fill of all, by another edge
	w.leads(t, "a", "", lookup.L1)
}

// Guards promise 2: the answer was read before the flush, from a Redis that the
// edge missed messages of.
//
// Guards I9.
func TestFillThatBeganBeforeAFlushIsDiscarded(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	g := newGate()
	hold := g.only(linkcache.Key("s.test", "a"))
	w.store.gate.Store(&hold)
	late := w.findLater(t, "a")
	<-g.arrived
	w.put(t, "a", 2, "https://new.test/") // its message is the lost one
	before := w.invalidations(t, "gap")
	w.publish(t, "other", 3, 1)
	facttest.Eventually(t, "the gap is noticed", func() bool { return w.invalidations(t, "gap") > before })
	close(g.open)
	(<-late).leads(t, "https://new.test/")
	w.becomesHit(t, "a", "https://new.test/")
}

// Guards promise 3.
//
// Guards I9.
func TestLostMessageIsNoticedByTheNext(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.put(t, "a", 2, "https://new.test/")
	before := w.invalidations(t, "gap")
	w.publish(t, "other", 3, 1)
	facttest.Eventually(t, "the gap is noticed", func() bool { return w.invalidations(t, "gap") > before })
	w.leads(t, "a", "https://new.test/", lookup.L2)
}

// One message may stand for many invalidations: each key has its floor, and what was lost
// before them, or between them, is noticed.
//
// Guards I8, I9, I59.
func TestAMessageOfManyInvalidationsIsTakenLikeEachOfThem(t *testing.T) {
	w := newWorld(t)
	for _, slug := range []string{"a", "b", "lost"} {
		w.put(t, slug, 1, "https://old.test/")
		w.becomesHit(t, slug, "https://old.test/")
	}
	gaps := w.invalidations(t, "gap")
	w.put(t, "a", 2, "https://new.test/a")
	w.put(t, "b", 3, "https://new.test/b")
	heard := w.invalidations(t, "pubsub")
	w.publishMany(t, 0, "a", 2, "b", 3)
	facttest.Eventually(t, "both are heard", func() bool { return w.invalidations(t, "pubsub") == heard+2 })
	w.leads(t, "a", "https://new.test/a", lookup.L2)
	w.leads(t, "b", "https://new.test/b", lookup.L2)
	w.leads(t, "lost", "https://old.test/", lookup.L1)
	if got := w.invalidations(t, "gap"); got != gaps {
		t.Errorf("%v gaps were seen where there are none", got-gaps)
	}

	w.put(t, "lost", 4, "https://new.test/lost")
	w.publishMany(t, 1, "a", 5, "b", 6)
	facttest.Eventually(t, "the gap is noticed", func() bool { return w.invalidations(t, "gap") > gaps })
	w.leads(t, "lost", "https://new.test/lost", lookup.L2)
}

// Guards I9.
func TestLostMessageIsNoticedByAHeartbeat(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	before := w.invalidations(t, "gap")
	w.put(t, "a", 2, "https://new.test/")
	w.mu.Lock()
	w.offset++ // published, and heard by nobody
	w.mu.Unlock()
	facttest.Eventually(t, "the gap is noticed", func() bool { return w.invalidations(t, "gap") > before })
	w.leads(t, "a", "https://new.test/", lookup.L2)
}

// An edge may answer before it listens, from the origin while Redis is away: what it
// stored then may have changed before it began to hear of changes.
//
// Guards I9.
func TestWhatWasStoredBeforeTheFirstSubscriptionIsAskedAgain(t *testing.T) {
	w := newDeafWorld(t)
	w.origin.Put(change("a", 1, "https://old.test/"))
	w.leads(t, "a", "https://old.test/", lookup.Origin)
	w.becomesHit(t, "a", "https://old.test/")
	w.put(t, "a", 2, "https://new.test/") // announced while nobody listened
	w.subscribe(t)
	w.leads(t, "a", "https://new.test/", lookup.L2)
}

func TestUnreadableMessageIsAGap(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.put(t, "a", 2, "https://new.test/")
	before := w.invalidations(t, "gap")
	if err := w.client.Publish(t.Context(), linkcache.Channel, "junk").Err(); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "it is taken for a gap", func() bool { return w.invalidations(t, "gap") > before })
	w.leads(t, "a", "https://new.test/", lookup.L2)
}

// The cacheupdater is dead: no heartbeat, and L2 does not get the change either.
//
// Guards I9.
func TestWithoutHeartbeatsTheOriginIsAskedWithinTwoSeconds(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.setBeating(false)
	w.origin.Put(change("a", 2, "https://new.test/"))
	acknowledged := time.Now()
	facttest.Eventually(t, "the new target is served", func() bool {
		e, _, err := w.find(t, "a")
		return err == nil && e.Destination == "https://new.test/"
	})
	if took := time.Since(acknowledged); took > 2*time.Second {
		t.Errorf("the old target was served for %v", took)
	}
	// It goes on: what the origin confirmed is trusted for a second.
	w.becomesHit(t, "a", "https://new.test/")
	w.origin.Put(change("a", 3, "https://newer.test/"))
	acknowledged = time.Now()
	facttest.Eventually(t, "the newer target is served", func() bool {
		e, _, err := w.find(t, "a")
		return err == nil && e.Destination == "https://newer.test/"
	})
	if took := time.Since(acknowledged); took > 2*time.Second {
		t.Errorf("the old target was served for %v", took)
	}
	w.setBeating(true)
	facttest.Eventually(t, "entries live longer again", func() bool {
		reads := w.store.reads.Load()
		return w.source(t, "never-"+time.Now().String()) == lookup.Origin && w.store.reads.Load() > reads
	})
}

// While Redis is being filled, it may hold what a later change replaced.
//
// Guards I7.
func TestWhileRedisIsFilledTheOriginIsAsked(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.origin.Put(change("a", 2, "https://new.test/"))
	w.setFilling(true)
	facttest.Eventually(t, "the origin's answer is served", func() bool {
		e, _, err := w.find(t, "a")
		return err == nil && e.Destination == "https://new.test/"
	})
	w.becomesHit(t, "a", "https://new.test/") // and L1 is trusted meanwhile
}

func TestRestartedRedisIsNoticed(t *testing.T) {
	w := newWorld(t)
	w.put(t, "a", 1, "https://old.test/")
	w.becomesHit(t, "a", "https://old.test/")
	w.origin.Put(change("a", 1, "https://old.test/"))
	before := w.invalidations(t, "reconnect")
	w.redis.Kill()
	facttest.Eventually(t, "the edge knows", func() bool { return !w.feed.Subscribed() })
	w.origin.Put(change("a", 2, "https://new.test/")) // nobody can announce it
	acknowledged := time.Now()
	facttest.Eventually(t, "the new target is served", func() bool {
		e, _, err := w.find(t, "a")
		return err == nil && e.Destination == "https://new.test/"
	})
	if took := time.Since(acknowledged); took > 2*time.Second {
		t.Errorf("the old target was served for %v", took)
	}
	w.redis.Restart(t)
	facttest.Eventually(t, "the edge listens again", func() bool { return w.feed.Subscribed() && w.invalidations(t, "reconnect") > before })
	w.becomesHit(t, "a", "https://new.test/")
}

// Guards promise 1 against every interleaving that chance finds: what was heard
// of before a look-up began is never undercut by it.
//
// Guards I8.
func TestNeverBelowWhatWasHeard(t *testing.T) {
	w := newWorld(t)
	const keys, changes, readers = 4, 400, 6
	slugs := [keys]string{"a", "b", "c", "d"}
	var heard [keys]atomic.Uint64
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
				k := rand.IntN(keys)
				floor := heard[k].Load()
				e, source, err := w.find(t, slugs[k])
				if err == nil && e.Revision < floor {
					t.Errorf("%s was heard to be at %d, and %s gave %d", slugs[k], floor, source, e.Revision)
				}
			}
		})
	}
	base := w.invalidations(t, "pubsub")
	for i := range changes {
		k, revision := rand.IntN(keys), uint64(i+2)
		destination := "https://e.test/"
		if rand.IntN(4) == 0 {
			destination = "" // deleted
		}
		w.put(t, slugs[k], revision, destination)
		lost := int64(0)
		if rand.IntN(10) == 0 {
			lost = 1
		}
		w.publish(t, slugs[k], revision, lost)
		facttest.Eventually(t, "heard", func() bool { return w.invalidations(t, "pubsub") >= base+float64(i+1) })
		heard[k].Store(revision)
	}
	close(stop)
	running.Wait()
}
