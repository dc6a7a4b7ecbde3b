package linkcache_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

func entry(key string, revision uint64, destination string) linkcache.Entry {
	r := record()
	r.Revision, r.Destination = revision, destination
	if destination == "" {
		r.Flags = linkcache.FlagDeleted
	}
	return linkcache.Entry{Key: key, Record: r}
}

// Guards rule 11: newer is decided by revision, never by arrival.
//
// Guards I5.
func TestOnlyANewerRecordReplaces(t *testing.T) {
	client := redistest.Start(t).Client(t)
	store := linkcache.NewStore(client)
	put := func(e linkcache.Entry, want linkcache.Outcome) {
		t.Helper()
		got, err := store.Put(t.Context(), []linkcache.Entry{e})
		if err != nil || !slices.Equal(got, []linkcache.Outcome{want}) {
			t.Errorf("Put(%s, revision %d) = %v, %v; want %v", e.Key, e.Record.Revision, got, err, want)
		}
	}
	holds := func(key string, revision uint64, destination string) {
		t.Helper()
		got, ok, err := store.Get(t.Context(), key)
		if err != nil || !ok || got.Revision != revision || got.Destination != destination {
			t.Errorf("Get(%s) = %+v, %t, %v; want revision %d and %q", key, got, ok, err, revision, destination)
		}
	}
	const key = "redirect:s.test:a"
	put(entry(key, 5, "https://five.test/"), linkcache.Applied)
	put(entry(key, 4, "https://four.test/"), linkcache.Stale)
	holds(key, 5, "https://five.test/")
	put(entry(key, 5, "https://five.test/"), linkcache.Same)
	put(entry(key, 7, ""), linkcache.Applied)
	put(entry(key, 6, "https://six.test/"), linkcache.Stale) // a late write cannot bring a deleted link back
	holds(key, 7, "")
	put(entry(key, 9, "https://nine.test/"), linkcache.Applied)
	holds(key, 9, "https://nine.test/")

	// What is no record at all, of whatever type, is overwritten.
	for _, foreign := range []func() error{
		func() error { return client.Set(t.Context(), key, "a person's experiment", 0).Err() },
		func() error { return client.Set(t.Context(), key, `["r"]`, 0).Err() },
		func() error { return client.LPush(t.Context(), key, "x").Err() },
	} {
		if err := errors.Join(client.Del(t.Context(), key).Err(), foreign()); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := store.Get(t.Context(), key); ok || err != nil {
			t.Errorf("Get of a foreign value says %t, %v", ok, err)
		}
		put(entry(key, 9, "https://nine.test/"), linkcache.Applied)
		holds(key, 9, "https://nine.test/")
	}

	const big = 1<<53 - 2 // Lua's numbers are doubles
	put(entry(key, big, "https://big.test/"), linkcache.Applied)
	put(entry(key, big-1, "https://less.test/"), linkcache.Stale)
	put(entry(key, big+1, "https://more.test/"), linkcache.Applied)

	for _, junk := range []string{"", "junk", "[1]", `{"r":"x"}`, `"x"`} {
		if err := client.Set(t.Context(), key, junk, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := store.Get(t.Context(), key); ok || err != nil {
			t.Errorf("Get of junk %q = %t, %v; want not there", junk, ok, err)
		}
		put(entry(key, 2, "https://two.test/"), linkcache.Applied)
	}
	if ttl := client.PTTL(t.Context(), key).Val(); ttl < linkcache.TTL-time.Minute || ttl > linkcache.TTL {
		t.Errorf("TTL is %v, want about %v", ttl, linkcache.TTL)
	}
}

func TestPutSurvivesARedisThatForgotItsScripts(t *testing.T) {
	client := redistest.Start(t).Client(t)
	store := linkcache.NewStore(client)
	batch := []linkcache.Entry{entry("redirect:s.test:a", 1, "https://a.test/"), entry("redirect:s.test:b", 2, "https://b.test/"), entry("redirect:s.test:a", 3, "https://c.test/")}
	want := []linkcache.Outcome{linkcache.Applied, linkcache.Applied, linkcache.Applied}
	for range 2 {
		got, err := store.Put(t.Context(), batch)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("Put = %v, %v; want %v", got, err, want)
		}
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		want = []linkcache.Outcome{linkcache.Stale, linkcache.Same, linkcache.Same}
	}
	if got, err := store.Put(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("Put of nothing = %v, %v", got, err)
	}
}

// Guards I5.
func TestWritersInAnyOrderEndWithTheNewest(t *testing.T) {
	store := linkcache.NewStore(redistest.Start(t).Client(t))
	const key, writers = "redirect:s.test:a", 40
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if _, err := store.Put(t.Context(), []linkcache.Entry{entry(key, uint64(1+(i*7)%writers), "https://e.test/")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, ok, err := store.Get(t.Context(), key); err != nil || !ok || got.Revision != writers {
		t.Errorf("the key holds %+v, %t, %v; want revision %d", got, ok, err, writers)
	}
}

func TestMessagesArriveInOrder(t *testing.T) {
	client := redistest.Start(t).Client(t)
	store := linkcache.NewStore(client)
	sub := client.Subscribe(t.Context(), linkcache.Channel)
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	alone := linkcache.Message{Keys: []string{"redirect:s.test:a"}, Revision: 1, Position: linkcache.Position{Offset: 0}, Previous: -1}
	var sent []linkcache.Message
	for i := range 50 {
		sent = append(sent, linkcache.Message{Keys: []string{"redirect:s.test:a"}, Revision: uint64(i + 2), Position: linkcache.Position{Offset: int64(i + 1)}, Previous: int64(i)})
	}
	beat := linkcache.Message{Heartbeat: []linkcache.Position{{Offset: 50}}, Partitions: 1}
	err := errors.Join(store.PublishAll(t.Context(), []linkcache.Message{alone}), store.PublishAll(t.Context(), sent), store.Publish(t.Context(), &beat))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []linkcache.Message{alone, linkcache.Join(sent), beat} {
		got, err := sub.ReceiveMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := linkcache.DecodeMessage([]byte(got.Payload))
		if err != nil || !reflect.DeepEqual(m, want) {
			t.Fatalf("message %d = %+v, %v; want %+v", i, m, err, want)
		}
	}
}

// Of many entries in one call each has its outcome, in its place.
func TestManyEntriesHaveTheirOutcomes(t *testing.T) {
	store := linkcache.NewStore(redistest.Start(t).Client(t))
	var first, second []linkcache.Entry
	var want []linkcache.Outcome
	for i := range 200 {
		key := fmt.Sprintf("redirect:s.test:%d", i)
		first = append(first, entry(key, 10, "https://ten.test/"))
		revision := uint64(9 + i%3)
		second = append(second, entry(key, revision, "https://other.test/"))
		want = append(want, map[uint64]linkcache.Outcome{9: linkcache.Stale, 10: linkcache.Same, 11: linkcache.Applied}[revision])
	}
	// One key twice in a call: the later entry finds the earlier one.
	second, want = append(second, entry("redirect:s.test:1", 12, ""), entry("redirect:s.test:1", 11, "https://late.test/")), append(want, linkcache.Applied, linkcache.Stale)
	if _, err := store.Put(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Put(t.Context(), second); err != nil || !slices.Equal(got, want) {
		t.Errorf("Put = %v, %v; want %v", got, err, want)
	}
	if r, ok, err := store.Get(t.Context(), "redirect:s.test:1"); err != nil || !ok || r.Revision != 12 || !r.Deleted() {
		t.Errorf("Get = %+v, %t, %v; want the deletion at 12", r, ok, err)
	}
}
