package apply_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

func TestChangesReachRedisThenTheEdges(t *testing.T) {
	w := newWorld(t)
	r := w.startReady(t)
	heard := w.listen(t)
	a := newLink("a")

	w.produce(t, a.created(t, 1, "https://one.test/"))
	first := invalidation(t, heard, "a", 1)
	// Redis was written first: whoever hears the invalidation finds the new record.
	if got, ok, err := w.store.Get(t.Context(), linkcache.Key("s.test", "a")); err != nil || !ok || got.Revision != 1 {
		t.Errorf("after its invalidation redis holds %+v, %t, %v", got, ok, err)
	}
	w.produce(t, a.updated(t, 2, "https://two.test/"))
	second := invalidation(t, heard, "a", 2)
	if second.Position.Partition != first.Position.Partition || second.Previous != first.Position.Offset || second.Version != 2 {
		t.Errorf("positions %+v then %+v: an edge would see a gap", first, second)
	}

	a.previous, a.slug = "a", "b"
	w.produce(t, a.updated(t, 3, "https://two.test/"))
	invalidation(t, heard, "a", 3)
	w.holds(t, "a", 3, "")
	w.holds(t, "b", 3, "https://two.test/")

	w.produce(t, a.deleted(t, 4))
	invalidation(t, heard, "b", 4)
	w.holds(t, "b", 4, "")

	w.produce(t, events.LinkTombstone("", a.id[:]), newLink("c").created(t, 5, "https://c.test/"))
	w.holds(t, "c", 5, "https://c.test/")
	w.holds(t, "b", 4, "") // the tombstone is for those who keep all links

	facttest.Eventually(t, "everything is committed", func() bool { return w.committed(t) == 6 })
	if got := facttest.Metric(t, r.registry, "changelog_applied_total", ""); got != 5 {
		t.Errorf("changelog_applied_total = %v, want 5", got)
	}
	if got := facttest.Metric(t, r.registry, "propagation_seconds", ""); got != 5 {
		t.Errorf("propagation_seconds has %v observations, want 5", got)
	}
	facttest.Eventually(t, "no lag", func() bool { return facttest.Metric(t, r.registry, "changelog_lag_records", "") == 0 })
}

func TestHeartbeatsTellTheNewestPosition(t *testing.T) {
	w := newWorld(t)
	heard := w.listen(t)
	w.startReady(t)
	w.produce(t, newLink("a").created(t, 1, "https://a.test/"))
	at := invalidation(t, heard, "a", 1).Position
	facttest.Eventually(t, "a heartbeat with the position", func() bool {
		m := <-heard
		if len(m.Heartbeat) != partitions || m.Partitions != partitions || m.Filling {
			return false
		}
		for _, p := range m.Heartbeat {
			if p != at && p.Offset != -1 {
				t.Errorf("heartbeat says %+v, only %+v was published", p, at)
			}
			if p == at {
				return true
			}
		}
		return false
	})
}

// Of two updaters neither reads all partitions. An edge that hears only one of them
// must still learn that there are others, or it would trust what nobody watches.
func TestEveryHeartbeatCountsAllPartitions(t *testing.T) {
	w := newWorld(t)
	w.startReady(t)
	w.startReady(t)
	heard := w.listen(t)
	spokenFor := map[int]bool{}
	facttest.Eventually(t, "each speaks for its own", func() bool {
		m := <-heard
		if len(m.Heartbeat) == 0 {
			return false
		}
		if m.Partitions != partitions {
			t.Errorf("a heartbeat for %d partitions says that there are %d, want %d", len(m.Heartbeat), m.Partitions, partitions)
		}
		spokenFor[len(m.Heartbeat)] = true
		return spokenFor[1] && spokenFor[2]
	})
}

// A crash between the write and the publication: Redis has the record, the edges
// have not heard.
//
// Guards I6.
func TestCrashBeforeMarkIsPublishedAgain(t *testing.T) {
	w := newWorld(t)
	w.startReady(t).stop() //nolint:errcheck // the fill is what is wanted
	a := newLink("a")
	record := a.created(t, 1, "https://a.test/")
	ev, err := events.DecodeLinkChanged(record)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := linkcache.Entries(ev)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Put(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	w.produce(t, record)
	heard := w.listen(t)
	w.start(t)
	invalidation(t, heard, "a", 1)
}

// Guards I6.
func TestDuplicatesAndOldRecordsDoNoHarm(t *testing.T) {
	w := newWorld(t)
	r := w.startReady(t)
	heard := w.listen(t)
	a := newLink("a")
	first, second := a.created(t, 1, "https://one.test/"), a.updated(t, 2, "https://two.test/")
	again := *second
	w.produce(t, first, second)
	invalidation(t, heard, "a", 2)
	old := *first
	w.produce(t, &again, &old)
	invalidation(t, heard, "a", 2)
	invalidation(t, heard, "a", 1) // positions have no hole
	w.holds(t, "a", 2, "https://two.test/")
	facttest.Eventually(t, "the old one is counted", func() bool { return facttest.Metric(t, r.registry, "changelog_stale_skipped_total", "") == 1 })
}

// Guards I16.
func TestPoisonGoesToTheDeadTopicAndTheRestGoesOn(t *testing.T) {
	w := newWorld(t)
	r := w.startReady(t)
	a := newLink("a")
	w.produce(t,
		&kgo.Record{Topic: string(events.LinksChangelog), Key: a.id[:], Value: []byte("\xffnot protobuf")},
		a.created(t, 1, "https://a.test/"))
	w.holds(t, "a", 1, "https://a.test/")
	facttest.Eventually(t, "the bad record is counted", func() bool { return facttest.Metric(t, r.registry, "changelog_dead_total", "") == 1 })
	facttest.Eventually(t, "both are committed", func() bool { return w.committed(t) == 2 })

	dead, err := kgo.NewClient(kgo.SeedBrokers(w.brokers...), kgo.ConsumeTopics(string(events.DeadLinksChangelog)),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	got := dead.PollFetches(t.Context()).Records()
	if len(got) != 1 || string(got[0].Value) != "\xffnot protobuf" {
		t.Fatalf("the dead topic holds %v", got)
	}
	headers := map[string]string{}
	for _, h := range got[0].Headers {
		headers[h.Key] = string(h.Value)
	}
	if headers["source_topic"] != string(events.LinksChangelog) || headers["source_offset"] != "0" || headers["error"] == "" {
		t.Errorf("headers are %v", headers)
	}
}

// Stopped while it cannot write: it ends in time, commits nothing it has not
// done, and the next process does it.
func TestStopWhileRedisIsAwayLosesNothing(t *testing.T) {
	w := newWorld(t)
	r := w.startReady(t)
	w.redis.Kill()
	for i := range 50 {
		w.produce(t, newLink(fmt.Sprint("x", i)).created(t, uint64(i+1), "https://x.test/"))
	}
	facttest.Eventually(t, "the updater says so", func() bool { return r.RedisReady(t.Context()) != nil })
	if err := r.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if got := w.committed(t); got != 0 {
		t.Errorf("%d records are committed that were never written", got)
	}
	w.redis.Restart(t)
	w.startReady(t)
	for i := range 50 {
		w.holds(t, fmt.Sprint("x", i), uint64(i+1), "https://x.test/")
	}
}

// A second process joins while records flow: partitions move, nothing is lost,
// and nothing is committed that was not done.
func TestRebalanceMidStreamLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.startReady(t)
	const links = 3000
	var second *running
	for i := range links {
		w.producer.Produce(t.Context(), newLink(fmt.Sprint("x", i)).created(t, uint64(i+1), "https://x.test/"), nil)
		if i == links/3 {
			second = w.start(t)
		}
	}
	if err := w.producer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	facttest.Eventually(t, "the second one reads too", func() bool {
		return facttest.Metric(t, second.registry, "changelog_lag_records", "") == 0 && second.ChangelogReady(t.Context()) == nil
	})
	facttest.Eventually(t, "all links are in redis", func() bool {
		n, err := w.client.DBSize(t.Context()).Result()
		return err == nil && n == links+1 // and the generation
	})
	facttest.Eventually(t, "all are committed", func() bool { return w.committed(t) == links })
}

// A killed updater leaves no group; the one that comes under its name must not
// wait until the group has noticed, because meanwhile no edge hears of anything.
func TestSuccessorOfTheSameNameTakesOverAtOnce(t *testing.T) {
	w := newWorld(t)
	first := w.startNamed(t, "fra-1")
	facttest.Eventually(t, "the first is ready", func() bool { return first.ChangelogReady(t.Context()) == nil })

	second := w.startNamed(t, "fra-1")
	began := time.Now()
	facttest.Eventually(t, "the second is ready", func() bool { return second.ChangelogReady(t.Context()) == nil })
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	select {
	case <-first.ended:
	case <-time.After(patience):
		t.Fatal("the first goes on")
	}
	if err := first.stop(); !errors.Is(err, kerr.FencedInstanceID) {
		t.Errorf("the first ended with %v", err)
	}
	a := newLink("a")
	w.produce(t, a.created(t, 1, "https://a.test/"))
	w.holds(t, "a", 1, "https://a.test/")
}

// A Redis that hangs is named, and not the broker, which nobody asks meanwhile.
func TestARedisThatHangsIsNamed(t *testing.T) {
	w := newWorld(t)
	r := w.start(t)
	facttest.Eventually(t, "ready", func() bool { return r.ChangelogReady(t.Context()) == nil && r.RedisReady(t.Context()) == nil })
	w.redis.Pause()
	defer w.redis.Resume()
	facttest.Eventually(t, "redis is named", func() bool { return r.RedisReady(t.Context()) != nil })
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		if err := r.ChangelogReady(t.Context()); err != nil {
			t.Fatalf("the changelog is blamed: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
	w.redis.Resume()
	facttest.Eventually(t, "ready again", func() bool { return r.ChangelogReady(t.Context()) == nil && r.RedisReady(t.Context()) == nil })
}
