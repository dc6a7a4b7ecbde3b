package main

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/option"
)

// workingBytes is for connections, requests, batches under way, and for what has been
// let go and not been collected yet: the less, the more often the collector runs. A
// collection takes about 50 ms of a core with the default cache full, and this much is
// a few seconds of clicks at full load.
const workingBytes = 128 << 20

// defaultGC is Go's own setting, relaxedGC ours.
const defaultGC, relaxedGC = 100, 400

// limitMemory tells the collector how much this process may take. Without a limit it
// would let the heap grow to twice of what is in use, and a full cache is in use always.
// With one, it need not run more often than the limit wants: an edge with few links in
// memory would otherwise collect every few megabytes, at the cost of its slowest answers
// (the 99.9th percentile at 65,000 a second was 8 ms, and 5 ms so). What the operator
// has set (GOMEMLIMIT, GOGC) stays.
func limitMemory(s settings) {
	if before := debug.SetGCPercent(relaxedGC); before != defaultGC {
		debug.SetGCPercent(before)
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit(s))
	}
}

// memoryLimit is not reached by what is in use, or the collector would never rest.
func memoryLimit(s settings) int64 {
	limit := lookup.Resident(s.L1MaxBytes) + option.EyesBytes + workingBytes
	for _, file := range s.placeFiles() {
		if info, err := os.Stat(file); err == nil {
			limit += 2 * info.Size() // it is held, and the next one is read beside it
		}
	}
	return limit
}
