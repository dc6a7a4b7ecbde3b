// Package sender brings clicks from the journal to the broker, each once.
//
// It promises that a click is on its way 100 ms after it was appended at the
// latest, that clicks of one transaction and the journal's checkpoint become
// visible together or not at all, and that it goes on by itself after a broker
// that was away, was killed or did not answer: it holds one transaction's worth of
// memory, and everything else waits in the journal. It refuses to fight: when
// another process takes the edge's name, it stops and says so.
//
// # A transaction
//
// All records of a transaction go to one partition, the next one each time. That
// makes big batches and few markers, and the outcome of a transaction is decided by
// one record of the log. The checkpoint is the offset of a consumer group with the
// edge's name, committed inside the transaction; its metadata says which journal it
// is of, so a new disk starts from its own beginning.
//
// # When the outcome is not known
//
// After any error, whatever it was, the session is thrown away. The next one takes
// the transactional id again (which makes the broker finish or abort what was open
// and refuse whatever is still under way), aborts a transaction over every
// partition and the group, waits until none of them has anything of it open, and only
// then reads the checkpoint. That is not the whole truth in three cases: a broker that
// is killed between the record that ends a transaction and the offset that belongs to
// it (the embedded broker is not atomic there), a group whose offsets were deleted for
// age (seven days without a click), and a broker that has decided to commit and does
// not tell the partition, or the group (Apache Kafka, see closed). Therefore the
// journal notes, before the end of a transaction is asked for, where its first record
// lies, and counts the transaction as sent when its partition has nothing open any
// more. One that was noted and is not sent is looked up in the topic: the record can be
// read, or is sent again.
//
// # Why not the client's own producer
//
// It makes an object, a promise and several allocations of every record, which is
// more work than all the rest together, and shares its core with the redirects.
// Here the batch is written from the journal's bytes. What the client's producer
// would do beyond that (retries, sequence numbers after errors) is not needed:
// every error ends the session.
package sender
