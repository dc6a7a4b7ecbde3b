package lookup

import (
	"reflect"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
)

// A field that is new in a record must be packed too.
func TestNothingOfAnEntryIsLostInMemory(t *testing.T) {
	var r linkcache.Record
	fields := reflect.ValueOf(&r).Elem()
	for i := range fields.NumField() {
		f, name := fields.Field(i), fields.Type().Field(i).Name
		switch {
		case f.CanInt():
			f.SetInt(int64(300 + i))
		case f.CanUint():
			f.SetUint(uint64(300 + i))
		case f.Kind() == reflect.String:
			f.SetString("https://" + name + ".test/")
		case f.Kind() == reflect.Array:
			for j := range f.Len() {
				f.Index(j).SetUint(uint64(i + j))
			}
		default:
			t.Fatalf("%s: teach this test and pack a %s", name, f.Type())
		}
	}
	check := func(e *Entry) {
		t.Helper()
		got := Entry{Record: linkcache.Record{Fallback: "what the buffer held before", Title: "and", Options: "{}"}, Program: "more"}
		if pack(e).unpack(&got); got != *e {
			t.Errorf("%+v came back as %+v", *e, got)
		}
	}
	r.Options = "" // they are compiled
	e := newEntry(linkcache.Key("s.test", "a"), r)
	e.Program = "a program"
	e.epoch, e.filled, e.fresh, e.confirmed, e.refresh = 1, 2, 3, 4, 5
	check(e)
	check(unknown(linkcache.Key("s.test", "a"), 7))
	check(newEntry(linkcache.Key("s.test", "a"), linkcache.Record{Revision: 1<<53 - 1, Flags: linkcache.FlagDeleted, Status: 308}))
	check(newEntry("no address", linkcache.Record{}))
	check(newEntry("k", linkcache.Record{Destination: "d", Title: "a title alone"}))
	check(&Entry{Program: "a program alone", key: "k"})
	check(newEntry("", linkcache.Record{Destination: strings.Repeat("x", 1<<16-1)}))

	c, err := newL1(1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.cache.Close()
	c.set(1, newEntry("k", linkcache.Record{Destination: strings.Repeat("x", 1<<16)}))
	c.cache.Wait()
	if e := c.getString(1, "k"); e != nil {
		t.Errorf("what does not fit came back as %+v", e)
	}
}

// Options count in the budget, and a plain link does not pay for others'.
func TestOptionsCountInTheBudget(t *testing.T) {
	cost := func(edit func(*Entry)) int64 {
		e := newEntry("redirect:s.test:a", linkcache.Record{Destination: "https://e.test/", Version: 1, Revision: 1, Status: 302})
		edit(e)
		return pack(e).cost()
	}
	plain := cost(func(*Entry) {})
	if want := int64(entryBytes + len("redirect:s.test:a") + len("https://e.test/")); plain != want {
		t.Errorf("a plain link costs %d, want %d", plain, want)
	}
	got := cost(func(e *Entry) { e.Title, e.Program = "ten bytes.", option.Program(strings.Repeat("x", 1000)) })
	if want := plain + 1010 + moreBytes; got != want {
		t.Errorf("a link with a title and options costs %d, want %d", got, want)
	}
}
