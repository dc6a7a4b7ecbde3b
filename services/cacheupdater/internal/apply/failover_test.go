package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redisconn"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

func newPairWorld(t *testing.T, settings ...string) (*world, *redistest.Pair) {
	t.Helper()
	pair := redistest.StartPair(t, settings...)
	return newWorldOn(t, func() redis.UniversalClient {
		client, err := redisconn.OpenPatient(pair.URL, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		return client
	}), pair
}

func (r *running) metric(t *testing.T, name string) float64 {
	t.Helper()
	return facttest.Metric(t, r.registry, name, "")
}

func (r *running) isReady(t *testing.T) bool {
	t.Helper()
	return r.ChangelogReady(t.Context()) == nil && r.RedisReady(t.Context()) == nil
}

// The offsets of the lost writes are committed: only Redis itself knows that it lacks
// them.
//
// Guards I25.
func TestFailoverThatLostTheLastWritesIsWrittenAgainFromThere(t *testing.T) {
	w, pair := newPairWorld(t)
	fillWorld(t, w)
	r := w.startReady(t)
	w.holds(t, "x3", 8, "https://3.test/")
	before := newLink("before")
	w.produce(t, before.created(t, 1_000_000, "https://before.test/"))
	w.holds(t, "before", 1_000_000, "https://before.test/")

	pair.Detach(t)
	w.produce(t, before.updated(t, 1_000_001, "https://lost.test/"), newLink("lost").created(t, 1_000_002, "https://lost.test/"))
	w.holds(t, "before", 1_000_001, "https://lost.test/")
	w.holds(t, "lost", 1_000_002, "https://lost.test/")
	facttest.Eventually(t, "all is committed", func() bool { return w.committed(t) == 2*refillLinks+3 })
	applied, refills := r.metric(t, "changelog_applied_total"), r.metric(t, "changelog_refills_total")
	pair.FailOver(t)
	w.holds(t, "before", 1_000_001, "https://lost.test/")
	w.holds(t, "lost", 1_000_002, "https://lost.test/")
	facttest.Eventually(t, "ready again", func() bool { return r.isReady(t) && r.metric(t, "changelog_refills_total") > refills })
	if got := r.metric(t, "changelog_applied_total") - applied; got > 10 {
		t.Errorf("%v records were written again, two were lost", got)
	}
}

// Nobody was there to see the failover.
//
// Guards I25.
func TestFailoverWhileStoppedIsWrittenAgain(t *testing.T) {
	w, pair := newPairWorld(t)
	r := w.startReady(t)
	a := newLink("a")
	w.produce(t, a.created(t, 1, "https://old.test/"))
	w.holds(t, "a", 1, "https://old.test/")
	pair.Detach(t)
	w.produce(t, a.updated(t, 2, "https://new.test/"))
	w.holds(t, "a", 2, "https://new.test/")
	facttest.Eventually(t, "both are committed", func() bool { return w.committed(t) == 2 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	pair.FailOver(t)
	w.startReady(t)
	w.holds(t, "a", 2, "https://new.test/")
}

// What the edges hear of, a replica has: the note behind the writes is waited for.
//
// Guards I26.
func TestAReplicaHasWhatIsAnnounced(t *testing.T) {
	w, pair := newPairWorld(t)
	r := w.startReady(t)
	heard := w.listen(t)
	replica := linkcache.NewStore(pair.Replica.Client(t))
	for i := range uint64(50) {
		slug := "x" + string(rune('a'+i%26))
		w.produce(t, newLink(slug).created(t, i+1, "https://e.test/"))
		invalidation(t, heard, slug, i+1)
		got, ok, err := replica.Get(t.Context(), linkcache.Key("s.test", slug))
		if err != nil || !ok || got.Revision != i+1 {
			t.Errorf("after its invalidation the replica holds %+v, %t, %v; want revision %d", got, ok, err, i+1)
		}
	}
	if got := r.metric(t, "changelog_unreplicated_total"); got != 0 {
		t.Errorf("%v batches were not confirmed", got)
	}

	// A replica that hangs costs a moment, is counted, and is soon not waited for.
	pair.Replica.Pause()
	t.Cleanup(pair.Replica.Resume)
	w.produce(t, newLink("hung").created(t, 100, "https://e.test/"))
	invalidation(t, heard, "hung", 100)
	if got := r.metric(t, "changelog_unreplicated_total"); got != 1 {
		t.Errorf("%v batches were not confirmed, want 1", got)
	}
}

// A primary that is cut off from its replica refuses writes, which would be lost when
// the replica takes over. Nothing is passed over, announced or committed meanwhile.
//
// Guards I27.
func TestAPrimaryWithoutItsReplicaTakesNoWrites(t *testing.T) {
	w, pair := newPairWorld(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10")
	r := w.startReady(t)
	a := newLink("a")
	w.produce(t, a.created(t, 1, "https://old.test/"))
	w.holds(t, "a", 1, "https://old.test/")
	facttest.Eventually(t, "it is committed", func() bool { return w.committed(t) == 1 })

	pair.Detach(t)
	w.produce(t, a.updated(t, 2, "https://new.test/"))
	facttest.Eventually(t, "the updater says what is wrong", func() bool {
		err := r.RedisReady(t.Context())
		return err != nil && strings.Contains(err.Error(), "NOREPLICAS")
	})
	w.holds(t, "a", 1, "https://old.test/")
	if got := w.committed(t); got != 1 {
		t.Errorf("%d records are committed, want 1", got)
	}
	pair.Attach(t)
	w.holds(t, "a", 2, "https://new.test/")
	facttest.Eventually(t, "ready again", func() bool { return r.isReady(t) })
}

// While nobody read it, the changelog went on: what Redis holds may be old until the
// new reader has reached the end, and the edges are told so.
//
// Guards I7.
func TestUntilTheEndIsReachedTheEdgesAreTold(t *testing.T) {
	w := newWorld(t)
	r := w.startReady(t)
	a := newLink("a")
	w.produce(t, a.created(t, 1, "https://old.test/"))
	w.holds(t, "a", 1, "https://old.test/")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	fillWorld(t, w)
	w.produce(t, a.updated(t, 5_000_000, "https://new.test/"))
	heard := w.listen(t)
	w.startReady(t)
	// No heartbeat that says all is well comes before the newest invalidation.
	deadline := time.After(patience)
	for {
		select {
		case m := <-heard:
			if m.Revision == 5_000_000 {
				return
			}
			if m.Heartbeat != nil && !m.Filling {
				t.Fatalf("%+v came before the change was announced", m)
			}
		case <-deadline:
			t.Fatal("the change is not announced")
		}
	}
}
