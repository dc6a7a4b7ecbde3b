// Package option decides by a link's options which target a visitor gets.
//
// A record's options are compiled once, when the record enters the edge's memory, into a
// Program: bytes without a pointer, which stand beside the link's other texts and count
// in the cache's budget like them. A visit is decided by reading those bytes.
//
// It promises that a decision allocates nothing and takes microseconds whatever the
// visitor sent, that the first rule whose conditions all hold wins, that a condition of
// a kind that this release does not know never holds, and that a visitor (an address and
// an agent) gets the same variant of a link at every edge.
//
// It refuses to guess: where a visitor is, or what the agent is, that nobody can tell
// fits no value.
package option
