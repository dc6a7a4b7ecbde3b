package redis_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/linkstream/linkstream/compose/local/internal/redis"
)

func TestOnlyTheSnapshotOfAnOrderlyEndIsLoaded(t *testing.T) {
	server := redis.Server{Dir: filepath.Join(t.TempDir(), "redis"), Port: 1}
	snapshot := filepath.Join(server.Dir, "dump.rdb")
	start := func(wantSnapshot bool) {
		t.Helper()
		if err := server.Prepare(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(snapshot); (err == nil) != wantSnapshot {
			t.Errorf("snapshot: %v, want one: %v", err, wantSnapshot)
		}
	}
	end := func(orderly bool) {
		t.Helper()
		if orderly {
			if err := os.WriteFile(snapshot, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		server.Ended(orderly)
	}
	start(false)
	end(true)
	start(true)
	end(false) // killed: the snapshot that is still there is of the end before
	start(false)
	end(true)
	start(true)
	start(false) // the supervisor was killed too, and noted nothing
}
