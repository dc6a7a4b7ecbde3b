package apply_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

const refillLinks = 1200

// fillWorld makes links, half of them edited, so that a replay passes over old
// values.
func fillWorld(t *testing.T, w *world) {
	t.Helper()
	revision := uint64(0)
	next := func() uint64 { revision++; return revision }
	for i := range refillLinks {
		l := newLink(fmt.Sprint("x", i))
		w.producer.Produce(t.Context(), l.created(t, next(), "https://old.test/"), nil)
		w.producer.Produce(t.Context(), l.updated(t, next(), fmt.Sprintf("https://%d.test/", i)), nil)
	}
	if err := w.producer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *world) isFull(t *testing.T) {
	t.Helper()
	facttest.Eventually(t, "redis is full", func() bool {
		n, err := w.client.DBSize(t.Context()).Result()
		return err == nil && n == refillLinks+1
	})
	for i := range refillLinks {
		w.holds(t, fmt.Sprint("x", i), uint64(2*i+2), fmt.Sprintf("https://%d.test/", i))
	}
}

func TestNewRegionIsFilledFromTheStart(t *testing.T) {
	w := newWorld(t)
	fillWorld(t, w)
	w.startReady(t)
	w.isFull(t)
}

// Guards I7.
func TestWipedRedisIsFilledAgain(t *testing.T) {
	w := newWorld(t)
	fillWorld(t, w)
	r := w.startReady(t)
	w.isFull(t)
	facttest.Eventually(t, "all is committed", func() bool { return w.committed(t) == 2*refillLinks })

	heard := w.listen(t)
	if err := w.client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	w.isFull(t)
	invalidation(t, heard, "x7", 16) // what changed in redis is told, though it was told before
	facttest.Eventually(t, "ready again", func() bool { return r.ChangelogReady(t.Context()) == nil })
	for m := range heard { // edges are told that it is over
		if m.Heartbeat != nil && !m.Filling {
			break
		}
	}
}

func TestRestartedRedisIsFilledAgain(t *testing.T) {
	w := newWorld(t)
	fillWorld(t, w)
	r := w.startReady(t)
	w.isFull(t)
	w.redis.Kill()
	w.redis.Restart(t)
	w.isFull(t)
	facttest.Eventually(t, "ready again", func() bool { return r.ChangelogReady(t.Context()) == nil })
}

// Redis was lost while no updater ran: the committed offsets are at the end, and
// the sentinel is what tells.
func TestRedisLostWhileStoppedIsFilledAgain(t *testing.T) {
	w := newWorld(t)
	fillWorld(t, w)
	if err := w.startReady(t).stop(); err != nil {
		t.Fatal(err)
	}
	if got := w.committed(t); got != 2*refillLinks {
		t.Fatalf("%d records are committed, want all", got)
	}
	w.redis.Kill()
	w.redis.Restart(t)
	w.startReady(t)
	w.isFull(t)
}

// A Redis that keeps its data but has another run id may have lost the last
// writes: a replica that took over, a restart from an old snapshot.
func TestAnotherPrimaryIsWrittenAgain(t *testing.T) {
	w := newWorld(t)
	fillWorld(t, w)
	r := w.startReady(t)
	w.isFull(t)
	key := linkcache.Key("s.test", "x3")
	if err := w.client.Del(t.Context(), key).Err(); err != nil { // the lost write
		t.Fatal(err)
	}
	for p := range partitions {
		if err := w.client.HSet(t.Context(), linkcache.GenerationKey, strconv.Itoa(p), "the run id of the old primary").Err(); err != nil {
			t.Fatal(err)
		}
	}
	w.holds(t, "x3", 8, "https://3.test/")
	facttest.Eventually(t, "ready again", func() bool { return r.ChangelogReady(t.Context()) == nil })
}

func TestRestartOfTheUpdaterDoesNotFillAgain(t *testing.T) {
	w := newWorld(t)
	fillWorld(t, w)
	if err := w.startReady(t).stop(); err != nil {
		t.Fatal(err)
	}
	r := w.startReady(t)
	if got := facttest.Metric(t, r.registry, "changelog_refills_total", ""); got != 0 {
		t.Errorf("%v partitions were filled again", got)
	}
}

func TestForeignGenerationKeyIsReplaced(t *testing.T) {
	w := newWorld(t)
	a := newLink("a")
	w.produce(t, a.created(t, 1, "https://a.test/"))
	if err := w.client.Set(t.Context(), linkcache.GenerationKey, "a person's experiment", 0).Err(); err != nil {
		t.Fatal(err)
	}
	w.startReady(t)
	w.holds(t, "a", 1, "https://a.test/")
}
