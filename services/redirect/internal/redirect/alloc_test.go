//go:build !race

package redirect_test

import (
	"bytes"
	"testing"

	"github.com/linkstream/linkstream/events/eventspb"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/tracetest"
	"github.com/linkstream/linkstream/services/redirect/internal/redirect"
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

// Nor does one where some are followed and it is not, whoever asks for it to be: there is
// a collector, and nothing is made for it.
//
// Guards I99.
func TestAHitThatIsNotFollowedStaysInBudget(t *testing.T) {
	collector := tracetest.Start(t)
	tracer := newTracer(collector.URL)
	for _, share := range []float64{0, 1e-9} {
		w := newTracedBench(t, redirect.Limit{}, tracer, share)
		w.put("launch", 302, linkcache.Record{Destination: "https://e.test/"})
		for name, c := range map[string]*call{"nobody": request("GET", "/launch"), "a stranger": request("GET", "/launch")} {
			if name == "a stranger" {
				c.req.Traceparent = []byte("00-" + callersTrace + "-" + callersSpan + "-01")
			}
			facttest.Eventually(t, "it is a hit", func() bool { return w.hits(c) })
			if got := testing.AllocsPerRun(500, func() { w.serve(c) }); got > 0 || !w.hits(c) {
				t.Errorf("with a share of %v, a hit that %s wants followed allocates %v times: %s", share, name, got, c.buf)
			}
		}
	}
	tracetest.Sent(t, tracer.Run)
	if spans := collector.Take(); len(spans) > 0 {
		t.Errorf("they left the spans %+v", spans)
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
