package sink

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

func TestThousandClicksAreThousandRows(t *testing.T) {
	s := newSystem(t, 3)
	s.produce(1000)
	i := s.start(nil)
	s.wantExactly(1000)
	s.eventually("all are counted", func() bool { return i.value("clicks_inserted_total") == 1000 })
	if d := i.value("clicks_deduplicated_total"); d != 0 {
		t.Errorf("%d clicks deduplicated, want 0", d)
	}
	if err := i.consumer.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// The heart of it: the process ends between the insert and the commit. The next
// one finds the note and inserts the same range with the same token, although
// its own batches would be cut differently and more records have come.
//
// Guards I15.
func TestKilledBetweenInsertAndCommit(t *testing.T) {
	s := newSystem(t, 1)
	s.produce(250)
	var inserted atomic.Int32
	s.refuseFinalCommits(true)
	first := s.start(&faulty{store: s.ch, after: func() error { inserted.Add(1); return nil }})
	s.eventually("a range is inserted", func() bool { return inserted.Load() == 1 })
	s.eventually("its commit fails", func() bool {
		err := first.consumer.Ready()
		return err != nil && strings.Contains(err.Error(), "committing")
	})
	first.stop()
	_, note := s.offset(t.Context(), 0)
	if n, err := s.topic.readNote(0, note); err != nil || n == nil || n.span != (span{0, 100}) {
		t.Fatalf("the group's metadata is %q after the crash, want the note of 0-100", note)
	}
	if n := first.value("clicks_inserted_total"); n != 0 {
		t.Errorf("%d clicks counted as inserted without commit", n)
	}

	s.refuseFinalCommits(false)
	s.produce(250)
	second := s.start(nil, func(s *Settings) { s.MaxRows = 33 })
	s.wantExactly(500)
	s.eventually("all are counted", func() bool { return second.value("clicks_inserted_total") == 500 })
	if d := second.value("clicks_deduplicated_total"); d != 100 {
		t.Errorf("%d clicks deduplicated, want the 100 of the noted range", d)
	}
}

// The process ends between the note and the insert: nothing is there yet, and
// the noted range is inserted by the next owner.
//
// Guards I15.
func TestKilledBetweenNoteAndInsert(t *testing.T) {
	s := newSystem(t, 1)
	s.produce(50)
	first := s.start(&faulty{store: s.ch, before: func() error { return errInjected }})
	s.eventually("the insert fails", func() bool { return first.consumer.Ready() != nil })
	first.stop()
	s.produce(50)
	second := s.start(nil)
	s.wantExactly(100)
	if d := second.value("clicks_deduplicated_total"); d != 0 {
		t.Errorf("%d clicks deduplicated, want 0", d)
	}
}

// The answer to an insert is lost: it is repeated, and counts once.
//
// Guards I15.
func TestInsertWithUnknownOutcomeIsRepeated(t *testing.T) {
	s := newSystem(t, 2)
	var n atomic.Int32
	i := s.start(&faulty{store: s.ch, after: func() error {
		if n.Add(1)%2 == 1 {
			return errInjected // the rows are in the table, the caller does not know
		}
		return nil
	}})
	s.produce(600)
	s.wantExactly(600)
	s.eventually("all are counted", func() bool { return i.value("clicks_inserted_total") == 600 })
	if d := i.value("clicks_deduplicated_total"); d == 0 {
		t.Error("no click counted as deduplicated")
	}
}

// ClickHouse was killed after it wrote down the token and before it had the rows:
// it says that it has what it has not. The rows are inserted under the next token,
// also when the process is killed then too.
//
// Guards I15.
func TestTokenThatOutlivedItsRows(t *testing.T) {
	s := newSystem(t, 1)
	s.produce(50)
	var lost atomic.Int32
	lose := &faulty{store: s.ch, after: func() error {
		if lost.Add(1) > 2 {
			return nil
		}
		if err := s.ch.conn.Exec(t.Context(), "ALTER TABLE clicks DELETE WHERE 1 SETTINGS mutations_sync = 2"); err != nil {
			t.Error(err)
		}
		return errInjected
	}}
	s.start(lose)
	s.wantExactly(50)
	s.produce(50)
	s.wantExactly(100)
	if n := lost.Load(); n < 3 {
		t.Errorf("%d inserts, want more: two lost their rows", n)
	}
}

// Members come and go while clicks flow; no range is lost or cut differently.
//
// Guards I15.
func TestRebalanceKeepsEveryClickOnce(t *testing.T) {
	s := newSystem(t, 6)
	a := s.start(nil, func(s *Settings) { s.MaxRows = 17 })
	s.produce(500)
	b := s.start(nil, func(s *Settings) { s.MaxRows = 29 })
	for range 5 {
		s.produce(200)
	}
	s.eventually("the second member works", func() bool { return b.value("clicks_inserted_total") > 0 })
	a.stop()
	s.produce(500)
	c := s.start(nil, func(s *Settings) { s.MaxRows = 41 })
	s.produce(500)
	s.wantExactly(2500)
	s.eventually("the members' counts add up", func() bool {
		return a.value("clicks_inserted_total")+b.value("clicks_inserted_total")+c.value("clicks_inserted_total") == 2500
	})
}

// A member that hangs loses its partitions to another one, which redoes its
// noted range; when it wakes its insert and its commit come too late to count.
func TestZombieInsertCountsOnce(t *testing.T) {
	s := newSystem(t, 1)
	s.produce(80)
	hang, inserting := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	zombie := s.start(&faulty{store: s.ch, before: func() error {
		if once.CompareAndSwap(false, true) {
			close(inserting)
			<-hang
		}
		return nil
	}})
	<-inserting
	// The broker forgets the member, as it does when heartbeats stay away.
	req := kmsg.NewLeaveGroupRequest()
	req.Group = Group
	id, _ := zombie.consumer.client.GroupMetadata()
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = id
	req.Members = append(req.Members, member)
	req.MemberID = id
	if _, err := req.RequestWith(t.Context(), s.producer); err != nil {
		t.Fatal(err)
	}
	s.start(nil)
	close(hang)
	s.wantExactly(80)
	s.produce(20)
	s.wantExactly(100)
}

// A killed ingester that starts again under its name does not wait for its own
// session to end, and the one that is still there finds out.
func TestNamedIngesterTakesItsPlaceBack(t *testing.T) {
	s := newSystem(t, 3)
	named := func(s *Settings) { s.Instance = "one" }
	hang := make(chan struct{})
	settings := s.settings(named)
	dead := s.consumer(&faulty{store: s.ch, before: func() error { <-hang; return errInjected }}, settings)
	stopped := make(chan error, 1)
	go func() { stopped <- dead.Run(t.Context()) }()
	s.produce(300)
	s.eventually("a range is noted", func() bool { _, note := s.offset(t.Context(), 0); return note != "" })
	began := time.Now()
	s.start(nil, named)
	close(hang)
	s.wantExactly(300)
	if took := time.Since(began); took > sessionTimeout/2 {
		t.Errorf("it took %v", took)
	}
	if err := <-stopped; !errors.Is(err, kerr.FencedInstanceID) {
		t.Errorf("the one that lost its name ended with %v", err)
	}
}

// What an edge did not commit is not there; the broker's own records leave gaps
// between the offsets.
func TestAbortedTransactionsDoNotCount(t *testing.T) {
	s := newSystem(t, 1)
	edge, err := kgo.NewClient(kgo.SeedBrokers(s.broker.ListenAddrs()...), kgo.TransactionalID("edge"))
	if err != nil {
		t.Fatal(err)
	}
	defer edge.Close()
	for i := range 10 {
		if err := edge.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			if err := edge.ProduceSync(t.Context(), &kgo.Record{Topic: s.topic.Name, Value: click(i*10 + n)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := edge.EndTransaction(t.Context(), kgo.TransactionEndTry(i%2 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	s.produced = 1000
	s.produce(7)
	s.start(nil, func(s *Settings) { s.MaxRows = 13 })
	s.wantExactly(57)
}

// Guards I16.
func TestPoisonRecordGoesToTheDeadTopic(t *testing.T) {
	s := newSystem(t, 1)
	s.produce(10)
	poison := []byte("\xff\xff not a click")
	s.write(&kgo.Record{Topic: s.topic.Name, Key: []byte("k"), Value: poison}, &kgo.Record{Topic: s.topic.Name})
	s.produce(10)
	i := s.start(nil)
	s.wantExactly(20)
	s.eventually("two dead records are counted", func() bool { return i.value("clicks_dead_total") == 2 })

	dead, err := kgo.NewClient(kgo.SeedBrokers(s.broker.ListenAddrs()...), kgo.ConsumeTopics(events.DeadClicks.Name("")))
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	var records []*kgo.Record
	for len(records) < 2 {
		fetches := dead.PollFetches(t.Context())
		records = append(records, fetches.Records()...)
	}
	headers := map[string]string{}
	for _, h := range records[0].Headers {
		headers[h.Key] = string(h.Value)
	}
	if string(records[0].Value) != string(poison) || string(records[0].Key) != "k" {
		t.Errorf("the dead record is %q=%q, want the one that was read", records[0].Key, records[0].Value)
	}
	if headers["source_topic"] != s.topic.Name || headers["source_partition"] != "0" || headers["source_offset"] != "10" || headers["error"] == "" {
		t.Errorf("the dead record's headers are %v", headers)
	}
}

// ClickHouse is killed while clicks flow. The ingester waits, says so, and
// catches up without being restarted.
func TestClickHouseKilledInTheMiddle(t *testing.T) {
	s := newSystem(t, 3)
	i := s.start(nil, func(s *Settings) { s.MaxRows = 20 })
	s.produce(300)
	s.eventually("some are in", func() bool { return i.value("clicks_inserted_total") > 0 })
	clickhousetest.Kill()
	s.produce(700)
	s.eventually("the readiness check names the trouble", func() bool {
		err := i.consumer.Ready()
		return err != nil && strings.Contains(err.Error(), "inserting")
	})
	clickhousetest.Restart(t)
	s.wantExactly(1000)
	s.eventually("it is ready again", func() bool { return i.consumer.Ready() == nil })
}

// With the store away memory is bounded: the queue holds about one batch and the
// fetching pauses. Told to stop then, the ingester stops.
func TestStopsWhileFull(t *testing.T) {
	s := newSystem(t, 1)
	s.produce(5000)
	block := make(chan struct{})
	i := s.start(&faulty{store: s.ch, before: func() error { <-block; return errInjected }},
		func(s *Settings) { s.MaxRows, s.Drain = 10, 100*time.Millisecond })
	s.eventually("the fetching is paused", func() bool {
		return len(i.consumer.client.PauseFetchPartitions(nil)[s.topic.Name]) == 1
	})
	close(block)
	i.stop()
	s.start(nil, func(s *Settings) { s.MaxRows = 1000 })
	s.wantExactly(5000)
}

// Commits that the broker refuses for a while only delay.
func TestCommitsFailForAWhile(t *testing.T) {
	s := newSystem(t, 2)
	s.refuseFinalCommits(true)
	i := s.start(nil)
	s.produce(200)
	s.eventually("a commit fails", func() bool {
		err := i.consumer.Ready()
		return err != nil && strings.Contains(err.Error(), "committing")
	})
	s.refuseFinalCommits(false)
	s.wantExactly(200)
	if d := i.value("clicks_deduplicated_total"); d != 0 {
		t.Errorf("%d clicks deduplicated, want 0", d)
	}
}

// refuseFinalCommits makes the broker refuse commits that carry no note.
func (s *system) refuseFinalCommits(refuse bool) {
	s.refusing.Store(refuse)
	s.broker.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if !s.refusing.Load() {
			return nil, nil, false
		}
		s.broker.KeepControl()
		req, ok := r.(*kmsg.OffsetCommitRequest)
		if !ok {
			return nil, errors.New("not a commit"), true
		}
		resp, _ := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range req.Topics {
			topic := kmsg.NewOffsetCommitResponseTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				if p.Metadata != nil && strings.HasPrefix(*p.Metadata, notePrefix) {
					return nil, nil, false
				}
				partition := kmsg.NewOffsetCommitResponseTopicPartition()
				partition.Partition, partition.ErrorCode = p.Partition, kerr.UnknownServerError.Code
				topic.Partitions = append(topic.Partitions, partition)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
}

func TestLaneStopsWhenCutOff(t *testing.T) {
	s := newSystem(t, 1)
	s.produce(5)
	i := s.start(&hanging{store: s.ch}, func(s *Settings) { s.Drain = 50 * time.Millisecond })
	s.eventually("the insert hangs", func() bool {
		_, note := s.offset(t.Context(), 0)
		return note != ""
	})
	stopped := make(chan struct{})
	go func() { i.stop(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("a hanging insert keeps the process alive")
	}
}

// hanging never answers, as a server behind a broken network does.
type hanging struct{ store }

func (h *hanging) insert(ctx context.Context, _ string, _ *columns) error {
	<-ctx.Done()
	return ctx.Err()
}
