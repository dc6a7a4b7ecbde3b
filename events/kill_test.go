package events_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/events"
)

// Consumers are killed with SIGKILL at random moments, one after the other: what they
// did between them is every change, in the order of each link, some of them again.
//
// Guards I53.
func TestKilledAtRandomEveryChangeIsHandled(t *testing.T) {
	const links, each, kills = 30, 100, 4
	w := newWorld(t, 3)
	w.produce(t, changesFrom(t, links, 1, each/2)...)
	effects := filepath.Join(t.TempDir(), "effects")
	launch := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "EVENTS_TEST_BROKERS="+strings.Join(w.cluster.ListenAddrs(), ","), "EVENTS_TEST_EFFECTS="+effects)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	read := func() (all []handled) {
		text, err := os.ReadFile(effects)
		if err != nil {
			return nil
		}
		for line := range strings.Lines(string(text)) {
			var link string
			var revision uint64
			if _, err := fmt.Sscan(line, &link, &revision); err != nil {
				continue // being written
			}
			id, err := events.ParseID(link)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, handled{id, revision})
		}
		return all
	}
	produced := each / 2
	for range kills {
		cmd := launch()
		before := len(read())
		for revision := produced + 1; revision <= produced+each/2/kills; revision++ {
			for n := range links {
				w.produce(t, change(t, n, uint64(revision)))
			}
		}
		produced += each / 2 / kills
		eventually(t, "some are handled", func() error {
			if got := len(read()); got <= before {
				return fmt.Errorf("%d effects", got)
			}
			return nil
		})
		<-time.After(time.Duration(rand.IntN(50)) * time.Millisecond) // the moment is what is random
		kill(cmd)
	}
	w.produce(t, changesFrom(t, links, produced+1, each)...)
	cmd := launch()
	defer kill(cmd)
	eventually(t, "everything is handled", func() error {
		newest := map[events.ID]uint64{}
		for _, h := range read() {
			newest[h.link] = max(newest[h.link], h.revision)
		}
		for n := range links {
			if newest[id(n)] < each {
				return fmt.Errorf("link %d is at %d", n, newest[id(n)])
			}
		}
		return nil
	})
	all := read()
	inOrder(t, all, links, each)
	t.Logf("%d changes had %d effects", links*each, len(all))
}
