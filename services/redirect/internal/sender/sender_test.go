package sender

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

func settled(j *journal.Journal) func() bool {
	return func() bool { return j.Stats().Waiting == 0 }
}

func TestClicksArriveOnceAndInTime(t *testing.T) {
	c := cluster(t)
	j := open(t, t.TempDir())
	e := start(t, j, 10*time.Second, c.ListenAddrs()...)
	add(t, j, 0, 1)
	facttest.Eventually(t, "one click is sent", settled(j))
	add(t, j, 1, 100_000)
	facttest.Eventually(t, "all are sent", settled(j))
	e.stop()
	exactly(t, delivered(t, c.ListenAddrs()...), 100_001)
	if s := j.Stats(); s.Produced != 100_001 {
		t.Errorf("%+v", s)
	}
}

func TestAStopSendsWhatWaits(t *testing.T) {
	c := cluster(t)
	j := open(t, t.TempDir())
	e := start(t, j, time.Minute, c.ListenAddrs()...)
	add(t, j, 0, 1) // a broker that has not answered yet is not waited for
	facttest.Eventually(t, "the first is sent", settled(j))
	add(t, j, 1, 50_000)
	e.stop()
	exactly(t, delivered(t, c.ListenAddrs()...), 50_001)
}

// Nothing is lost or dropped when the broker is away at the stop: it stays.
func TestAStopWithoutABrokerEndsInTime(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	add(t, j, 0, 1000)
	began := time.Now()
	start(t, j, 300*time.Millisecond, "127.0.0.1:1").stop()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	c := cluster(t)
	j = open(t, dir)
	sendAll(t, j, c.ListenAddrs()...)
	exactly(t, delivered(t, c.ListenAddrs()...), 1000)
	if s := j.Stats(); s.Full+s.Damaged+s.Disk != 0 || s.Produced != 1000 {
		t.Errorf("%+v", s)
	}
}

// The end of a transaction was asked for and the answer never came, before the
// broker had done it or afterwards: every click is there once.
//
// Guards I31.
func TestAnUnknownOutcomeIsFoundOut(t *testing.T) {
	c := cluster(t)
	var link scissors
	j := open(t, t.TempDir())
	var commits atomic.Int64
	c.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if req.(*kmsg.EndTxnRequest).Commit {
			switch commits.Add(1) % 4 {
			case 1: // it never arrives
				return nil, errors.New("cut"), true
			case 3: // it is done, the answer never arrives
				link.cutNext()
			}
		}
		return nil, nil, false
	})
	e := startWith(t, j, 10*time.Second, append(options(c.ListenAddrs()...), link.dialer()))
	for i := range uint64(10) {
		add(t, j, i*2000, 2000)
		facttest.Eventually(t, "they are sent", settled(j))
	}
	e.stop()
	if n := commits.Load(); n < 12 {
		t.Errorf("%d commits: none was repeated", n)
	}
	exactly(t, delivered(t, c.ListenAddrs()...), 20_000)
}

// The record that ends a transaction is in the log, the offset that belongs to it is
// lost: what the embedded broker leaves when it is killed in between.
//
// Guards I31.
func TestALostCheckpointIsFoundInTheTopic(t *testing.T) {
	c := cluster(t)
	dir := t.TempDir()
	j := open(t, dir)
	// The checkpoint is accepted and forgotten.
	c.ControlKey(int16(kmsg.TxnOffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		r := req.(*kmsg.TxnOffsetCommitRequest)
		resp := r.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
		resp.Version = r.Version
		return resp, nil, true
	})
	// And the answer to the end is an error although it was done: the client does not know.
	add(t, j, 0, 3000)
	s, err := New(j, options(c.ListenAddrs()...), Settings{Topic: topic, Name: name}, discard())
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.send(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.client.Close()
	note, ok := j.Unknown()
	if !ok || note.To != 3000 {
		t.Fatalf("%+v %v", note, ok)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	// A journal that has the clicks and the note, but does not know the outcome.
	again := t.TempDir()
	j = open(t, again)
	add(t, j, 0, 3000)
	j.Committing(note)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, again)
	add(t, j, 3000, 10)
	sendAll(t, j, c.ListenAddrs()...)
	exactly(t, delivered(t, c.ListenAddrs()...), 3010)
}

// The group's offset is as old as the broker keeps it, and no older.
//
// Guards I31.
func TestANewDiskStartsAtItsBeginning(t *testing.T) {
	c := cluster(t)
	j := open(t, t.TempDir())
	add(t, j, 0, 5000)
	sendAll(t, j, c.ListenAddrs()...)
	fresh := open(t, t.TempDir())
	add(t, fresh, 5000, 1000)
	sendAll(t, fresh, c.ListenAddrs()...)
	exactly(t, delivered(t, c.ListenAddrs()...), 6000)
}

// Two processes with one name: the earlier one stops, says why and keeps its clicks.
//
// Guards I34.
func TestAZombieIsFencedAndDoesNotFight(t *testing.T) {
	c := cluster(t)
	first, second := open(t, t.TempDir()), open(t, t.TempDir())
	old := start(t, first, time.Second, c.ListenAddrs()...)
	add(t, first, 0, 100)
	facttest.Eventually(t, "the first sends", settled(first))
	young := start(t, second, 10*time.Second, c.ListenAddrs()...)
	add(t, second, 100, 100)
	facttest.Eventually(t, "the second sends", settled(second))
	add(t, first, 200, 100)
	facttest.Eventually(t, "the first knows", func() bool { return errors.Is(old.Err(), ErrFenced) })
	add(t, second, 300, 100)
	facttest.Eventually(t, "the second goes on", settled(second))
	if err := young.Err(); err != nil {
		t.Error(err)
	}
	old.stop()
	young.stop()
	if s := first.Stats(); s.Waiting != 100 {
		t.Errorf("the first has %+v", s)
	}
	seen := delivered(t, c.ListenAddrs()...)
	for i := range uint64(400) {
		want := 1
		if i >= 200 && i < 300 {
			want = 0
		}
		if seen[i] != want {
			t.Fatalf("click %d is there %d times", i, seen[i])
		}
	}
}

// A broker that was away is no other process with the name.
func TestATransactionThatTimedOutIsRepeated(t *testing.T) {
	c := cluster(t)
	j := open(t, t.TempDir())
	fenced := 0
	c.ControlKey(int16(kmsg.AddOffsetsToTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		// A session asks when it begins, and for each transaction.
		if fenced++; fenced%3 != 2 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
		resp.ErrorCode = kerr.InvalidProducerEpoch.Code
		return resp, nil, true
	})
	e := start(t, j, 10*time.Second, c.ListenAddrs()...)
	add(t, j, 0, 5000)
	facttest.Eventually(t, "they are sent", settled(j))
	e.stop()
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	exactly(t, delivered(t, c.ListenAddrs()...), 5000)
}

func TestCheckpointsAreReadAsWritten(t *testing.T) {
	want := journal.Checkpoint{Journal: [16]byte{1, 15: 0xff}, Next: 1 << 60, Produced: 12345}
	if got, ok := parseCheckpoint(int64(want.Next), formatCheckpoint(want)); !ok || got != want {
		t.Errorf("%+v %v", got, ok)
	}
	for _, bad := range []string{"", " ", "00 1", formatCheckpoint(want) + "x", "zz" + formatCheckpoint(want)[2:]} {
		if got, ok := parseCheckpoint(1, bad); ok {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
	if _, ok := parseCheckpoint(-1, formatCheckpoint(want)); ok {
		t.Error("no offset is one")
	}
}
