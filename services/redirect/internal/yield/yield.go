// Package yield lets visitors go first.
//
// It promises that whoever calls ToVisitors in between steps of long work keeps an
// event loop on the same processor waiting for one step at most.
package yield

import "time"

// rest is long enough to be no time at all for Go's scheduler to come back at once.
const rest = 100 * time.Microsecond

// ToVisitors parks the calling goroutine for a moment. With one processor
// runtime.Gosched is not enough: Go's scheduler asks the network only when nothing else
// can run, and who has called Gosched can. An event loop would hear of its visitors when
// all of the work is done, or after the ten milliseconds of the runtime's watchdog.
func ToVisitors() {
	timer := time.NewTimer(rest)
	<-timer.C
}
