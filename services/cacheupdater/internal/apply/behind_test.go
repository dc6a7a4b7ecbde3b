package apply_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// The broker answers fetches, and of what was written nothing comes: heartbeats do not
// say that all is well.
//
// Guards I9.
func TestHeartbeatsSayWhenTheChangelogIsNotReadToItsEnd(t *testing.T) {
	w := newWorld(t)
	w.startReady(t)
	heard := w.listen(t)
	beat := func(filling bool) func() bool {
		return func() bool {
			m := <-heard
			return m.Heartbeat != nil && m.Filling == filling
		}
	}
	facttest.Eventually(t, "all is well", beat(false))

	var empty atomic.Bool
	empty.Store(true)
	w.broker.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		if !empty.Load() {
			return nil, nil, false
		}
		w.broker.SleepControl(func() { <-time.After(50 * time.Millisecond) })
		return request.ResponseKind(), nil, true
	})
	w.produce(t, newLink("a").created(t, 1, "https://a.test/"))
	facttest.Eventually(t, "the edges are told", beat(true))
	if _, ok, err := w.store.Get(t.Context(), linkcache.Key("s.test", "a")); ok || err != nil {
		t.Fatalf("the change came through: %t %v", ok, err)
	}
	empty.Store(false)
	w.holds(t, "a", 1, "https://a.test/")
	facttest.Eventually(t, "all is well again", beat(false))
}
