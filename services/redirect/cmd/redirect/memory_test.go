package main

import (
	"math"
	"runtime/debug"
	"testing"
)

// Guards I28.
func TestTheProcessHasALimitUnlessItsOperatorSetOne(t *testing.T) {
	before, percent := debug.SetMemoryLimit(math.MaxInt64), debug.SetGCPercent(defaultGC)
	defer func() { debug.SetMemoryLimit(before); debug.SetGCPercent(percent) }()
	s := settings{L1MaxBytes: 256 << 20}
	limitMemory(s)
	got := debug.SetMemoryLimit(-1)
	if got <= s.L1MaxBytes || got > 500<<20 {
		t.Errorf("the limit with the default settings is %d MB", got>>20)
	}
	if got := debug.SetGCPercent(70); got != relaxedGC {
		t.Errorf("the collector's percentage is %d", got)
	}
	debug.SetMemoryLimit(700 << 20)
	limitMemory(s)
	if got := debug.SetGCPercent(70); got != 70 {
		t.Errorf("an operator's percentage became %d", got)
	}
	if got := debug.SetMemoryLimit(-1); got != 700<<20 {
		t.Errorf("an operator's limit became %d MB", got>>20)
	}
}
