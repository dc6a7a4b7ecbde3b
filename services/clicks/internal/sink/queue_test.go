package sink

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func records(offsets ...int64) []*kgo.Record {
	var out []*kgo.Record
	for _, o := range offsets {
		out = append(out, &kgo.Record{Offset: o, Value: make([]byte, 10)})
	}
	return out
}

func TestQueueCutsRanges(t *testing.T) {
	now := time.Unix(1000, 0)
	type want struct {
		span
		records int
		ok      bool
	}
	none := want{}
	check := func(what string, q *queue, at time.Time, w want) {
		t.Helper()
		var b batch
		_, ok := q.ready(at)
		if ok {
			b, ok = q.take(at)
		}
		if ok != w.ok || b.span != w.span || len(b.records) != w.records {
			t.Errorf("%s: got %v with %d records (%v), want %v", what, b.span, len(b.records), ok, w)
		}
	}
	fresh := func(committed int64, redo *noted) *queue {
		return newQueue(limits{rows: 3, bytes: 1 << 20, wait: time.Second}, committed, redo, func() {}, func() {})
	}

	q := fresh(-1, nil)
	check("nothing there", q, now, none)
	q.offer(records(5, 6), now)
	check("too early", q, now.Add(999*time.Millisecond), none)
	check("waited long enough", q, now.Add(time.Second), want{span{5, 7}, 2, true})
	q.offer(records(9, 10, 11, 12), now)
	check("full; offsets 7 and 8 are the broker's own", q, now, want{span{7, 12}, 3, true})
	check("the rest waits from then on", q, now.Add(999*time.Millisecond), none)
	check("the rest", q, now.Add(time.Second), want{span{12, 13}, 1, true})

	q = newQueue(limits{rows: 100, bytes: 2 * (10 + recordOverhead), wait: time.Second}, 0, nil, func() {}, func() {})
	q.offer(records(0, 1, 2), now)
	check("full by size", q, now, want{span{0, 2}, 2, true})

	q = fresh(100, &noted{span: span{100, 110}})
	q.offer(records(100, 101, 102, 103, 104), now)
	check("a noted range is not cut by size", q, now.Add(time.Hour), none)
	q.offer(records(105, 109, 110), now)
	check("the noted range exactly", q, now, want{span{100, 110}, 7, true})
	check("then as usual", q, now.Add(time.Second), want{span{110, 111}, 1, true})

	q = fresh(100, &noted{span: span{100, 110}})
	q.offer(records(107, 115), now)
	check("retention took the beginning and the end", q, now, want{span{100, 110}, 1, true})

	q = fresh(100, &noted{span: span{100, 110}})
	q.offer(records(120), now)
	check("retention took all of it", q, now, want{span{100, 110}, 0, true})

	q = fresh(100, &noted{span: span{100, 110}})
	q.offer(records(3, 4, 5), now)
	check("the broker lost its log: the note means nothing", q, now, want{span{3, 6}, 3, true})

	q = fresh(0, nil)
	q.offer(records(50, 51), now)
	q.offer(records(50, 52), now)
	check("the broker lost its end: what was queued comes again", q, now.Add(time.Second), want{span{0, 53}, 2, true})
}

func TestQueuePausesWhenFull(t *testing.T) {
	paused := 0
	q := newQueue(limits{rows: 3, bytes: 1 << 20, wait: time.Second}, -1, nil, func() { paused++ }, func() { paused-- })
	now := time.Unix(1000, 0)
	step := func(what string, want int) {
		t.Helper()
		if paused != want {
			t.Errorf("%s: paused is %d, want %d", what, paused, want)
		}
	}
	q.offer(records(0, 1), now)
	step("room left", 0)
	q.offer(records(2, 3), now)
	step("full", 1)
	q.offer(records(4, 5), now)
	step("full still", 1)
	q.take(now)
	step("another batch is waiting", 1)
	q.take(now)
	step("taken", 0)
	q.offer(records(6, 7, 8), now)
	q.close()
	step("closed: a pause would outlive the assignment", 0)
	q.offer(records(9, 10, 11), now)
	step("closed for good", 0)

	redo := newQueue(limits{rows: 3, bytes: 1 << 20, wait: time.Second}, 0, &noted{span: span{0, 10}}, func() { paused++ }, func() { paused-- })
	redo.offer(records(0, 1, 2, 3, 4, 5, 6, 7), now)
	step("a noted range must come in whole", 0)
	redo.offer(records(8, 9, 10, 11, 12), now)
	step("it has", 1)
}

func TestNotes(t *testing.T) {
	topic := Topic{Name: "linkstream.clicks.v1", ID: [16]byte{0xab, 15: 0x01}}
	other := Topic{Name: topic.Name, ID: [16]byte{0xcd}}
	const id = "ab000000000000000000000000000001"
	at := time.UnixMilli(1796025600123)
	five := noted{span{5, 9}, at}
	if got, want := topic.note(five), "insert-2 "+id+" 9 1796025600123"; got != want {
		t.Errorf("the note is %q, want %q: a running release reads it", got, want)
	}
	if got, want := topic.token(3, span{5, 9}), "linkstream.clicks.v1/"+id+"/3/5-9"; got != want {
		t.Errorf("the token is %q, want %q: the tables remember it, and their views read it", got, want)
	}
	check := func(committed int64, metadata string, want *noted, wantErr bool) {
		t.Helper()
		got, err := topic.readNote(committed, metadata)
		if (err != nil) != wantErr || (got == nil) != (want == nil) || got != nil && (got.span != want.span || !got.at.Equal(want.at)) {
			t.Errorf("readNote(%d, %q) = %v, %v; want %v", committed, metadata, got, err, want)
		}
	}
	check(5, topic.note(five), &five, false)
	check(5, "insert-1 "+id+" 9", &noted{span{5, 9}, time.UnixMilli(maxTimeUnixMilli)}, false) // the release before
	check(-1, "", nil, false)
	check(5, "", nil, false)
	check(5, "clicks-4a1c-member-id", nil, false)
	check(-1, topic.note(five), nil, false)
	check(9, topic.note(five), nil, true)
	check(5, "insert-2 "+id+" x 1796025600123", nil, true)
	check(5, "insert-2 "+id+" 9 x", nil, true)
	check(5, "insert-2 "+id+" 9", nil, true)
	check(5, "insert-1 "+id, nil, true)
	check(5, "insert-3 "+id+" 9 1796025600123", nil, true)
	if _, err := topic.readNote(5, other.note(five)); !errors.Is(err, errForeignNote) {
		t.Errorf("a note of another topic gives %v", err)
	}
}

// Whatever the group's metadata holds, it is refused, passed over, or a range that
// begins at the committed offset.
func FuzzReadNote(f *testing.F) {
	topic := Topic{Name: "linkstream.clicks.v1", ID: [16]byte{0xab}}
	f.Add(int64(5), topic.note(noted{span{5, 9}, time.UnixMilli(1)}))
	f.Add(int64(5), "insert-1 ab000000000000000000000000000000 9")
	f.Add(int64(-1), "member-id")
	f.Fuzz(func(t *testing.T, committed int64, metadata string) {
		n, err := topic.readNote(committed, metadata)
		if err == nil && n != nil && (n.from != committed || n.to <= n.from) {
			t.Errorf("readNote(%d, %q) = %v", committed, metadata, n)
		}
	})
}
