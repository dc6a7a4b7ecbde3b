package events_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

func waitComplete(t *testing.T, c *events.Copy) {
	t.Helper()
	select {
	case <-c.Complete():
	case <-time.After(limit):
		t.Fatal("the copy does not become complete")
	}
}

// Guards I56.
func TestACopyIsCompleteAndStaysCurrent(t *testing.T) {
	w := newWorld(t, 4)
	w.produce(t, changes(t, 50, 3)...)
	gone := id(7)
	w.produce(t, events.LinkTombstone("", gone[:]))
	w.cluster.Compact()
	c, err := events.NewCopy(w.copySettings(), w.note)
	r := start(t, c, err)
	waitComplete(t, c)
	newest := map[events.ID]uint64{}
	for _, h := range w.seen() {
		newest[h.link] = h.revision
	}
	for n := range 50 {
		want := uint64(3)
		if n == 7 {
			want = 0
		}
		if got := newest[id(n)]; got != want {
			t.Errorf("when the copy is complete link %d is at %d, want %d", n, got, want)
		}
	}
	before := len(w.seen())
	w.produce(t, change(t, 1, 4))
	if seen := w.waitFor(t, before+1); seen[before] != (handled{id(1), 4}) {
		t.Errorf("then came %v", seen[before])
	}
	r.stop(t)
}

// Guards I56.
func TestACopyIsCompleteThoughNothingIsAtTheEnd(t *testing.T) {
	check := func(name string, want int, fill func(w *world)) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			fill(w)
			c, err := events.NewCopy(w.copySettings(), w.note)
			r := start(t, c, err)
			waitComplete(t, c)
			if got := len(w.seen()); got != want {
				t.Errorf("%d changes, want %d", got, want)
			}
			r.stop(t)
		})
	}
	check("an empty changelog", 0, func(*world) {})
	check("the mark of a transaction", 2, func(w *world) {
		w.transaction(t, kgo.TryCommit, change(t, 1, 1), change(t, 2, 1))
	})
	check("records that were aborted", 1, func(w *world) {
		w.produce(t, change(t, 1, 1))
		w.transaction(t, kgo.TryAbort, change(t, 1, 2), change(t, 2, 1))
	})
}

// Guards I56.
func TestACopyIsNotCompleteBeforeItIsApplied(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(t, changes(t, 1, 2)...)
	broken := errors.New("the table is locked")
	s := w.copySettings()
	s.Tries = 1
	c, err := events.NewCopy(s, func(_ context.Context, l events.LinkChange) error {
		if l.Event.GetRevision() == 2 {
			return broken
		}
		return nil
	})
	if err := start(t, c, err).end(t); !errors.Is(err, broken) {
		t.Errorf("Run returned %v", err)
	}
	select {
	case <-c.Complete():
		t.Error("it says that it is complete")
	default:
	}
}

func TestACopyOfNoTopicIsAnError(t *testing.T) {
	w := newWorld(t, 1)
	s := w.copySettings()
	s.TopicPrefix = "nobody."
	c, err := events.NewCopy(s, w.note)
	if err := start(t, c, err).end(t); err == nil || !strings.Contains(err.Error(), "there is no topic nobody.linkstream.links.changelog.v1") {
		t.Errorf("Run returned %v", err)
	}
	s.Group = group
	if _, err := events.NewCopy(s, w.note); err == nil {
		t.Error("a copy with a group was made")
	}
}
