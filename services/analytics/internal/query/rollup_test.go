package query

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/analytics/internal/settle"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

// Sums by the hour and the clicks themselves give one answer, whatever is asked.
//
// Guards I40, I91.
func TestRollupsAnswerLikeTheClicks(t *testing.T) {
	url := clickhousetest.New(t)
	store, err := Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	store.lately.life = 0                                 // late clicks are asked for at once
	start := time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC) // before changes of clocks, and months that are whole
	store.now = func() time.Time { return start.AddDate(0, 0, 80) }
	workspaces := []uuid.UUID{uuid.New(), uuid.New()}
	links := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	const span = 100 * 24 * time.Hour
	random := rand.New(rand.NewPCG(1, 2))
	settler, err := settle.New(url, settle.Options{DetailedFrom: 5, Now: func() time.Time { return store.now().Add(90 * time.Minute) }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = settler.Close() })
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	insert := func(n int, span time.Duration) {
		t.Helper()
		batch, err := store.conn.PrepareBatch(t.Context(), `INSERT INTO clicks (ts, click_id, workspace_id, link_id, host, status, visitor, bot, country, device, browser, utm_source, utm_campaign, edge_region)`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = batch.Close() }()
		for range n {
			link := random.IntN(len(links))
			at := start.Add(time.Duration(random.Int64N(int64(span))))
			visitor := uint64(random.IntN(50)) + uint64(at.Unix()/secondsOfDay)*1000 // nobody is recognised the day after
			if err := batch.Append(at, uuid.New(), workspaces[random.IntN(2)], links[link],
				fmt.Sprintf("go%d.test", link%2), []uint16{302, 404}[random.IntN(2)], visitor, random.IntN(4) == 0,
				pick("DE", "FR", ""), pick("mobile", "desktop"), pick("Chrome", "Safari"), pick("", "", "news"), pick("", "spring"), pick("fra", "ash")); err != nil {
				t.Fatal(err)
			}
		}
		if err := batch.Send(); err != nil {
			t.Fatal(err)
		}
	}
	insert(6000, span)

	filters := [][]Filter{
		nil,
		{{Dimension: Link, Values: []string{links[0].String()}}},
		{{Dimension: Domain, Values: []string{"go0.test"}}},
		{{Dimension: Domain, Values: []string{"go0.test"}}, {Dimension: Link, Values: []string{links[2].String()}}},
		{{Dimension: Bot, Values: []string{"true"}}},
		{{Dimension: Country, Values: []string{"DE"}}},
		{{Dimension: Country, Values: []string{""}}, {Dimension: Bot, Values: []string{"false"}}},
		{{Dimension: Status, Values: []string{"404"}}},
		{{Dimension: Country, Values: []string{"DE"}}, {Dimension: Device, Values: []string{"mobile"}}},
		{{Dimension: Link, Values: []string{links[1].String()}}, {Dimension: Browser, Values: []string{"Safari"}}},
		{{Dimension: UTMCampaign, Values: []string{"spring"}}},
		{{Dimension: UTMCampaign, Values: []string{""}}, {Dimension: Bot, Values: []string{"false"}}},
	}
	zones := []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"}
	fromSums, fromDays := 0, 0
	for n := range 300 {
		switch n {
		case 100: // 80 days are settled
			if err := settler.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 170: // some of those get late clicks
			insert(20, 70*24*time.Hour)
		case 230: // and are settled again; later the oldest have no hours of values any more
			store.now = func() time.Time { return start.AddDate(0, 0, 150) }
			if err := settler.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		zone, err := time.LoadLocation(zones[n%len(zones)])
		if err != nil {
			t.Fatal(err)
		}
		q := &Question{
			Workspace: workspaces[0], Bots: []Bots{ExcludeBots, IncludeBots, OnlyBots}[n%3], Filters: filters[random.IntN(len(filters))],
			Period: Days(DateOf(start).Add(random.IntN(20)), DateOf(start).Add(20+random.IntN(80)), zone),
		}
		if n%4 == 0 { // instants
			q.Period = Period{From: start.Add(time.Duration(random.Int64N(int64(span / 2)))), Zone: zone}
			q.Period.To = q.Period.From.Add(time.Duration(random.Int64N(int64(span / 2))))
		}
		exact := *q
		exact.exact = true
		compare := func(what string, ask func(q *Question) (any, error)) {
			t.Helper()
			got, err1 := ask(q)
			want, err2 := ask(&exact)
			if err1 != nil || err2 != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s of %+v:\ngot  %v (%v)\nwant %v (%v)", what, q, got, err1, want, err2)
			}
		}
		if q.rollup("") != nil {
			fromSums++
		}
		compare("summary", func(q *Question) (any, error) { return store.Summary(t.Context(), q) })
		if q.known != nil && len(q.known.days) > q.unsettled() {
			fromDays++
		}
		interval := []Interval{Hour, Day, Week, Month}[random.IntN(4)]
		starts, err := Buckets(q.Period, interval)
		if err != nil {
			t.Fatal(err)
		}
		compare(string(interval), func(q *Question) (any, error) { return store.Series(t.Context(), q, starts) })
		if n%5 == 0 {
			compare("totals", func(q *Question) (any, error) { return store.Totals(t.Context(), q) })
		}
		compare("before", func(q *Question) (any, error) {
			before := *q
			period, aligned := Aligned(q.Period, starts)
			before.Period = period
			return store.Series(t.Context(), &before, aligned)
		})
		by := []Dimension{Link, Country, Device, Browser, UTMSource, UTMCampaign, EdgeRegion, Status, Bot, Domain}[random.IntN(10)]
		compare("by "+string(by), func(q *Question) (any, error) { return store.Breakdown(t.Context(), q, by, 10) })
	}
	if fromSums < 150 || fromDays < 75 {
		t.Errorf("%d of 300 questions were answered from sums, %d with days in numbers", fromSums, fromDays)
	}
}

func TestWhereAnswersComeFrom(t *testing.T) {
	check := func(by Dimension, want string, filters ...Filter) {
		t.Helper()
		got := "clicks"
		if r := (&Question{Filters: filters}).rollup(by); r != nil {
			got = r.table
		}
		if got != want {
			t.Errorf("by %q with %v is asked of %s, want %s", by, filters, got, want)
		}
	}
	link, domain, bot := Filter{Dimension: Link, Values: []string{noLink}}, Filter{Dimension: Domain, Values: []string{"go.test"}}, Filter{Dimension: Bot, Values: []string{"true"}}
	de, mobile := Filter{Dimension: Country, Values: []string{"DE"}}, Filter{Dimension: Device, Values: []string{"mobile"}}
	check("", "clicks_by_value")
	check("", "clicks_by_link", link)
	check("", "clicks_by_link", domain, bot)
	check(Link, "clicks_by_link", domain)
	check(Bot, "clicks_by_value")
	check("", "clicks_by_value", de)
	check(Bot, "clicks_by_value", de)
	check(Country, "clicks_by_value", de)
	check(City, "clicks_by_value")
	check(Status, "clicks_by_value", bot)
	check(Device, "clicks", de)
	check(Link, "clicks", de)
	check(Country, "clicks", link)
	check("", "clicks", de, link)
	check("", "clicks", de, mobile)
	check("", "clicks_by_value", de, de)
	check(Domain, "clicks_by_link")
	check(Tag, "clicks_by_link", link)
	check(Tag, "clicks", de)
	check(Variant, "clicks")
	check("", "clicks_by_link", Filter{Dimension: Tag, Values: []string{"a"}})
}

func TestHoursThatAreCut(t *testing.T) {
	at := func(clock string) time.Time {
		t.Helper()
		instant, err := time.Parse("15:04:05.999", clock)
		if err != nil {
			t.Fatal(err)
		}
		return instant.AddDate(2026, 0, 0)
	}
	check := func(from, to string, want ...string) {
		t.Helper()
		c, ok := cutsOf(Period{From: at(from), To: at(to)}, nil)
		got := c.hours
		var starts []uint32
		for _, w := range want {
			starts = append(starts, uint32(at(w).Unix()))
		}
		if !ok || !reflect.DeepEqual(got, starts) {
			t.Errorf("%s to %s: %v, want %v", from, to, got, starts)
		}
	}
	check("01:00:00", "05:00:00")
	check("01:30:00", "05:00:00", "01:00:00")
	check("01:30:00", "05:00:00.5", "01:00:00", "05:00:00")
	check("01:10:00", "01:20:00", "01:00:00")
	if _, ok := cutsOf(Period{From: at("00:00:00"), To: at("05:00:00")}, nil); !ok {
		t.Error("a period of whole hours has too many split ones")
	}
	var bounds []uint32
	for i := range uint32(500) {
		bounds = append(bounds, uint32(at("00:00:00").Unix())+i*hour+1800)
	}
	if _, ok := cutsOf(Period{From: at("00:00:00"), To: at("00:00:00").AddDate(0, 1, 0)}, bounds); ok {
		t.Error("five hundred split hours are looked up one by one")
	}
}
