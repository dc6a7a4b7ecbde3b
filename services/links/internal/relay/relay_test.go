package relay

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"google.golang.org/protobuf/proto"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/links/internal/changelog"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

func TestEveryChangeOfALinkArrivesInOrder(t *testing.T) {
	w := newWorld(t)
	r := w.relay(t)
	start(t, r)
	l := w.create(t, "a")
	w.rename(t, l, "b")
	w.rename(t, l, "c")
	w.remove(t, l)
	records := w.read(t, 5)
	want := []string{"a v1 created", "b v2 updated", "c v3 updated", "c v4 deleted", "tombstone"}
	if got := describe(t, records); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, record := range records {
		if !bytes.Equal(record.Key, l.ID.UUID[:]) {
			t.Errorf("key is %x, want the link's id", record.Key)
		}
	}
	ev, err := events.DecodeLinkChanged(records[1])
	if err != nil || ev.GetPreviousAddress().GetSlugKey() != "a" || ev.GetAddress().GetSlugKey() != "b" {
		t.Errorf("the move says %v, %v", ev, err)
	}
	if got := header(records[0], "ce_type"); got != "linkstream.link.created" {
		t.Errorf("ce_type is %q", got)
	}
	facttest.Eventually(t, "the outbox is empty", func() bool { return w.rows(t) == 0 })
	facttest.Eventually(t, "outbox_published_total is 5", func() bool { return testutil.ToFloat64(r.published) == 5 })
}

func TestManyLinksKeepTheirOrder(t *testing.T) {
	w := newWorld(t)
	for i := range 60 {
		l := w.create(t, fmt.Sprintf("s%d", i))
		for j := range 20 {
			w.rename(t, l, fmt.Sprintf("s%d-%d", i, j))
		}
	}
	start(t, w.relay(t)) // 1,260 rows: more than a batch
	last := map[string]uint64{}
	for _, record := range w.read(t, 60*21) {
		ev, err := events.DecodeLinkChanged(record)
		if err != nil {
			t.Fatal(err)
		}
		if ev.GetVersion() != last[string(record.Key)]+1 {
			t.Fatalf("version %d follows %d", ev.GetVersion(), last[string(record.Key)])
		}
		last[string(record.Key)] = ev.GetVersion()
	}
}

// The reason why the relay deletes rows instead of remembering the last id.
//
// Guards I3.
func TestATransactionThatCommitsLateIsNotSkipped(t *testing.T) {
	w := newWorld(t)
	start(t, w.relay(t))
	early, err := w.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := insert(t, func(statement string, args ...any) {
		if _, err := early.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}, "early")
	w.create(t, "later")
	if got := describe(t, w.read(t, 1)); got[0] != "later v1 created" {
		t.Fatalf("got %q", got)
	}
	if err := early.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.read(t, 1); !bytes.Equal(got[0].Key, first) {
		t.Errorf("got %q", describe(t, got))
	}
}

func TestANotificationWakesTheRelay(t *testing.T) {
	w := newWorld(t)
	r := w.relay(t)
	start(t, r)
	w.create(t, "first")
	w.read(t, 1)
	const edits = 20
	var took []time.Duration
	for i := range edits {
		begin := time.Now()
		w.create(t, fmt.Sprintf("s%d", i))
		w.read(t, 1)
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("create to consumed: median %v, slowest %v", took[edits/2], took[edits-1])
	// By polling alone the median would be half a second.
	if took[edits/2] > pollEvery/4 {
		t.Errorf("create to consumed: median %v", took[edits/2])
	}
}

// Guards I4.
func TestOneRelayAtATime(t *testing.T) {
	w := newWorld(t)
	first, second := w.relay(t), w.relay(t)
	stopFirst := start(t, first)
	facttest.Eventually(t, "the first publishes", func() bool { return testutil.ToFloat64(first.active) == 1 })
	start(t, second)
	for i := range 30 {
		w.create(t, fmt.Sprintf("s%d", i))
	}
	w.read(t, 30)
	w.none(t)
	if got := testutil.ToFloat64(second.active); got != 0 {
		t.Error("two are active")
	}
	stopFirst()
	w.create(t, "after")
	if got := describe(t, w.read(t, 1)); got[0] != "after v1 created" || testutil.ToFloat64(second.active) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestARelayThatLosesItsConnectionStartsAgain(t *testing.T) {
	w := newWorld(t)
	r := w.relay(t)
	start(t, r)
	facttest.Eventually(t, "it publishes", func() bool { return testutil.ToFloat64(r.active) == 1 })
	w.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = $1`, postgres.LockSpace)
	w.create(t, "a")
	if got := describe(t, w.read(t, 1)); got[0] != "a v1 created" {
		t.Errorf("got %q", got)
	}
	if got := testutil.ToFloat64(r.errors.WithLabelValues(reasonSession)); got < 1 {
		t.Error("the lost session was not counted")
	}
}

// As if the process had been killed between the broker's answer and the delete.
func TestWhatIsPublishedTwiceHasTheSameID(t *testing.T) {
	w := newWorld(t)
	w.exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`)
	w.exec(t, `CREATE TRIGGER refuse BEFORE DELETE ON outbox FOR EACH STATEMENT EXECUTE FUNCTION refuse()`)
	l := w.create(t, "a")
	w.rename(t, l, "b")
	start(t, w.relay(t))
	records := w.read(t, 4)
	want := []string{"a v1 created", "b v2 updated", "a v1 created", "b v2 updated"}
	if got := describe(t, records); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if header(records[0], "ce_id") != header(records[2], "ce_id") || header(records[0], "ce_id") == header(records[1], "ce_id") {
		t.Error("ce_id does not tell a repetition from another change")
	}
	w.exec(t, `DROP TRIGGER refuse ON outbox`)
	facttest.Eventually(t, "the outbox is empty", func() bool { return w.rows(t) == 0 })
}

func TestABrokerThatIsAwayEndsTheBatchAndLosesNothing(t *testing.T) {
	w := newWorld(t)
	var away atomic.Bool
	away.Store(true)
	w.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		return nil, errors.New("away"), away.Load()
	})
	r := w.relay(t)
	r.timeout = 300 * time.Millisecond
	start(t, r)
	w.create(t, "a")
	facttest.Eventually(t, "two sessions ended", func() bool { return testutil.ToFloat64(r.errors.WithLabelValues(reasonSession)) >= 2 })
	facttest.Eventually(t, "one row is pending", func() bool { return testutil.ToFloat64(r.pending) == 1 })
	away.Store(false)
	if got := describe(t, w.read(t, 1)); got[0] != "a v1 created" {
		t.Errorf("got %q", got)
	}
	facttest.Eventually(t, "nothing is pending", func() bool { return testutil.ToFloat64(r.pending) == 0 })
}

func TestARowThatIsNoChangeStopsItsLinkOnly(t *testing.T) {
	w := newWorld(t)
	bad := uuid.New()
	w.exec(t, `INSERT INTO outbox (link_id, payload, publish_after) VALUES ($1, 'nonsense', '-infinity')`, bad)
	w.exec(t, `INSERT INTO outbox (link_id, payload, publish_after) VALUES ($1, $2, '-infinity')`, bad, encode(t, bad, "behind"))
	w.create(t, "a")
	r := w.relay(t)
	start(t, r)
	if got := describe(t, w.read(t, 1)); got[0] != "a v1 created" {
		t.Errorf("got %q", got)
	}
	w.none(t)
	w.create(t, "b")
	w.read(t, 1)
	facttest.Eventually(t, "two rows are pending", func() bool { return testutil.ToFloat64(r.pending) == 2 })
	if got := testutil.ToFloat64(r.errors.WithLabelValues(reasonUndecodable)); got != 1 {
		t.Errorf("counted %v times", got)
	}
}

func TestATombstoneWaitsForItsTime(t *testing.T) {
	w := newWorld(t)
	id := uuid.New()
	w.exec(t, `INSERT INTO outbox (link_id, publish_after) VALUES ($1, clock_timestamp() + interval '2 seconds')`, id)
	start(t, w.relay(t))
	w.none(t)
	if got := w.read(t, 1); got[0].Value != nil || !bytes.Equal(got[0].Key, id[:]) {
		t.Errorf("got %v", got[0])
	}
}

func TestStoppingPublishesWhatIsDue(t *testing.T) {
	w := newWorld(t)
	r := w.relay(t)
	stop := start(t, r)
	facttest.Eventually(t, "it publishes", func() bool { return testutil.ToFloat64(r.active) == 1 })
	for i := range 20 {
		w.create(t, fmt.Sprintf("s%d", i))
	}
	stop()
	if n := w.rows(t); n != 0 {
		t.Errorf("%d rows were left", n)
	}
	w.read(t, 20)
}

func TestAMissingTopicIsNotPublishedTo(t *testing.T) {
	w := newWorld(t)
	w.create(t, "a")
	r := w.relay(t)
	r.prefix = "other."
	start(t, r)
	facttest.Eventually(t, "the session ended", func() bool { return testutil.ToFloat64(r.errors.WithLabelValues(reasonSession)) >= 1 })
	if w.rows(t) != 1 {
		t.Error("the row is gone")
	}
}

// Guards I3.
func TestNothingBehindAFailedRecordIsDeleted(t *testing.T) {
	w := newWorld(t)
	r := w.relay(t)
	x, y, z := [16]byte{1}, [16]byte{2}, [16]byte{3}
	a, b, c, d, e, f := [16]byte{4}, [16]byte{5}, [16]byte{6}, [16]byte{7}, [16]byte{8}, [16]byte{9}
	gone := errors.New("gone")
	p := &publisher{relay: r, blocked: map[[16]byte]bool{}}
	line := func(id int64, err error, links ...[16]byte) *row {
		r := &row{id: id, link: links[0], changes: len(links)}
		for _, l := range links {
			r.records = append(r.records, &record{link: l})
		}
		r.records[len(links)-1].err = err
		return r
	}
	done, records, err := p.outcome(t.Context(), []*row{
		line(1, nil, x), line(2, gone, x), line(3, nil, y), line(4, nil, x), line(5, kerr.MessageTooLarge, z), line(6, nil, y), line(7, nil, z),
		line(8, nil, a, b), line(9, nil, b), line(10, gone, c, d), line(11, nil, c), line(12, kerr.MessageTooLarge, e, f), line(13, nil, e), line(14, nil, a, e),
	})
	if !slices.Equal(done, []int64{1, 3, 6, 8, 9}) || records != 6 || !errors.Is(err, gone) {
		t.Errorf("got %v with %d records, %v", done, records, err)
	}
	if want := map[[16]byte]bool{z: true, e: true, f: true}; !maps.Equal(p.blocked, want) {
		t.Errorf("blocked are %v, want %v", p.blocked, want)
	}
}

// A row of many is published in its order, and one that is not what it says is left.
//
// Guards I3, I59.
func TestARowOfManyLinksIsPublishedAsAWhole(t *testing.T) {
	w := newWorld(t)
	var packed []byte
	var ids []uuid.UUID
	for i := range 3 {
		id := uuid.New()
		ev := &eventspb.LinkChanged{}
		if err := proto.Unmarshal(encode(t, id, fmt.Sprintf("many%d", i)), ev); err != nil {
			t.Fatal(err)
		}
		var err error
		if packed, err = changelog.Append(packed, ev); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	row := `INSERT INTO outbox (link_id, changes, payload, publish_after) VALUES ($1, $2, $3, '-infinity')`
	bad := uuid.New()
	w.exec(t, row, bad, 4, packed)
	w.exec(t, row, bad, 2, packed[:len(packed)/2])
	w.exec(t, row, ids[0], 3, packed)
	w.exec(t, `INSERT INTO outbox (link_id, payload, publish_after) VALUES ($1, $2, '-infinity')`, ids[1], encode(t, ids[1], "then"))
	r := w.relay(t)
	start(t, r)
	got := map[string]bool{}
	for _, d := range describe(t, w.read(t, 4)) {
		got[d] = true
	}
	for _, want := range []string{"many0 v1 created", "many1 v1 created", "many2 v1 created", "then v1 created"} {
		if !got[want] {
			t.Errorf("got %v, which lacks %q", got, want)
		}
	}
	w.none(t)
	facttest.Eventually(t, "six records are pending", func() bool { return testutil.ToFloat64(r.pending) == 6 })
	if n := testutil.ToFloat64(r.published); n != 4 {
		t.Errorf("%v records count as published", n)
	}
}
