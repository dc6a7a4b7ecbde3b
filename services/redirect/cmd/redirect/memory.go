package main

import (
	"math"
	"runtime/debug"

	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// workingBytes is for connections, requests, batches under way, and for what has been
// let go and not been collected yet: the less, the more often the collector runs. A
// collection takes about 50 ms of a core with the default cache full, and this much is
// a few seconds of clicks at full load.
const workingBytes = 128 << 20

// limitMemory tells the collector how much this process may take. Without a limit it
// would let the heap grow to twice of what is in use, and a full cache is in use always.
// A limit that the operator has set (GOMEMLIMIT) stays.
func limitMemory(s settings) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(memoryLimit(s))
	}
}

// memoryLimit is not reached by what is in use, or the collector would never rest.
func memoryLimit(s settings) int64 {
	return lookup.Resident(s.L1MaxBytes) + workingBytes
}
