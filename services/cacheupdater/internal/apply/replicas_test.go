package apply_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

// Of two replicas the one takes over that lacks an edit which the other confirmed: that
// one was waited for and does not help. What is lacking is written again, and the other
// replica, which throws away what it had to follow the new primary, has it too.
//
// Guards I25.
func TestTheReplicaThatLagsTakesOver(t *testing.T) {
	w, pair := newPairWorld(t)
	other := pair.AddReplica(t)
	r := w.startReady(t)
	a := newLink("a")
	w.produce(t, a.created(t, 1, "https://old.test/"))
	w.holds(t, "a", 1, "https://old.test/")
	has(t, pair.Replica, 1)
	has(t, other, 1)

	pair.Detach(t)
	w.produce(t, a.updated(t, 2, "https://new.test/"))
	w.holds(t, "a", 2, "https://new.test/")
	has(t, other, 2)
	has(t, pair.Replica, 1)
	facttest.Eventually(t, "both are committed", func() bool { return w.committed(t) == 2 })

	pair.FailOver(t)
	pair.Follow(t, other)
	w.holds(t, "a", 2, "https://new.test/")
	has(t, other, 2)
	facttest.Eventually(t, "ready again", func() bool { return r.isReady(t) })
	w.produce(t, a.updated(t, 3, "https://newer.test/"))
	w.holds(t, "a", 3, "https://newer.test/")
	has(t, other, 3)
}

// has waits until a server holds the revision of the link a.
func has(t *testing.T, s *redistest.Server, revision uint64) {
	t.Helper()
	store := linkcache.NewStore(s.Client(t))
	facttest.Eventually(t, "the server holds the revision", func() bool {
		got, ok, err := store.Get(t.Context(), linkcache.Key("s.test", "a"))
		return err == nil && ok && got.Revision == revision
	})
}
