package events_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/events"
)

// Guards I53.
func TestEveryChangeIsHandledInOrderAndCommitted(t *testing.T) {
	w := newWorld(t, 3)
	w.produce(t, changes(t, 20, 10)...)
	sub, err := events.SubscribeLinks(w.settings(), w.note)
	r := start(t, sub, err)
	inOrder(t, w.waitFor(t, 200), 20, 10)
	r.stop(t)
	if got := len(w.seen()); got != 200 {
		t.Errorf("%d changes were handled, want 200", got)
	}
	if got := w.committed(t, events.LinksChangelog); got != 200 {
		t.Errorf("%d changes are committed, want 200", got)
	}
}

// A second process comes while the first one is in the middle of what it has polled:
// nobody waits for the rest of that, nothing is lost, and since all went well nothing is
// handled twice.
//
// Guards I53.
func TestARebalanceInTheMiddleOfABatchLosesNothing(t *testing.T) {
	w := newWorld(t, 4)
	w.produce(t, changes(t, 40, 10)...)
	gate := make(chan struct{})
	var calls atomic.Int64
	slow := func(ctx context.Context, c events.LinkChange) error {
		if calls.Add(1) > 30 {
			select {
			case <-gate:
			case <-ctx.Done():
				return ctx.Err()
			}
			<-time.After(2 * time.Millisecond) // work, so that the rest is not done before the newcomer is in
		}
		return w.note(ctx, c)
	}
	var revoked atomic.Int64
	settings := w.settings()
	settings.Observe = func(o events.Observation) {
		if o.What == events.ObservedRevoked {
			revoked.Add(1)
		}
	}
	one, err := events.SubscribeLinks(settings, slow)
	first := start(t, one, err)
	eventually(t, "the first is in the middle", func() error {
		if calls.Load() <= 30 {
			return errors.New("not yet")
		}
		return nil
	})
	var others atomic.Int64
	two, err := events.SubscribeLinks(w.settings(), func(ctx context.Context, c events.LinkChange) error {
		others.Add(1)
		return w.note(ctx, c)
	})
	second := start(t, two, err)
	// The group is told of the newcomer with the next heartbeat; then what is in hand may
	// be finished, one change for each partition.
	eventually(t, "the newcomer waits", func() error {
		groups := w.cluster.GroupInfo(group)
		if groups == nil || len(groups.Members) < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	close(gate)
	seen := w.waitFor(t, 400)
	first.stop(t)
	second.stop(t)
	inOrder(t, seen, 40, 10)
	if got := len(w.seen()); got != 400 {
		t.Errorf("%d changes were handled, want 400", got)
	}
	if others.Load() == 0 || revoked.Load() == 0 {
		t.Errorf("the newcomer handled %d changes, %d partitions were revoked", others.Load(), revoked.Load())
	}
	if got := w.committed(t, events.LinksChangelog); got != 400 {
		t.Errorf("%d changes are committed, want 400", got)
	}
}

// A process that the group has given up commits nothing any more: what it has marked
// meanwhile is handled again.
//
// Guards I53.
func TestNothingIsCommittedForAPartitionThatWasLost(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(t, changes(t, 1, 10)...)
	blocked, gate := make(chan struct{}), make(chan struct{})
	var once sync.Once
	settings := w.settings()
	lost := make(chan struct{})
	var lostOnce sync.Once
	settings.Observe = func(o events.Observation) {
		if o.What == events.ObservedLost {
			lostOnce.Do(func() { close(lost) })
		}
	}
	sub, err := events.SubscribeLinks(settings, func(ctx context.Context, c events.LinkChange) error {
		if c.Event.GetRevision() == 5 {
			once.Do(func() { close(blocked); <-gate })
		}
		return w.note(ctx, c)
	})
	start(t, sub, err)
	<-blocked
	var expelled atomic.Bool
	w.cluster.ControlKey(int16(kmsg.Heartbeat), func(request kmsg.Request) (kmsg.Response, error, bool) {
		answer := request.ResponseKind().(*kmsg.HeartbeatResponse)
		answer.ErrorCode = kerr.UnknownMemberID.Code
		expelled.Store(true)
		return answer, nil, true
	})
	eventually(t, "the group has given it up", func() error {
		if !expelled.Load() {
			return errors.New("not yet")
		}
		return nil
	})
	close(gate)
	<-lost
	eventually(t, "everything is handled again", func() error {
		again := map[uint64]int{}
		for _, h := range w.seen() {
			again[h.revision]++
		}
		for _, revision := range []uint64{1, 2, 3, 4, 5} {
			if again[revision] < 2 {
				return fmt.Errorf("%v", again)
			}
		}
		if again[10] < 1 {
			return fmt.Errorf("%v", again)
		}
		return nil
	})
}

// Guards I54.
func TestWhatCannotBeHandledStopsUnlessSomebodyTakesIt(t *testing.T) {
	broken := errors.New("no such customer")
	run := func(name string, poison *kgo.Record, settings func(*events.Settings), handler func(events.LinkChange) error, wantTries int) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.produce(t, change(t, 1, 1), change(t, 1, 2), poison, change(t, 1, 4))
			s := w.settings()
			settings(&s)
			handle := func(ctx context.Context, c events.LinkChange) error {
				if err := handler(c); err != nil {
					return err
				}
				return w.note(ctx, c)
			}
			sub, err := events.SubscribeLinks(s, handle)
			r := start(t, sub, err)
			if err := r.end(t); err == nil || !strings.Contains(err.Error(), "offset 2 of partition 0 of linkstream.links.changelog.v1") {
				t.Errorf("Run returned %v", err)
			}
			if got := w.committed(t, events.LinksChangelog); got != 2 {
				t.Errorf("%d records are committed, want the 2 before it", got)
			}

			var dead []events.Dead
			s.DeadLetter = func(_ context.Context, d events.Dead) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				dead = append(dead, d)
				return nil
			}
			sub, err = events.SubscribeLinks(s, handle)
			r = start(t, sub, err)
			if seen := w.waitFor(t, 3); seen[2].revision != 4 {
				t.Errorf("handled %v, want 1, 2 and 4", seen)
			}
			r.stop(t)
			if len(dead) != 1 || dead[0].Record.Offset != 2 || dead[0].Tries != wantTries || dead[0].Err == nil {
				t.Errorf("put aside: %+v", dead)
			}
			if got := w.committed(t, events.LinksChangelog); got != 4 {
				t.Errorf("%d records are committed, want 4", got)
			}
		})
	}
	fails := func(err error) func(events.LinkChange) error {
		return func(c events.LinkChange) error {
			if c.Event.GetRevision() == 3 {
				return err
			}
			return nil
		}
	}
	none := func(*events.Settings) {}
	link := id(1)
	garbage := &kgo.Record{Topic: string(events.LinksChangelog), Key: link[:], Value: []byte{0xff, 0xff}}
	run("a record that does not decode", garbage, none, fails(nil), 0)
	run("a key that is no link", &kgo.Record{Topic: string(events.LinksChangelog), Key: []byte("x")}, none, fails(nil), 0)
	run("a handler that gives up", change(t, 1, 3), none, fails(broken), 5)
	run("so many tries", change(t, 1, 3), func(s *events.Settings) { s.Tries = 2 }, fails(broken), 2)
	run("a handler that knows", change(t, 1, 3), none, fails(fmt.Errorf("%w: %w", events.ErrPoison, broken)), 1)
}

// Guards I54.
func TestADeadLetterThatFailsPassesNothingOver(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(t, change(t, 1, 1), change(t, 1, 2))
	s := w.settings()
	s.DeadLetter = func(context.Context, events.Dead) error { return errors.New("the disk is full") }
	sub, err := events.SubscribeLinks(s, func(context.Context, events.LinkChange) error { return events.ErrPoison })
	if err := start(t, sub, err).end(t); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("Run returned %v", err)
	}
	if got := w.committed(t, events.LinksChangelog); got > 0 {
		t.Errorf("%d records are committed", got)
	}
}

func TestAHandlerIsAskedAgainUntilItWorks(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(t, change(t, 1, 1))
	failures := 3
	sub, err := events.SubscribeLinks(w.settings(), func(ctx context.Context, c events.LinkChange) error {
		if failures--; failures >= 0 {
			return errors.New("the database is away")
		}
		return w.note(ctx, c)
	})
	r := start(t, sub, err)
	w.waitFor(t, 1)
	r.stop(t)
}

// Guards I55.
func TestStatesThatAreNotNewerAreLeftOut(t *testing.T) {
	w := newWorld(t, 1)
	link := id(1)
	w.produce(t, change(t, 1, 1), change(t, 1, 2), change(t, 1, 1), change(t, 1, 2), change(t, 2, 1), events.LinkTombstone("", link[:]))
	s := w.settings()
	s.Versions = events.NewMemoryVersions(10)
	var stale atomic.Int64
	s.Observe = func(o events.Observation) {
		if o.What == events.ObservedStale {
			stale.Add(o.Records)
		}
	}
	sub, err := events.SubscribeLinks(s, w.note)
	r := start(t, sub, err)
	seen := w.waitFor(t, 4)
	r.stop(t)
	want := []handled{{id(1), 1}, {id(1), 2}, {id(2), 1}, {id(1), 0}}
	if fmt.Sprint(seen) != fmt.Sprint(want) || stale.Load() != 2 {
		t.Errorf("handled %v with %d left out, want %v with 2", seen, stale.Load(), want)
	}
}

// Guards I97.
func TestWhatIsSkippedCountsAsHandled(t *testing.T) {
	w := newWorld(t, 3)
	w.produce(t, changes(t, 20, 10)...)
	bad := change(t, 0, 11)
	bad.Value = []byte("no change")
	w.produce(t, bad, change(t, 1, 11))
	settings := w.settings()
	var skipped, dead atomic.Int64
	settings.Skip = func(_ context.Context, b events.Brief) bool { return b.Link[15]%2 == 0 || b.Revision == 3 }
	settings.Observe = func(o events.Observation) {
		if o.What == events.ObservedSkipped {
			skipped.Add(o.Records)
		}
	}
	settings.DeadLetter = func(context.Context, events.Dead) error { dead.Add(1); return nil }
	sub, err := events.SubscribeLinks(settings, w.note)
	r := start(t, sub, err)
	for _, h := range w.waitFor(t, 91) { // nine of each odd link, and the last
		if h.link[15]%2 == 0 || h.revision == 3 {
			t.Errorf("%s was handled at %d", h.link, h.revision)
		}
	}
	eventually(t, "everything is read", func() error {
		if skipped.Load() != 110 || dead.Load() != 1 {
			return fmt.Errorf("%d are skipped, want 110; %d are dead, want 1", skipped.Load(), dead.Load())
		}
		return nil
	})
	r.stop(t)
	if got := w.committed(t, events.LinksChangelog); got != 202 || len(w.seen()) != 91 {
		t.Errorf("%d changes are committed, want 202; %d handled, want 91", got, len(w.seen()))
	}
}

// A process is told to stop with hundreds of records in hand: it finishes the one it is
// at, commits that, and begins no other.
//
// Guards I53.
func TestStoppingFinishesOnlyWhatIsInHand(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(t, changes(t, 1, 100)...)
	blocked, gate := make(chan struct{}), make(chan struct{})
	sub, err := events.SubscribeLinks(w.settings(), func(ctx context.Context, c events.LinkChange) error {
		if c.Event.GetRevision() == 3 {
			close(blocked)
			<-gate
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.note(ctx, c)
	})
	r := start(t, sub, err)
	<-blocked
	r.cancel()
	close(gate)
	if err := r.end(t); err != nil {
		t.Fatal(err)
	}
	if got := len(w.seen()); got != 3 {
		t.Errorf("%d changes were handled, want 3", got)
	}
	if got := w.committed(t, events.LinksChangelog); got != 3 {
		t.Errorf("%d changes are committed, want 3", got)
	}
}

// Guards I53.
func TestAHandlerThatTakesTooLongIsToldAndNotMarked(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(t, changes(t, 1, 3)...)
	s := w.settings()
	s.Drain = 50 * time.Millisecond
	blocked := make(chan struct{})
	sub, err := events.SubscribeLinks(s, func(ctx context.Context, c events.LinkChange) error {
		if c.Event.GetRevision() == 2 {
			close(blocked)
			<-ctx.Done()
			return ctx.Err()
		}
		return w.note(ctx, c)
	})
	r := start(t, sub, err)
	<-blocked
	r.stop(t)
	if got := w.committed(t, events.LinksChangelog); got != 1 {
		t.Errorf("%d changes are committed, want 1", got)
	}
}

func TestAGroupBeginsWhereItIsTold(t *testing.T) {
	w := newWorld(t, 1)
	old := change(t, 1, 1)
	old.Timestamp = time.Unix(1_700_000_000, 0)
	recent := change(t, 1, 2)
	recent.Timestamp = time.Unix(1_800_000_000, 0)
	w.produce(t, old, recent)
	s := w.settings()
	s.Start = events.At(time.Unix(1_750_000_000, 0))
	sub, err := events.SubscribeLinks(s, w.note)
	r := start(t, sub, err)
	if seen := w.waitFor(t, 1); seen[0].revision != 2 {
		t.Errorf("began with %v, want revision 2", seen)
	}
	r.stop(t)
}

func TestMissingSettingsAreNamedAtOnce(t *testing.T) {
	_, err := events.SubscribeLinks(events.Settings{Tries: -1}, nil)
	for _, want := range []string{"Brokers", "Group", "Tries"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// child is a consumer that is going to be killed: it appends each change that it handles
// to a file.
func child(brokers, path string) int {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 1
	}
	sub, err := events.SubscribeLinks(events.Settings{
		Brokers: strings.Split(brokers, ","), Group: group, MaxPoll: 50,
		Kafka: []kgo.Opt{kgo.SessionTimeout(time.Second), kgo.HeartbeatInterval(50 * time.Millisecond), kgo.AutoCommitInterval(100 * time.Millisecond)},
	}, func(_ context.Context, c events.LinkChange) error {
		_, err := fmt.Fprintf(file, "%s %d\n", c.Link, c.Event.GetRevision())
		return err
	})
	if err == nil {
		err = sub.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
