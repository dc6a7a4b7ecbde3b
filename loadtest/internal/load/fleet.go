package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Outcome is what came of one request.
type Outcome uint8

// The outcomes. Only of a request that was sent and not answered is it unknown
// whether the server has seen it.
const (
	Answered Outcome = iota
	Refused          // there was no server to connect to
	CutOff           // sent, and the connection ended before the answer did
	TimedOut         // sent, and not answered in time
	Unsent           // no connection came to be in time
)

// Fleet is an open load over several servers that outlives them: a request that
// cannot be sent, or that gets no answer, is an outcome and not the end of the load.
// One thread sends what is due and takes what comes; a latency is counted from the
// time a request was due.
type Fleet struct {
	Servers     []Server
	Connections int     // to each server at most
	Rate        float64 // a second, over all servers
	// Count is how many requests; none for as many as fit in until the context ends.
	Count int
	// Limit is how long after it was due a request may be answered.
	Limit time.Duration
	// Balance sends a request that its server did not take to the next one, as a load
	// balancer does: one that was refused, and one whose connection the server closed
	// without a word.
	Balance bool
	// Next is what the request number i asks. The bytes are read at once.
	Next func(i int) Question
	// Seen is told what came of each, by the thread that sends: it has to be quick.
	// What it is given is valid until it returns.
	Seen func(v *Visit)
}

// Server is one of a fleet.
type Server struct {
	Addr string // an IP address and a port
	// Enter, if any, is called by the load's thread before it makes a connection, and
	// what it returns after: a server may be in a network of its own.
	Enter func() (leave func() error, err error)
}

// Question is what to ask, and whom.
type Question struct {
	Server  int
	Request []byte
	Class   uint8 // for who asks
	Key     int32 // for who asks
}

// Visit is one request and what came of it.
type Visit struct {
	Server   int // that it was sent to last
	Class    uint8
	Key      int32
	Moved    int // how often it was sent to another server instead
	Due      time.Time
	Sent     time.Time // last; zero if it was not
	Ended    time.Time
	Outcome  Outcome
	Status   int
	Location []byte
	Cache    []byte // which one says that it answered
}

// Took is how long the visitor waited.
func (v *Visit) Took() time.Duration { return v.Ended.Sub(v.Due) }

// Course is how a load went, seen from the generator.
type Course struct {
	Requests int
	Took     time.Duration
	// Late is how long after a request was due the generator came to it, in
	// nanoseconds: its own fault, or that of the machine.
	Late *hdrhistogram.Histogram
	// Behind counts requests for which no connection was free when the generator came
	// to them: the servers' fault.
	Behind int
	// CPU is processor time that the generator's thread used, and with it the
	// callbacks.
	CPU time.Duration
}

// Share is how many processors the generator used.
func (c *Course) Share() float64 {
	if c.Took <= 0 {
		return 0
	}
	return c.CPU.Seconds() / c.Took.Seconds()
}

// NewHistogram is one for latencies in nanoseconds, up to ten seconds.
func NewHistogram() *hdrhistogram.Histogram { return newHistogram() }

// Record adds a latency; what is longer than the histogram counts as its longest.
func Record(h *hdrhistogram.Histogram, took time.Duration) {
	const shortest, longest = 1000, int64(10 * time.Second)
	_ = h.RecordValue(min(max(took.Nanoseconds(), shortest), longest)) // in its range
}
