package lookup

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

func TestFloors(t *testing.T) {
	var f floors
	at := func(h, want uint64) {
		t.Helper()
		if got := f.at(h); got != want {
			t.Errorf("floor of %d = %d, want %d", h, got, want)
		}
	}
	at(1, 0)
	f.raise(1, 5, 0)
	at(1, 5)
	f.raise(1, 3, 0)
	at(1, 5) // floors only rise
	at(1+floorShards, 0)

	// Kept for a life at least, dropped after two.
	life := int64(floorLife)
	f.raise(1+floorShards, 9, life+1)
	at(1, 5)
	f.raise(1+floorShards, 10, 2*life+3)
	at(1, 0)
	at(1+floorShards, 10)
}

func TestFloorsAreBounded(t *testing.T) {
	var f floors
	dropped := 0
	for i := range uint64(3*floorsPerShard + 1) {
		if f.raise(i*floorShards, i+1, 0) {
			dropped++
		}
	}
	if s := &f.shards[0]; len(s.young)+len(s.old) > 2*floorsPerShard {
		t.Errorf("a shard holds %d floors", len(s.young)+len(s.old))
	}
	if dropped != 2 {
		t.Errorf("the caller was told %d times that floors were dropped, want 2", dropped)
	}
}

// Many changes at once cost each key one question, and not all keys one for each shard.
func TestFloorsDroppedEarlyCostTheirShardAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegion()
		ctx := context.WithoutCancel(t.Context())
		r.mu.Lock()
		r.connect()
		r.mu.Unlock()
		r.wait(time.Second)
		l := r.edge.lookup
		defer r.end()
		find := func(slug string) Source {
			_, source, err := l.Find(ctx, []byte(linkcache.Key("s.test", slug)), time.Now())
			if err != nil {
				t.Error(err)
			}
			synctest.Wait()
			return source
		}
		hash := func(slug string) uint64 { return l.l1.hashString(linkcache.Key("s.test", slug)) }
		crowded, other := "a", "b"
		for hash(crowded)%floorShards == hash(other)%floorShards {
			other += "b"
		}
		r.truth[other] = append(r.truth[other], version{time.Now(), 1, "https://b"})
		r.truth[crowded] = append(r.truth[crowded], version{time.Now(), 1, "https://a"})
		for _, slug := range []string{crowded, other} {
			find(slug)
			if source := find(slug); source != L1 {
				t.Fatalf("%s comes from %s", slug, source)
			}
		}
		for i := range uint64(2*floorsPerShard + 1) {
			l.floors.raise(hash(crowded)+(i+1)*floorShards, i, 0)
		}
		if source := find(other); source != L1 {
			t.Errorf("a key of another shard comes from %s", source)
		}
		if source := find(crowded); source != L2 {
			t.Errorf("a key of the shard comes from %s, want it asked for again", source)
		}
		if source := find(crowded); source != L1 {
			t.Errorf("a key of the shard comes from %s, want it asked for once", source)
		}
	})
}
