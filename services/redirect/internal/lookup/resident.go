package lookup

// besideBytes is what a Lookup takes beside L1 and its floors: fills under way, the
// cache's buffers, connections.
const besideBytes = 12 << 20

// Resident is how many bytes of the heap a Lookup with this budget for L1 uses at most.
// The process takes what the collector leaves lying around on top of it.
func Resident(maxBytes int64) int64 { return maxBytes + floorsBytes + besideBytes }
