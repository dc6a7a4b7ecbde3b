package enrich

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/linkstream/linkstream/events"
)

func TestVisitorIsSomebodyForADay(t *testing.T) {
	day1, day2 := NewKey(), NewKey()
	click := func(workspace byte, address []byte, ua string) *Click {
		return wire(events.Click{WorkspaceID: [16]byte{workspace}, Address: address, UserAgent: []byte(ua)})
	}
	v4, mapped := []byte{192, 0, 2, 1}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1}
	e := New(NewTables(), noPlaces())
	base := rowOf(e, click(1, v4, "a"), day1).Visitor
	same := func(what string, c *Click, key Key, want bool) {
		t.Helper()
		if other := rowOf(e, c, key).Visitor; (other == base) != want {
			t.Errorf("%s: same visitor is %v, want %v", what, other == base, want)
		}
	}
	same("again", click(1, v4, "a"), day1, true)
	same("the same address over IPv6", click(1, mapped, "a"), day1, true)
	same("another agent", click(1, v4, "b"), day1, false)
	same("another address", click(1, []byte{192, 0, 2, 2}, "a"), day1, false)
	same("no address", click(1, nil, "a"), day1, false)
	same("another workspace", click(2, v4, "a"), day1, false)
	same("another day", click(1, v4, "a"), day2, false)
}

// shelf is a KeyStore of a test: it counts what it is asked.
type shelf struct {
	keys  map[Day]Key
	asked int
	err   error
}

func (s *shelf) VisitorKey(_ context.Context, day Day, candidate Key) (Key, error) {
	s.asked++
	if s.err != nil {
		return Key{}, s.err
	}
	if _, ok := s.keys[day]; !ok {
		s.keys[day] = candidate
	}
	return s.keys[day], nil
}

func TestVisitorsShareKeysOfRecentDays(t *testing.T) {
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	store := &shelf{keys: map[Day]Key{}}
	clock := func() time.Time { return now }
	a, b := NewVisitors(store, clock), NewVisitors(store, clock)
	today := DayOf(now.UnixMicro())
	key := func(v *Visitors, day Day) Key {
		t.Helper()
		k, err := v.Key(t.Context(), day)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	for d := today - keyDays; d <= today+daysAhead; d++ {
		if key(a, d) != key(b, d) {
			t.Errorf("two ingesters have different keys for day %d", d-today)
		}
	}
	asked := store.asked
	key(a, today)
	if store.asked != asked {
		t.Error("a known key is asked for again")
	}
	late := today - keyDays - 1
	mine := key(a, late)
	if mine == key(b, late) || mine != key(a, late) {
		t.Error("a late click's key must be the process's own, and stay")
	}
	if store.asked != asked {
		t.Error("a key of a day that is over is stored")
	}
	for i := range Day(10 * privateKeys) {
		key(a, late-i)
	}
	if len(a.private) > privateKeys {
		t.Errorf("%d private keys remembered", len(a.private))
	}
	yesterday := today - keyDays
	old := key(a, yesterday)
	now = now.Add(time.Hour)
	if key(a, yesterday) == old {
		t.Error("a key is used after its time")
	}

	store.err = errors.New("away")
	if _, err := NewVisitors(store, clock).Key(t.Context(), today); !errors.Is(err, store.err) {
		t.Errorf("the store's error is lost: %v", err)
	}
}
