package linkcache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

// manyEntries fall on every shard.
func manyEntries(revision uint64) []linkcache.Entry {
	entries := make([]linkcache.Entry, 0, 60)
	for i := range cap(entries) {
		entries = append(entries, entry(linkcache.Key("s.test", fmt.Sprint("x", i)), revision, fmt.Sprintf("https://%d.test/", revision)))
	}
	return entries
}

// Guards I5.
func TestStoreOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	client := cluster.Client(t)
	store, reader := linkcache.NewStore(client), linkcache.NewStore(cluster.Reader(t))

	put := func(revision uint64, want ...linkcache.Outcome) {
		t.Helper()
		got, err := store.Put(t.Context(), manyEntries(revision))
		if err != nil || len(got) != 60 {
			t.Fatalf("Put of revision %d: %v, %v", revision, got, err)
		}
		for i, o := range got {
			if !slices.Contains(want, o) {
				t.Errorf("Put of revision %d: entry %d is %v, want %v", revision, i, o, want)
			}
		}
	}
	holds := func(revision uint64) {
		t.Helper()
		for _, e := range manyEntries(revision) {
			if got, ok, err := store.Get(t.Context(), e.Key); err != nil || !ok || got.Revision != revision {
				t.Errorf("%s: %+v, %t, %v; want revision %d", e.Key, got, ok, err, revision)
			}
			if got, ok, err := reader.GetNewest(t.Context(), e.Key); err != nil || !ok || got.Revision != revision {
				t.Errorf("%s from its primary: %+v, %t, %v; want revision %d", e.Key, got, ok, err, revision)
			}
		}
	}

	// One shard alone has forgotten the script: what the others applied stays applied.
	put(5, linkcache.Applied)
	forget(t, client, linkcache.Key("s.test", "x0"))
	put(6, linkcache.Applied)
	put(4, linkcache.Stale)
	put(6, linkcache.Same)
	holds(6)
	// Whoever reads from replicas writes to primaries all the same.
	if got, err := reader.Put(t.Context(), manyEntries(6)); err != nil || slices.ContainsFunc(got, func(o linkcache.Outcome) bool { return o != linkcache.Same }) {
		t.Errorf("a reader's Put = %v, %v; want all the same", got, err)
	}
	facttest.Eventually(t, "the replicas have it too", func() bool {
		got, ok, err := reader.Get(t.Context(), linkcache.Key("s.test", "x0"))
		return err == nil && ok && got.Revision == 6
	})

	inOrder(t, store, client.Subscribe(t.Context(), linkcache.Channel), "the primary of the channel", 0)
	inOrder(t, store, cluster.Reader(t).Subscribe(t.Context(), linkcache.Channel), "a replica", 1000)

	const victim = linkcache.Channel // its primary also is whom all messages go through
	key := keyBeside(t, client, victim)
	cluster.KillPrimary(t, victim)
	facttest.Eventually(t, "a replica takes over and writes go on", func() bool {
		got, err := store.Put(t.Context(), []linkcache.Entry{entry(key, 9, "https://nine.test/")})
		return err == nil && got[0] != linkcache.Stale
	})
	facttest.Eventually(t, "all shards are written", func() bool {
		_, err := store.Put(t.Context(), manyEntries(8))
		return err == nil
	})
	put(7, linkcache.Stale)
	if got, ok, err := store.Get(t.Context(), key); err != nil || !ok || got.Revision != 9 {
		t.Errorf("after the failover %s is %+v, %t, %v; want revision 9", key, got, ok, err)
	}
	facttest.Eventually(t, "edges hear again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sub := client.Subscribe(ctx, linkcache.Channel)
		defer func() { _ = sub.Close() }()
		if _, err := sub.Receive(ctx); err != nil {
			return false
		}
		if err := store.Publish(ctx, &linkcache.Message{Heartbeat: []linkcache.Position{}, Partitions: 1}); err != nil {
			return false
		}
		_, err := sub.ReceiveMessage(ctx)
		return err == nil
	})
}

// forget makes the primary of a key forget its scripts.
func forget(t *testing.T, client *redis.ClusterClient, key string) {
	t.Helper()
	primary, err := client.MasterForKey(t.Context(), key)
	if err == nil {
		err = primary.ScriptFlush(t.Context()).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keyBeside returns a record's key on the primary that holds another key.
func keyBeside(t *testing.T, client *redis.ClusterClient, other string) string {
	t.Helper()
	want, err := client.MasterForKey(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		key := linkcache.Key("beside.test", strconv.Itoa(i))
		if got, err := client.MasterForKey(t.Context(), key); err == nil && got == want {
			return key
		}
	}
	t.Fatal("no key falls on that primary")
	return ""
}

// inOrder sends many messages, some one by one, and wants them as they were sent. Its
// revisions are above base; a replica may still pass on what was sent before them.
func inOrder(t *testing.T, store *linkcache.Store, sub *redis.PubSub, where string, base uint64) {
	t.Helper()
	defer func() { _ = sub.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	const rounds, batch = 20, 10
	revision := base
	next := func() linkcache.Message {
		revision++
		return linkcache.Message{Keys: []string{"redirect:s.test:a"}, Revision: revision, Position: linkcache.Position{Offset: int64(revision)}, Previous: int64(revision) - 1} //nolint:gosec // small
	}
	for range rounds {
		var sent []linkcache.Message
		for range batch {
			sent = append(sent, next())
		}
		alone := next()
		if err := errors.Join(store.PublishAll(ctx, sent), store.Publish(ctx, &alone)); err != nil {
			t.Fatal(err)
		}
	}
	want := base + 1
	comes := func(got uint64) {
		t.Helper()
		switch {
		case got <= base:
		case got != want:
			t.Fatalf("at %s comes revision %d; want %d", where, got, want)
		default:
			want++
		}
	}
	for want <= revision {
		got, err := sub.ReceiveMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		m, err := linkcache.DecodeMessage([]byte(got.Payload))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Keys) > 0 {
			comes(m.Revision)
		}
		for _, span := range m.Spans {
			for _, revision := range span.Revisions {
				comes(revision)
			}
		}
	}
}
