//go:build !race

package redirect_test

import (
	"bytes"
	"testing"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// A hit allocates nothing, its click included, nor does it on a domain whose slugs
// ignore case.
//
// Guards I14.
func TestHitStaysInBudget(t *testing.T) {
	w := newBench(t, unlimited())
	// Nobody announces anything here: the origin's own word is good for a second,
	// and the measurement is done by then.
	w.put("launch", 302, linkcache.Record{Destination: "https://e.test/"})
	measure := func(method string) {
		t.Helper()
		rc := request(method, "/Launch?utm_source=x")
		facttest.Eventually(t, "it is a hit", func() bool { return w.hits(rc) })
		got := testing.AllocsPerRun(500, func() { w.serve(rc) })
		if !w.hits(rc) || rc.res.Code() != 302 {
			t.Fatalf("%s: not a hit: %s", method, rc.buf)
		}
		t.Logf("%s: %v allocations", method, got)
		if got > 0 {
			t.Errorf("%s: a hit allocates %v times", method, got)
		}
	}
	measure("HEAD")
	measure("GET")
	if got := facttest.Metric(t, w.registry, "ratelimit_allowed_total", "edge"); got < 1000 {
		t.Errorf("the limit was asked %v times", got)
	}
}

// Nor does a hit on a link that rules and a split decide.
//
// Guards I61.
func TestADecidedHitStaysInBudget(t *testing.T) {
	w := newBench(t, unlimited())
	ev := change("s.test", "ruled", linkcache.Record{Destination: "https://e.test/", Version: 1, Revision: 1}, 302)
	for range 9 {
		ev.Rules = append(ev.Rules, rule("https://phone.test/", eventspb.Condition_KIND_DEVICE, "mobile"))
	}
	ev.Rules = append(ev.Rules, rule("https://query.test/", eventspb.Condition_KIND_QUERY, "utm_source=y"))
	ev.Split = to("https://variant.test/")
	ev.ForwardQuery = eventspb.LinkChanged_FORWARD_QUERY_ADD
	w.origin.Put(ev)
	rc := request("GET", "/ruled?utm_source=x")
	facttest.Eventually(t, "it is a hit", func() bool { return w.hits(rc) })
	got := testing.AllocsPerRun(500, func() { w.serve(rc) })
	if !w.hits(rc) || !bytes.Contains(rc.buf, []byte("Location: https://variant.test/?utm_source=x\r\n")) {
		t.Fatalf("not a hit: %s", rc.buf)
	}
	if got > 0 {
		t.Errorf("a decided hit allocates %v times", got)
	}
}
