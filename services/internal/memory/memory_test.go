package memory

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestWhatTheOperatorHasSetStays(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(math.MaxInt64), debug.SetGCPercent(defaultGC)
	defer func() { debug.SetMemoryLimit(limit); debug.SetGCPercent(percent) }()
	const ours = 512 << 20
	check := func(when string, wantLimit int64, wantPercent int) {
		t.Helper()
		Relax(ours)
		if got := debug.SetMemoryLimit(-1); got != wantLimit {
			t.Errorf("%s: the limit is %d, want %d", when, got, wantLimit)
		}
		got := debug.SetGCPercent(defaultGC)
		debug.SetGCPercent(got)
		if got != wantPercent {
			t.Errorf("%s: the percentage is %d, want %d", when, got, wantPercent)
		}
	}
	check("nothing is set", ours, relaxedGC)
	debug.SetMemoryLimit(700 << 20)
	debug.SetGCPercent(70)
	check("both are set", 700<<20, 70)
}
