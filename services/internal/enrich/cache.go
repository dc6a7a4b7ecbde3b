package enrich

// cache remembers what was read from recent keys: when one half is full it becomes
// the old half, and what nobody asked for since is forgotten with it. A flood of
// made-up keys costs time, never memory. It is not
// safe for concurrent use: each Enricher has its own.
type cache[V any] struct {
	limit int // of each half
	read  func(key []byte) V

	recent, old map[string]V
}

func newCache[V any](limit int, read func(key []byte) V) cache[V] {
	return cache[V]{limit: limit, read: read, recent: map[string]V{}}
}

func (c *cache[V]) get(key []byte) V {
	if v, ok := c.recent[string(key)]; ok { // does not allocate
		return v
	}
	v, ok := c.old[string(key)]
	if !ok {
		v = c.read(key)
	}
	if len(c.recent) >= c.limit {
		c.old, c.recent = c.recent, make(map[string]V, c.limit)
	}
	c.recent[string(key)] = v
	return v
}
