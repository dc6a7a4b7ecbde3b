package sink

import (
	"encoding/binary"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/clickhousetest"
	"github.com/linkstream/linkstream/services/internal/enrich"
)

func newClickHouse(t *testing.T) *ClickHouse {
	t.Helper()
	ch, err := OpenClickHouse(clickhousetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ch.Close() })
	return ch
}

func count(t *testing.T, ch *ClickHouse, query string) uint64 {
	t.Helper()
	var n uint64
	if err := ch.conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func someRows(n int, times ...time.Time) *columns {
	rows := &columns{}
	for i := range n {
		row := enrich.Row{TimeUnixMilli: times[i%len(times)].UnixMilli(), Host: "go.test", Slug: "launch", Status: 302}
		binary.BigEndian.PutUint64(row.ClickID[8:], uint64(i))
		rows.append(&row)
	}
	return rows
}

// An insert larger than any of the server's default block sizes is still one
// block (a part for each month), and the same token again adds nothing.
func TestOneInsertIsOneBlock(t *testing.T) {
	ch := newClickHouse(t)
	rows := someRows(150_000, time.Date(2026, 10, 31, 23, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 1, 0, 0, 0, time.UTC))
	wantMissing := func(want int) {
		t.Helper()
		missing, err := ch.missing(t.Context(), rows)
		if err != nil || missing.len() != want {
			t.Fatalf("%d rows missing (%v), want %d", missing.len(), err, want)
		}
	}
	wantMissing(150_000)
	for range 2 {
		if err := ch.insert(t.Context(), "token", rows); err != nil {
			t.Fatal(err)
		}
		if n := count(t, ch, "SELECT count() FROM clicks"); n != 150_000 {
			t.Errorf("%d rows, want 150000", n)
		}
	}
	if n := count(t, ch, "SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = 'clicks' AND level = 0"); n != 2 {
		t.Errorf("%d parts written, want one a month", n)
	}
	wantMissing(0)
	if err := ch.insert(t.Context(), "another token", rows); err != nil {
		t.Fatal(err)
	}
	if n := count(t, ch, "SELECT count() FROM clicks"); n != 300_000 {
		t.Errorf("%d rows after another token, want 300000: equal rows are no duplicates", n)
	}
	if err := ch.conn.Exec(t.Context(), "ALTER TABLE clicks DROP PARTITION 202610"); err != nil {
		t.Fatal(err)
	}
	wantMissing(75_000)
}

// What was inserted under a token before a restart and is inserted again after it is
// recognised by every table, the first restart after the migrations included: a view
// whose query a migration has changed gives its blocks other ids until it is loaded again.
//
// Guards I36.
func TestTokensAreTheSameAfterARestart(t *testing.T) {
	ch := newClickHouse(t)
	rows := someRows(40, time.Date(2026, 11, 1, 1, 0, 0, 0, time.UTC))
	clicks := func() (sums []uint64) {
		for _, r := range rollups() {
			sums = append(sums, count(t, ch, "SELECT toUInt64(sum(clicks)) FROM "+r.table))
		}
		return sums
	}
	insertAll := func() {
		t.Helper()
		if err := ch.insert(t.Context(), "topic/id/0/1-41", rows); err != nil {
			t.Fatal(err)
		}
		for _, r := range rollups() {
			if err := ch.repair(t.Context(), r, "topic/id/0/41-81", rows); err != nil {
				t.Fatal(err)
			}
		}
	}
	insertAll()
	before := clicks()
	clickhousetest.Kill()
	clickhousetest.Restart(t)
	insertAll()
	if after := clicks(); !slices.Equal(before, after) || slices.Contains(before, 0) {
		t.Errorf("the rollups hold %d clicks before the restart and %d after the same inserts", before, after)
	}
}

// A hundred broken clocks in one batch do not stop it.
func TestAnyNumberOfMonthsInOneInsert(t *testing.T) {
	ch := newClickHouse(t)
	var times []time.Time
	for i := range 150 {
		times = append(times, time.Date(2010, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC))
	}
	if err := ch.insert(t.Context(), "token", someRows(150, times...)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, ch, "SELECT count() FROM clicks"); n != 150 {
		t.Errorf("%d rows, want 150", n)
	}
}

func TestColumnsAreThoseOfTheTable(t *testing.T) {
	ch := newClickHouse(t)
	rows, err := ch.conn.Query(t.Context(), "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = 'clicks' ORDER BY position")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	list := (&columns{}).list()
	n := 0
	for ; rows.Next(); n++ {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			t.Fatal(err)
		}
		if kind == "LowCardinality(String)" {
			kind = "String" // see columns.list
		}
		if n >= len(list) || list[n].Name != name || list[n].Type != kind {
			t.Errorf("column %d of the table is %s %s, which the insert does not have there", n, name, kind)
		}
	}
	if rows.Err() != nil || n != len(list) {
		t.Errorf("the table has %d columns (%v), the insert %d", n, rows.Err(), len(list))
	}
}

func TestVisitorKeyIsFirstComeFirstServed(t *testing.T) {
	ch := newClickHouse(t)
	today := enrich.DayOf(time.Now().UnixMicro())
	keys := make([]enrich.Key, 8)
	var wait sync.WaitGroup
	for i := range keys {
		wait.Go(func() {
			var err error
			if keys[i], err = ch.VisitorKey(t.Context(), today, enrich.NewKey()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i, k := range keys {
		if k != keys[0] || k == (enrich.Key{}) {
			t.Errorf("ingester %d has another key than the first", i)
		}
	}
	if n := count(t, ch, "SELECT count() FROM visitor_keys"); n != 1 {
		t.Errorf("%d keys stored, want 1", n)
	}
	tomorrow, err := ch.VisitorKey(t.Context(), today+1, enrich.NewKey())
	if err != nil || tomorrow == keys[0] {
		t.Errorf("tomorrow's key is today's (%v)", err)
	}
}

// The second of two inserts with one token is answered after the rows of the first
// can be seen: what is missing then is not on its way.
func TestDroppedInsertMeansVisibleRows(t *testing.T) {
	ch := newClickHouse(t)
	for n := range 50 {
		rows := someRows(20, time.Date(2026, 11, 1, 0, n, 0, 0, time.UTC))
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(func() {
				if err := ch.insert(t.Context(), "token "+strconv.Itoa(n), rows); err != nil {
					t.Error(err)
					return
				}
				if missing, err := ch.missing(t.Context(), rows); err != nil || missing.len() > 0 {
					t.Errorf("%d rows missing after an insert (%v)", missing.len(), err)
				}
			})
		}
		wait.Wait()
	}
	if n := count(t, ch, "SELECT count() FROM clicks"); n != 50*20 {
		t.Errorf("%d rows, want 1000", n)
	}
}

// A server that was killed remembers the day's token and has no key.
func TestVisitorKeyWhoseTokenOutlivedIt(t *testing.T) {
	ch := newClickHouse(t)
	today := enrich.DayOf(time.Now().UnixMicro())
	lost, err := ch.VisitorKey(t.Context(), today, enrich.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.conn.Exec(t.Context(), "ALTER TABLE visitor_keys DELETE WHERE 1 SETTINGS mutations_sync = 2"); err != nil {
		t.Fatal(err)
	}
	first, err1 := ch.VisitorKey(t.Context(), today, enrich.NewKey())
	second, err2 := ch.VisitorKey(t.Context(), today, enrich.NewKey())
	if err1 != nil || err2 != nil || first == lost || first != second {
		t.Errorf("no common new key (%v, %v)", err1, err2)
	}
}

func TestVisitorKeyIsThrownAway(t *testing.T) {
	ch := newClickHouse(t)
	today := enrich.DayOf(time.Now().UnixMicro())
	for _, day := range []enrich.Day{today - 3, today - 2} {
		if _, err := ch.VisitorKey(t.Context(), day, enrich.NewKey()); err != nil && day > today-3 {
			t.Fatal(err)
		}
	}
	if err := ch.conn.Exec(t.Context(), "OPTIMIZE TABLE visitor_keys FINAL"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, ch, "SELECT count() FROM visitor_keys WHERE day < today() - 2"); n != 0 {
		t.Error("the key of three days ago is still there")
	}
	if n := count(t, ch, "SELECT count() FROM visitor_keys"); n != 1 {
		t.Errorf("%d keys kept, want that of two days ago", n)
	}
}
