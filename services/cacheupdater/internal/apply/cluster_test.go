package apply_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

// Each shard of a cluster may lose what it held alone.
//
// Guards I7.
func TestAClusterThatLostAShardIsFilledAgain(t *testing.T) {
	cluster := redistest.StartCluster(t)
	client := cluster.Client(t)
	w := newWorldOn(t, func() redis.UniversalClient { return cluster.Client(t) })
	fillWorld(t, w)
	r := w.startReady(t)
	holdAll := func() {
		t.Helper()
		w.holds(t, "x0", 2, "https://0.test/")
		for _, slug := range []string{"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9"} {
			w.holds(t, slug, revisionOf(slug), "https://"+slug[1:]+".test/")
		}
	}
	refills := func() float64 { return facttest.Metric(t, r.registry, "changelog_refills_total", "") }
	ready := func() bool { return r.ChangelogReady(t.Context()) == nil }
	holdAll()
	if got := refills(); got != partitions {
		t.Errorf("%v partitions were filled at the start, want %d", got, partitions)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = w.startReady(t)
	if got := refills(); got != 0 {
		t.Errorf("a restart of the updater fills %v partitions again", got)
	}

	primary, err := client.MasterForKey(t.Context(), linkcache.Key("s.test", "x3"))
	if err == nil {
		err = primary.FlushAll(t.Context()).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	holdAll()
	facttest.Eventually(t, "ready after a shard was wiped", func() bool { return refills() == partitions && ready() })

	// Its replica is cut off and then takes over: it lacks what was acknowledged since.
	key := linkcache.Key("s.test", "x3")
	lost := newLink("x3")
	cluster.Detach(t, key)
	w.produce(t, lost.created(t, 900_000, "https://lost.test/"))
	w.holds(t, "x3", 900_000, "https://lost.test/")
	applied := facttest.Metric(t, r.registry, "changelog_applied_total", "")
	cluster.KillPrimary(t, key)
	w.holds(t, "x3", 900_000, "https://lost.test/")
	facttest.Eventually(t, "ready after a failover", func() bool { return refills() > partitions && ready() })
	if got := facttest.Metric(t, r.registry, "changelog_applied_total", "") - applied; got > 10 {
		t.Errorf("%v records were written again, only one was lost", got)
	}
	a := newLink("after")
	w.produce(t, a.created(t, 1_000_000, "https://after.test/"))
	w.holds(t, "after", 1_000_000, "https://after.test/")
}

// revisionOf is what fillWorld gave a link with a number of one digit.
func revisionOf(slug string) uint64 { return 2*uint64(slug[1]-'0') + 2 }
