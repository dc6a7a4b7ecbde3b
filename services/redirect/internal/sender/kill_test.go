package sender

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/testproc"
)

// The edge and the broker are killed with SIGKILL again and again, one at a time and
// both, under 20,000 clicks a second. Afterwards every click that the edge had
// appended is in the topic once, and nothing else is.
//
// Guards I30, I31.
func TestKilledAtRandomEveryClickIsThereOnce(t *testing.T) {
	addr, brokerDir, edgeDir := testproc.FreeAddr(t), t.TempDir(), t.TempDir()
	broker := startBroker(t, addr, brokerDir)
	createTopic(t, addr)
	startEdge := func() child { return spawn(t, "edge", "TEST_ADDR="+addr, "TEST_DIR="+edgeDir, "TEST_QUIET=1") }
	edge := startEdge()
	var said uint64
	kills := 12
	if testing.Short() {
		kills = 4
	}
	for range kills {
		wait(t, 200*time.Millisecond+rand.N(600*time.Millisecond))
		which := rand.IntN(3)
		if which != 0 {
			said = max(said, edge.kill())
		}
		if which != 1 {
			broker.kill()
			broker = startBroker(t, addr, brokerDir)
		}
		if which != 0 {
			edge = startEdge()
		}
	}
	wait(t, time.Second)
	said = max(said, edge.kill())

	j := open(t, edgeDir)
	sendAll(t, j, addr) // sends the rest
	s := j.Stats()
	if all := appended(s); all < said || all > said+20 || s.Full+s.Damaged+s.Waiting != 0 || s.Produced != all {
		t.Errorf("the edge said %d: %+v", said, s)
	}
	exactly(t, delivered(t, addr), appended(s))
	t.Logf("%d clicks, %d refused", s.Produced, s.Disk)
	broker.kill()
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}
