package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

// click is the record of a click whose time is n.
func click(n int64) *kgo.Record {
	c := events.Click{ID: id(int(n)), WorkspaceID: id(1), LinkID: id(2), TimeUnixMicro: n, Host: "go.test", SlugKey: "s", Status: 302, Address: []byte{192, 0, 2, 1}}
	return &kgo.Record{Topic: string(events.Clicks), Value: events.AppendClick(nil, &c)}
}

// transaction writes records in a transaction, as edges do, and ends it.
func (w *world) transaction(t *testing.T, end kgo.TransactionEndTry, records ...*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.TransactionalID("edge"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := client.EndTransaction(t.Context(), end); err != nil {
		t.Fatal(err)
	}
}

// clickNotes is a handler that notes clicks by their times.
type clickNotes struct {
	mu    sync.Mutex
	times []int64
	most  int
}

func (n *clickNotes) handle(_ context.Context, clicks []events.ClickRead) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.most = max(n.most, len(clicks))
	for _, c := range clicks {
		n.times = append(n.times, c.Click.GetTimeUnixUs())
	}
	return nil
}

func (n *clickNotes) waitFor(t *testing.T, want ...int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("clicks %v are handled", want), func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if !slices.Equal(n.times, want) {
			return fmt.Errorf("%v", n.times)
		}
		return nil
	})
}

// Guards I53.
func TestClicksOfAnAbortedTransactionAreNotSeen(t *testing.T) {
	w := newWorld(t, 1)
	w.transaction(t, kgo.TryCommit, click(1), click(2))
	w.transaction(t, kgo.TryAbort, click(3))
	w.transaction(t, kgo.TryCommit, click(4))
	var notes clickNotes
	sub, err := events.SubscribeClicks(w.settings(), notes.handle)
	r := start(t, sub, err)
	notes.waitFor(t, 1, 2, 4)
	r.stop(t)
}

// Guards I54.
func TestOneClickThatCannotBeHandledTakesNoOtherWithIt(t *testing.T) {
	w := newWorld(t, 1)
	w.transaction(t, kgo.TryCommit, click(1), click(2), click(3), &kgo.Record{Topic: string(events.Clicks), Value: []byte("?")}, click(4))
	s := w.settings()
	var mu sync.Mutex
	var dead []int64
	s.DeadLetter = func(_ context.Context, d events.Dead) error {
		mu.Lock()
		defer mu.Unlock()
		dead = append(dead, d.Record.Offset)
		return nil
	}
	var notes clickNotes
	sub, err := events.SubscribeClicks(s, func(ctx context.Context, clicks []events.ClickRead) error {
		for _, c := range clicks {
			if c.Click.GetTimeUnixUs() == 2 {
				return errors.New("the second click is not liked")
			}
		}
		return notes.handle(ctx, clicks)
	})
	r := start(t, sub, err)
	notes.waitFor(t, 1, 3, 4)
	r.stop(t)
	if !slices.Equal(dead, []int64{3, 1}) { // what does not decode is put aside first
		t.Errorf("put aside: %v, want offsets 3 and 1", dead)
	}
}

func TestClicksComeInBatches(t *testing.T) {
	w := newWorld(t, 1)
	var records []*kgo.Record
	for n := range int64(1200) {
		records = append(records, click(n+1))
	}
	w.transaction(t, kgo.TryCommit, records...)
	s := w.settings()
	s.MaxPoll = 10_000
	var notes clickNotes
	sub, err := events.SubscribeClicks(s, notes.handle)
	r := start(t, sub, err)
	eventually(t, "all are handled", func() error {
		notes.mu.Lock()
		defer notes.mu.Unlock()
		if len(notes.times) != 1200 {
			return fmt.Errorf("%d are", len(notes.times))
		}
		return nil
	})
	r.stop(t)
	if notes.most != 500 {
		t.Errorf("the largest batch has %d clicks, want 500", notes.most)
	}
}
