package apply

import (
	"testing"
	"time"
)

func TestAPartitionIsBehindTheEndItHadAMomentAgo(t *testing.T) {
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	p := &partition{next: 10, moved: at(-3600)}
	check := func(second float64, end int64, behind, stuck bool) {
		t.Helper()
		if got := p.check(end, at(second)); got != stuck || p.ends.behind != behind {
			t.Errorf("after %v s with the end at %d: behind %t, stuck %t; want %t, %t", second, end, p.ends.behind, got, behind, stuck)
		}
	}
	check(0, 11, false, false) // it may have been written just now
	check(0.5, 11, true, false)
	check(2, 11, true, false)
	check(2.6, 11, true, true)  // fetched anew
	check(3.1, 11, true, false) // and given time
	p.next, p.moved = 11, at(3.2)
	check(3.6, 11, false, false)
	check(4, 12, false, false)
	for second := 4.5; second < 19; second += 0.5 {
		p.check(12, at(second))
	}
	check(20, 12, false, false) // the offset before the end is a gap
	check(20.5, 12, false, false)
	check(21, 13, false, false)
	check(21.5, 13, true, false)
}
