package settle

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

// firstDay is when the tests' clicks begin.
var firstDay = time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)

type fixture struct {
	*Settler
	t         *testing.T
	url       string
	workspace uuid.UUID
	today     time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, url: clickhousetest.New(t), workspace: uuid.New(), today: firstDay.AddDate(0, 0, 10).Add(30 * time.Minute)}
	f.Settler = f.another()
	return f
}

func (f *fixture) another() *Settler {
	f.t.Helper()
	s, err := New(f.url, Options{DetailedFrom: 2, Now: func() time.Time { return f.today }}, slog.New(slog.DiscardHandler))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = s.Close() })
	return s
}

// click adds a click for each of the visitors.
func (f *fixture) click(day int, visitors ...uint64) {
	f.t.Helper()
	batch, err := f.conn.PrepareBatch(f.t.Context(), "INSERT INTO clicks (ts, click_id, workspace_id, link_id, host, status, visitor, country)")
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = batch.Close() }()
	for i, v := range visitors {
		if err := batch.Append(firstDay.AddDate(0, 0, day).Add(time.Duration(i)*time.Hour), uuid.New(), f.workspace, uuid.Max, "go.test", uint16(302), v, "DE"); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := batch.Send(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) pass() {
	f.t.Helper()
	if err := f.Pass(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) check(what, query, want string) {
	f.t.Helper()
	var got string
	if err := f.conn.QueryRow(f.t.Context(), "SELECT toString("+query+")").Scan(&got); err != nil || got != want {
		f.t.Errorf("%s: %s, %v; want %s", what, got, err, want)
	}
}

const marked = "(SELECT arraySort(groupArray((toDayOfMonth(day), clicks))) FROM clicks_settled_days)"

// A day is settled when it is over, and again when clicks come late.
//
// Guards I91.
func TestADayIsSettledWhenItIsOverAndAgainWhenClicksComeLate(t *testing.T) {
	f := newFixture(t)
	f.click(0, 1, 1, 2)
	f.click(9, 1) // ended half an hour ago
	f.click(10, 1)
	f.pass()
	f.check("settled", marked, "[(10,3)]")
	f.check("hours", "(SELECT (visitors, hours, hour_clicks, hour_visitors, hour_first, hour_last) FROM clicks_settled WHERE scope = '')", "(2,[0,1,2],[1,1,1],[1,1,1],[1,0,1],[0,1,1])")
	f.check("scopes", "(SELECT arraySort(groupArray((scope, clicks, detailed))) FROM clicks_settled)", "[('',3,true),('domain',3,true),('link',3,true),('utm_campaign',3,true)]")
	f.check("values", "(SELECT (clicks, visitors) FROM clicks_settled_values WHERE scope = 'link' AND name = toString(toUUID('"+uuid.Max.String()+"')) AND dimension = 'country' AND value = 'DE')", "(3,2)")
	f.check("numbers", "(SELECT (clicks, visitors) FROM clicks_settled_values WHERE scope = '' AND dimension = 'status' AND value = '302')", "(3,2)")
	f.today = f.today.Add(time.Hour)
	f.pass()
	f.check("the next hour", marked, "[(10,3),(19,1)]")
	f.click(0, 3)
	f.pass()
	f.pass()
	f.check("a late click", marked, "[(10,3),(10,4),(19,1)]")
	f.check("ids", "(SELECT uniqExact(settlement) = count() FROM clicks_settled_days WHERE toDayOfMonth(day) = 10)", "1")
}

// Days of a month are settled together, and one that was tried before alone, so that what
// is wrong with it keeps no other.
func TestDaysOfAMonthAreSettledTogether(t *testing.T) {
	f := newFixture(t)
	f.today = firstDay.AddDate(0, 0, 60)
	f.click(0, 1)
	f.click(2, 1, 2)
	f.click(5, 3)
	f.click(25, 4) // in April
	first := uint32(firstDay.Unix() / secondsOfDay)
	next := func(done map[uint32]bool, want ...uint32) {
		t.Helper()
		if got, err := f.next(t.Context(), done); err != nil || !slices.Equal(got, want) {
			t.Errorf("next are %v, %v; want %v", got, err, want)
		}
	}
	april := map[uint32]bool{first + 25: true}
	next(nil, first+25)
	next(april, first+5, first+2, first)
	next(april, first+5) // it was not settled
	f.pass()
	f.check("settled", marked, "[(4,1),(10,1),(12,2),(15,1)]")
	f.click(2, 3)
	f.click(5, 4)
	next(nil, first+5, first+2) // of other clicks
}

// What is not whole, or was written twice, is not marked, and several processes do not
// disturb each other.
//
// Guards I92.
func TestOnlyWholeSettlementsAreMarked(t *testing.T) {
	f := newFixture(t)
	f.click(0, 1, 2)
	day := uint32(firstDay.Unix() / secondsOfDay)
	run := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if err := f.exec(t.Context(), s, []uint32{day}); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(totals, marks)
	f.check("without values", marked, "[]")
	f.click(0, 3)
	run(values(), marks) // of more clicks than the totals
	f.check("of different clicks", marked, "[]")
	f.renew()
	run(totals, values(), totals, marks)
	f.check("written twice", marked, "[]")

	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		s := f.another()
		wg.Go(func() { errs[i] = s.Pass(t.Context()) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	f.check("clicks", "(SELECT (min(clicks), max(clicks)) FROM clicks_settled_days)", "(3,3)")
	f.check("of each settlement", "(SELECT (min(n), max(n)) FROM (SELECT sum(clicks) AS n FROM clicks_settled WHERE scope = '' AND settlement IN (SELECT settlement FROM clicks_settled_days) GROUP BY settlement))", "(3,3)")
}

// Hours of dimensions' values are removed by the month, when they are old and every day
// of the month is settled. A day whose clicks are gone cannot be settled and keeps its hours.
//
// Guards I93.
func TestHoursOfValuesAreRemovedWhenTheyAreOldAndSettled(t *testing.T) {
	f := newFixture(t)
	const months = "(SELECT arraySort(groupUniqArray(toYYYYMM(hour))) FROM clicks_by_value WHERE workspace_id != toUUID('00000000-0000-0000-0000-000000000000'))"
	f.click(0, 1, 2)
	f.click(40, 3)
	f.today = firstDay.AddDate(0, 0, 100)
	f.pass()
	f.check("a hundred days", months, "[202603,202604]")
	f.today = time.Date(2026, 7, 11, 0, 0, 0, 0, time.UTC) // 101 days after March
	f.pass()
	f.check("a hundred days after the month", months, "[202604]")
	f.click(0, 4)
	f.check("a late click", months, "[202603,202604]")
	if err := f.conn.Exec(t.Context(), "ALTER TABLE clicks DELETE WHERE 1 SETTINGS mutations_sync = 2"); err != nil {
		t.Fatal(err)
	}
	for range maxTries + 1 {
		f.pass()
	}
	f.check("clicks that are gone", months, "[202603,202604]")
	f.check("nothing was invented", marked, "[(10,2),(19,1)]")
}
