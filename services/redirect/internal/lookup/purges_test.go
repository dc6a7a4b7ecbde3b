package lookup

import (
	"errors"
	"testing"
)

func TestMarksOfPurges(t *testing.T) {
	now := int64(100)
	clock := func() int64 { return now }
	var p purges
	check := func(what string, h uint64, began int64, void bool, use l2Use) {
		t.Helper()
		if got := p.void(h, began); got != void {
			t.Errorf("%s: void is %t, want %t", what, got, void)
		}
		if got := p.use(h); got != use {
			t.Errorf("%s: from L2 is %d, want %d", what, got, use)
		}
	}
	begin := func(h uint64) int64 {
		t.Helper()
		at, err := p.begin(h, clock)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	check("no purge", 1, 0, false, l2Nearest)
	first := begin(1)
	check("read before", 1, 99, true, l2Never)
	check("read at the same time", 1, 100, true, l2Never)
	check("read after", 1, 101, false, l2Never)
	check("another key", 2, 99, false, l2Nearest)
	now = 200
	second := begin(1)
	p.settle(1, first, now)
	check("the first is done, the second is not", 1, 150, true, l2Never)
	p.settle(1, second, now)
	check("both are done", 1, 150, true, l2Primary)
	p.settle(3, 0, now) // never begun
	check("settled without a purge", 3, 0, false, l2Nearest)

	begin(4)
	now += int64(markLife)
	p.sweep(now)
	check("its time is over", 1, 150, false, l2Nearest)
	check("Redis does not have it yet", 4, 150, true, l2Never)
	p.settle(4, 200, now)
	p.sweep(now + int64(markLife))
	if p.shard(1).any.Load() || p.shard(4).any.Load() {
		t.Error("nothing is marked, and hits take the lock")
	}
}

func TestMarksAreBounded(t *testing.T) {
	now := int64(1)
	clock := func() int64 { return now }
	var p purges
	const room = purgeShards * marksPerShard
	for h := range uint64(room) {
		if _, err := p.begin(h, clock); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.begin(room, clock); !errors.Is(err, errTooManyPurges) {
		t.Errorf("begin = %v, want that there are too many", err)
	}
	if _, err := p.begin(7, clock); err != nil {
		t.Errorf("a key that is marked already: %v", err)
	}
	p.settle(purgeShards, 1, now) // of the same shard
	now += int64(markLife)
	if _, err := p.begin(room, clock); err != nil {
		t.Errorf("a mark was over, and still: %v", err)
	}
}
