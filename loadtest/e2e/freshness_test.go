package e2e

import (
	"syscall"
	"testing"
	"time"
)

const (
	// underFault is how long links are edited while something is broken: longer than
	// the two seconds within which an edge must have noticed.
	underFault = 2500 * time.Millisecond
	// lastWord is how long everybody looks at what was edited last, with nothing after
	// it that could give a lost message away.
	lastWord = freshness + 200*time.Millisecond
)

// TestNoEdgeServesAnOldTargetLaterThanTwoSeconds breaks the way from an edit to the
// edges, in every way that promise 1 names, while links are edited and visited all the
// time. What counts is the time from the answer to the edit to the last visitor who
// was still sent to the target before.
//
// Guards I9, I25, I27.
func TestNoEdgeServesAnOldTargetLaterThanTwoSeconds(t *testing.T) {
	s := newStack(t)
	l := newLab(t, s)
	w := newWatch(t, s, l.urls, "fresh", 6)

	t.Run("when nothing is broken", func(t *testing.T) {
		w.reset(labEdges)
		w.edit(t, s, 4*time.Second)
		w.editAll(t, s)
		<-time.After(freshness / 4)
		p99 := w.report(t)
		// The promise is 50 ms on a machine of its own. This one is shared with the
		// rest of the tests, so only what no noise explains is an error here.
		t.Logf("p99 of the time that an edge served an old target: %v", p99)
		if p99 > freshness/2 {
			t.Errorf("p99 is %v", p99)
		}
	})

	// broken runs a fault and its end under edits and visits.
	broken := func(name string, begin, end func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			w.reset(labEdges)
			begin(t)
			w.edit(t, s, underFault)
			w.editAll(t, s)
			<-time.After(lastWord)
			end(t)
			w.edit(t, s, time.Second)
			w.editAll(t, s)
			<-time.After(lastWord)
			w.report(t)
			l.awaitReady(t)
		})
	}
	gateOf := func(edge int, mode gateMode) func(t *testing.T) {
		return func(*testing.T) { l.gates[edge].set(mode) }
	}

	broken("when invalidations are dropped", func(*testing.T) {
		for _, g := range l.gates {
			g.set(deaf)
		}
	}, func(t *testing.T) {
		t.Helper()
		for n, g := range l.gates {
			if g.losses() == 0 {
				t.Errorf("no message to edge %d was lost", n)
			}
			g.set(passing)
		}
	})
	broken("when an edge is cut off from Redis", gateOf(0, refused), gateOf(0, passing))
	broken("when the way to Redis swallows everything", gateOf(1, stalled), gateOf(1, passing))
	broken("when the cacheupdater is killed and resumed", func(*testing.T) {
		l.updater.end(syscall.SIGKILL)
	}, l.updater.start)
	broken("when a primary takes no writes because its replica is gone", func(t *testing.T) {
		t.Helper()
		redisDo(t, l.primary.addr, "CONFIG SET min-replicas-to-write 1")
		l.detach(t)
	}, func(t *testing.T) {
		t.Helper()
		l.attach(t)
		redisDo(t, l.primary.addr, "CONFIG SET min-replicas-to-write 0") // the next fault is about what this prevents
	})
	broken("when Redis fails over to a replica that lost the last writes", func(t *testing.T) {
		t.Helper()
		l.detach(t)
		w.edit(t, s, time.Second)
		w.editAll(t, s)
		l.failOver(t)
	}, func(*testing.T) {})
	broken("when Redis is killed and comes back empty", func(*testing.T) {
		l.primary.end(syscall.SIGKILL)
	}, func(t *testing.T) {
		t.Helper()
		l.primary.start(t)
	})
}
