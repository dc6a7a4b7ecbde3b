// Package apply brings a region's Redis up to the changelog and tells the
// region's edges.
//
// It promises, for every record of the changelog and in this order: Redis holds
// the record or a newer one; then the invalidation is published; then, and only
// then, the record's offset may be committed. Each step may happen twice, none is
// left out. Between the first two a replica, where there is one, is waited for, but
// not for long.
//
// A Redis that has lost something, or may have (it was restarted, or a replica took
// over), is noticed within a second and written again: from the record behind the
// newest one that it says it has, or from the start of the changelog when it does not
// know. That holds for every shard of a Redis Cluster.
//
// It refuses to pass over a record: while Redis is away it tries the same records
// again. The one exception is a record that cannot be decoded, which goes to the
// dead topic, with a count, so that one bad record does not stop a region.
//
// Heartbeats say that the region's edges may trust what they hold: they are sent
// only while the changelog is really being read, and say until when Redis may still
// hold what is old: during a fill, while a new reader has not reached the end yet, and
// whenever the end that a partition had half a second ago has not been reached.
package apply
