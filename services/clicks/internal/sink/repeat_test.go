package sink

import (
	"context"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/linkstream/linkstream/events"
)

// A killed server may remember a token in one table and have the rows in the others.
// The table that lacks them gets them, alone.
//
// Guards I36.
func TestTableThatLostABlock(t *testing.T) {
	for _, table := range []string{"clicks", "clicks_by_link", "clicks_by_value"} {
		t.Run(table, func(t *testing.T) {
			s := newSystem(t, 1)
			var inserts atomic.Int32
			s.start(&faulty{store: s.ch, after: func() error {
				if inserts.Add(1) != 2 {
					return nil
				}
				// What is in the newest part goes, receipt included, and its token stays.
				if err := s.ch.conn.Exec(t.Context(), "ALTER TABLE "+table+` DELETE WHERE _part = (SELECT name FROM system.parts
					WHERE database = currentDatabase() AND table = '`+table+`' AND active ORDER BY max_block_number DESC LIMIT 1)
					SETTINGS mutations_sync = 2`); err != nil {
					t.Error(err)
				}
				return errInjected
			}})
			s.produce(30)
			s.wantExactly(30)
			s.produce(20)
			s.wantExactly(50)
			s.produce(10)
			s.wantExactly(60)
		})
	}
}

// A view fails after the table of clicks has the block: the repeated insert, which
// that table drops, still reaches the rollup.
//
// Guards I36.
func TestViewThatFailedIsRepeated(t *testing.T) {
	s := newSystem(t, 1)
	exec := func(statement string) {
		t.Helper()
		if err := s.ch.conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("RENAME TABLE clicks_by_value TO hidden")
	i := s.start(nil)
	s.produce(40)
	s.eventually("the insert fails", func() bool { return i.consumer.Ready() != nil })
	exec("RENAME TABLE hidden TO clicks_by_value")
	s.wantExactly(40)
}

// The noted range holds offsets of aborted transactions and of the broker's own
// records; whoever redoes it finds the same clicks in it.
//
// Guards I37.
func TestNotedRangeWithAbortedTransactions(t *testing.T) {
	s := newSystem(t, 1)
	transact := func(committed, aborted int) {
		t.Helper()
		edge, err := kgo.NewClient(kgo.SeedBrokers(s.broker.ListenAddrs()...), kgo.TransactionalID("edge"))
		if err != nil {
			t.Fatal(err)
		}
		defer edge.Close()
		for range 10 {
			for _, commit := range []bool{true, false} {
				if err := edge.BeginTransaction(); err != nil {
					t.Fatal(err)
				}
				n := aborted
				if commit {
					n = committed
				}
				for range n {
					id := 1_000_000 + s.produced // aborted clicks have ids that no row may have
					if commit {
						id = s.produced
						s.produced++
					}
					if err := edge.ProduceSync(t.Context(), &kgo.Record{Topic: s.topic.Name, Value: click(id)}).FirstErr(); err != nil {
						t.Fatal(err)
					}
				}
				if err := edge.EndTransaction(t.Context(), kgo.TransactionEndTry(commit)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	transact(5, 3)
	s.refuseFinalCommits(true)
	first := s.start(nil, func(s *Settings) { s.MaxRows = 23 })
	s.eventually("its commit fails", func() bool {
		err := first.consumer.Ready()
		return err != nil && strings.Contains(err.Error(), "committing")
	})
	first.stop()
	_, note := s.offset(t.Context(), 0)
	n, err := s.topic.readNote(0, note)
	if err != nil || n == nil || n.to <= 23 {
		t.Fatalf("the note is %q (%v), want one of 23 clicks over more offsets", note, err)
	}

	s.refuseFinalCommits(false)
	transact(2, 7)
	second := s.start(nil, func(s *Settings) { s.MaxRows = 11 })
	s.eventually("all clicks are in the table", func() bool { return second.value("clicks_inserted_total") == 70 })
	if d := second.value("clicks_deduplicated_total"); d != 23 {
		t.Errorf("%d clicks deduplicated, want the 23 of the noted range", d)
	}
	rows, clicks, err := s.rows()
	if err != nil || rows != 70 || clicks != 70 {
		t.Errorf("%d rows of %d clicks (%v), want 70", rows, clicks, err)
	}
	if got := count(t, s.ch, "SELECT count() FROM clicks WHERE toUInt64(reinterpretAsUInt128(click_id)) >= 1000000"); got != 0 {
		t.Errorf("%d rows of aborted transactions", got)
	}
	s.wantRollups(70)
}

// A clock that is ahead is cut to when the range was noted, also by the one who redoes
// it later: it finds the rows that are there.
//
// Guards I38.
func TestClockAheadIsCutTheSameWayAgain(t *testing.T) {
	s := newSystem(t, 1)
	c := events.Click{TimeUnixMicro: time.Now().Add(48 * time.Hour).UnixMicro(), Host: "go.test", Status: 302, LinkID: [16]byte{1}}
	for i := range 10 {
		binary.BigEndian.PutUint64(c.ID[8:], uint64(i))
		s.write(&kgo.Record{Topic: s.topic.Name, Value: events.AppendClick(nil, &c)})
	}
	s.refuseFinalCommits(true)
	before := time.Now()
	first := s.start(nil, func(s *Settings) { s.MaxWait = time.Second })
	s.eventually("its commit fails", func() bool {
		err := first.consumer.Ready()
		return err != nil && strings.Contains(err.Error(), "committing")
	})
	first.stop()
	s.refuseFinalCommits(false)
	second := s.start(nil)
	s.wantExactly(10)
	if d := second.value("clicks_deduplicated_total"); d != 10 {
		t.Errorf("%d clicks deduplicated, want all 10", d)
	}
	var early, late time.Time
	var marked uint64
	err := s.ch.conn.QueryRow(t.Context(), "SELECT min(ts), max(ts), countIf(clock_ahead) FROM clicks").Scan(&early, &late, &marked)
	if err != nil || marked != 10 || early.Before(before.Truncate(time.Millisecond)) || late.After(time.Now()) {
		t.Errorf("from %v to %v, %d marked (%v); want all marked and between the start and now", early, late, marked, err)
	}
}

// Something removes rows as they come: after some attempts the partition goes on, and
// what was passed over is counted.
func TestRowsThatVanishAreCounted(t *testing.T) {
	s := newSystem(t, 1)
	i := s.start(&vanishing{store: s.ch})
	s.produce(10)
	s.eventually("they are counted", func() bool { return i.value("clicks_vanished_total") == 10 })
	if n := i.value("clicks_inserted_total"); n != 0 {
		t.Errorf("%d clicks counted as inserted", n)
	}
	s.eventually("the offsets are committed", s.committed)
}

// vanishing fails once, so that rows are looked for, and has none of them.
type vanishing struct {
	store
	failed atomic.Bool
}

func (v *vanishing) insert(context.Context, string, *columns) error {
	if v.failed.CompareAndSwap(false, true) {
		return errInjected
	}
	return nil
}

func (v *vanishing) missing(_ context.Context, rows *columns) (*columns, error) { return rows, nil }

func (v *vanishing) lacking(context.Context, rollup, string, int64, *columns) (*columns, error) {
	return &columns{}, nil
}
