// Package lookup finds the record of an address: in this process (L1), in the
// region's Redis (L2), or by asking the links service (origin).
//
// What it promises, by number, with a test for each:
//
//  1. Never below the floor. Once this process has heard that a key is at revision
//     N, no answer below N is stored or served, whichever way it came: a fill that
//     read before the change, a lagging replica, an origin answer from before the
//     commit. The newest revisions heard of are the floors (floors.go). What may have
//     been missed has no floor: for a while after a flush no replica is read. A hit
//     checks its floor too, so a write that L1 had buffered when the invalidation
//     came cannot bring the old entry back; and after storing, a fill looks at the
//     floor once more and removes what it stored, so that the old entry is gone
//     before its floor is.
//  2. Never across a flush. A flush moves the epoch. Every entry carries the epoch
//     at which its fill began, and an entry of an older epoch is not trusted, so a
//     fill that began before a flush cannot pass for fresh, however late it ends.
//  3. Never wrong for long. An invalidation that did not arrive is noticed by its
//     position, a lost connection by the subscription, silence by the lease: an
//     entry is trusted only while heartbeats come (Lease), and for one second after
//     the origin itself confirmed it. A lost connection shortens the lease to what it
//     takes to confirm at the origin what is visited (confirmAhead). While heartbeats
//     are missing, or say that Redis is being filled, L2 is not trusted either: the
//     origin is asked first. A fill gives no lease: what is changed meanwhile is
//     announced at its end.
//  4. Never empty-handed. A flush does not throw entries away, it only makes them
//     ask again. When neither L2 nor the origin answers, an entry goes on being
//     served, for StaleFor at most and never below its floor, and is counted.
//  5. Never a false "no". When nobody could be asked, the answer is ErrUnavailable,
//     not "unknown link".
//  6. Never a stampede. One question per key at a time (and one for monitors), a
//     bound on questions to the origin, circuit breakers before Redis and the origin.
//  7. Never late for what is visited all the time. A hit on an entry past about half of
//     its life starts one fill in the background, and is served at once (refresh.go).
//     When the trust is about to end for another reason (heartbeats are late, or only
//     the origin vouches for an entry) the origin is asked in the same way. And when
//     whoever could be asked has left the last question unanswered for 50 ms, nobody
//     who can be served waits for the next: they are asked behind the visitors' backs,
//     and by a probe that needs no visitor, until they answer (silence.go).
//  8. Never crowded out. What is asked for once does not displace what is visited all
//     the time (the cache's admission), and a look-up for a monitor leaves no trace in
//     L1 at all (probe.go).
//  9. Never what was read before a purge. From a purge's first moment on, nothing of
//     its key that was read before is stored or served, fresh or stale, whatever its
//     revision: neither an entry, nor the answer of a fill under way. Until Redis holds
//     the truth that the purge brought, the origin is asked; after that the primary,
//     for as long as a replica may lag (purge.go).
//  10. Never more than its budget. L1 holds what fits, by what an entry takes of the heap
//     and not by its text alone (packed.go), and Resident says what is beside it.
//
// A hit allocates nothing and logs nothing.
package lookup
