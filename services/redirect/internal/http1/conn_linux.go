package http1

import "net/netip"

// conn is a connection of a loop, which alone touches it.
type conn struct {
	fd   int
	turn int32 // tells it from others that had its descriptor
	peer netip.Addr

	rest []byte // what has come of a request that is not answered yet
	out  []byte // what the visitor has not taken of an answer
	// since is when it began to wait for what it waits for, in nanoseconds since the
	// engine's start.
	since int64

	owed   int  // answers of this turn that are not written yet
	busy   bool // its request waits for somebody's answer
	eof    bool // the visitor will send nothing more
	ends   bool // nothing more is answered; it is closed when out is gone
	linger bool // then not at once: what is still coming in would destroy the answer
	closed bool
}
