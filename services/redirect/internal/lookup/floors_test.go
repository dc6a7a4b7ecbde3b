package lookup

import "testing"

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
