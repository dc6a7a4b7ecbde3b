package linkcache_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

func TestAPurgeReplacesEverythingButANewerRecord(t *testing.T) {
	client := redistest.Start(t).Client(t)
	store := linkcache.NewStore(client)
	const key = "redirect:s.test:a"
	check := func(holds string, revision uint64, want linkcache.Outcome, destination string) {
		t.Helper()
		if holds != "" {
			if err := client.Set(t.Context(), key, holds, 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := store.Replace(t.Context(), []linkcache.Entry{entry(key, revision, "https://right.test/")})
		if err != nil || !slices.Equal(got, []linkcache.Outcome{want}) {
			t.Errorf("Replace over %q = %v, %v; want %v", holds, got, err, want)
		}
		if r, ok, err := store.Get(t.Context(), key); err != nil || !ok || r.Destination != destination {
			t.Errorf("after a Replace over %q the key holds %+v, %t, %v; want %q", holds, r, ok, err, destination)
		}
	}
	check("", 5, linkcache.Applied, "https://right.test/") // nothing there
	check(`{"d":"https://wrong.test/","r":5,"v":1}`, 5, linkcache.Applied, "https://right.test/")
	check(`{"d":"https://wrong.test/","r":4,"v":9}`, 5, linkcache.Applied, "https://right.test/")
	check(`{"d":"https://newer.test/","r":6,"v":1}`, 5, linkcache.Stale, "https://newer.test/")
	check(`junk`, 5, linkcache.Applied, "https://right.test/")
	check(`["r"]`, 5, linkcache.Applied, "https://right.test/")
	check(`{"r":"9"}`, 5, linkcache.Applied, "https://right.test/")

	if err := client.LPush(t.Context(), "redirect:s.test:b", "x").Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Replace(t.Context(), []linkcache.Entry{entry("redirect:s.test:b", 1, "https://right.test/"), entry(key, 4, "https://old.test/")}); err != nil || !slices.Equal(got, []linkcache.Outcome{linkcache.Applied, linkcache.Stale}) {
		t.Errorf("Replace over a list and a record of revision 5 = %v, %v", got, err)
	}
	if _, err := store.Replace(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestARevisionThatWasNeverGivenIsOverruled(t *testing.T) {
	client := redistest.Start(t).Client(t)
	store := linkcache.NewStore(client)
	const key = "redirect:s.test:a"
	check := func(holds string, revision uint64, want linkcache.Outcome, left string, meanwhile ...string) {
		t.Helper()
		if err := client.Set(t.Context(), key, holds, 0).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := store.Overrule(t.Context(), key, func(ctx context.Context) (linkcache.Record, error) {
			for _, value := range meanwhile {
				if err := client.Set(ctx, key, value, 0).Err(); err != nil {
					t.Error(err)
				}
			}
			return entry(key, revision, "https://right.test/").Record, nil
		})
		if err != nil || got != want {
			t.Errorf("Overrule over %s = %v, %v; want %v", holds, got, err, want)
		}
		if r, ok, err := store.Get(t.Context(), key); err != nil || !ok || r.Destination != left {
			t.Errorf("after Overrule over %s the key holds %+v, %t, %v; want %q", holds, r, ok, err, left)
		}
	}
	check(`{"d":"https://wrong.test/","r":900,"v":1}`, 5, linkcache.Applied, "https://right.test/")
	check(`{"d":"https://newer.test/","r":6,"v":1}`, 6, linkcache.Same, "https://right.test/") // the truth has caught up
	check(`{"d":"","f":32768,"r":900,"v":1}`, 5, linkcache.Applied, "https://right.test/")
	check(`{"d":"https://wrong.test/","r":900,"v":1}`, 5, linkcache.Stale, "https://other.test/", `{"d":"https://other.test/","r":7,"v":1}`)

	if err := client.Set(t.Context(), key, `{"d":"","f":32768,"r":7,"v":1}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	gone := func(context.Context) (linkcache.Record, error) { return entry(key, 5, "").Record, nil }
	if got, err := store.Overrule(t.Context(), key, gone); err != nil || got != linkcache.Stale {
		t.Errorf("Overrule of a deletion by a deletion = %v, %v; want %v", got, err, linkcache.Stale)
	}
	if err := client.Del(t.Context(), key).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := store.Overrule(t.Context(), key, nil); err != nil || got != linkcache.Stale {
		t.Errorf("Overrule of nothing = %v, %v", got, err)
	}
	away := errors.New("nobody knows")
	if err := client.Set(t.Context(), key, `{"d":"https://wrong.test/","r":900,"v":1}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Overrule(t.Context(), key, func(context.Context) (linkcache.Record, error) { return linkcache.Record{}, away }); !errors.Is(err, away) {
		t.Errorf("Overrule without the truth = %v", err)
	}
}
