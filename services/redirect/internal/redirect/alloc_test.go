//go:build !race

package redirect_test

import (
	"testing"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// A HEAD is the whole hit without the click: nothing may be allocated. A GET may
// allocate what it gives away: the click's bytes, its record, and what franz-go
// keeps of it.
const (
	headAllocs = 0
	getAllocs  = 6
)

func TestHitStaysInBudget(t *testing.T) {
	w := newBench(t, unlimited())
	// Nobody announces anything here: the origin's own word is good for a second,
	// and the measurement is done by then.
	w.put("launch", 302, linkcache.Record{Destination: "https://e.test/"})
	measure := func(method string, budget float64) {
		t.Helper()
		rc := request(method, "/launch?utm_source=x")
		facttest.Eventually(t, "it is a hit", func() bool { return w.hits(rc) })
		got := testing.AllocsPerRun(500, func() { w.serve(rc) })
		if !w.hits(rc) || rc.res.Code() != 302 {
			t.Fatalf("%s: not a hit: %s", method, rc.buf)
		}
		t.Logf("%s: %v allocations", method, got)
		if got > budget {
			t.Errorf("%s: a hit allocates %v times, the budget is %v", method, got, budget)
		}
	}
	measure("HEAD", headAllocs)
	measure("GET", getAllocs)
	if got := facttest.Metric(t, w.registry, "ratelimit_allowed_total", "edge"); got < 1000 {
		t.Errorf("the limit was asked %v times", got)
	}
}
