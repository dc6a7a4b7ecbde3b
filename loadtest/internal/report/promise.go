package report

import (
	"fmt"
	"slices"
	"time"
)

// What is promised, in numbers.
const (
	// FreshP99 and FreshWorst are how long an edge may serve what has been changed.
	FreshP99   = 50 * time.Millisecond
	FreshWorst = 2 * time.Second
	// quick is what counts as the healthy p99 at least: below it a machine that runs
	// the whole system on two processors measures its own scheduler.
	quick = 2 * time.Millisecond
	// lowerHits is how much of the hit rate a crowd may cost the links that are
	// visited all the time.
	lowerHits = 0.01
)

// Promise is something that the architecture promises, and what was measured of it.
type Promise struct {
	// Number of the promise in the architecture, 1 to 6, or 0 for one of the scenario.
	Number   int    `json:"number,omitempty"`
	What     string `json:"what"`
	Measured string `json:"measured"`
	Broken   bool   `json:"broken"`
	// Doubtful is what looks broken on a machine that cannot measure it.
	Doubtful bool `json:"doubtful,omitempty"`
	// limit is the time that the promise is about, where it is measured by the clock,
	// and took what was measured.
	limit, took time.Duration
}

func (p Promise) String() string {
	text := p.What + ": " + p.Measured
	if p.Number > 0 {
		text = fmt.Sprintf("promise %d, %s", p.Number, text)
	}
	return text
}

func (p Promise) mark() string {
	switch {
	case p.Broken:
		return "BROKEN  "
	case p.Doubtful:
		return "doubtful"
	}
	return "held    "
}

// Redirected wants the right answer for every request of a row, in all phases.
func Redirected(phases []Phase, row string) Promise {
	p := Promise{Number: 5, What: "every visitor of " + row + " gets the right answer"}
	var sent, right, wrong, failed, unknown int
	var where, examples []string
	for _, phase := range phases {
		for _, r := range phase.Rows {
			if r.Name != row {
				continue
			}
			sent, right, wrong, failed, unknown = sent+r.Sent, right+r.Right, wrong+r.Wrong, failed+r.Failed, unknown+r.Unknown
			if !r.Good() {
				where = append(where, phase.Name)
				examples = append(examples, r.Examples...)
			}
		}
	}
	p.Broken = right != sent || sent == 0
	p.Measured = fmt.Sprintf("%d of %d", right, sent)
	if p.Broken {
		p.Measured += fmt.Sprintf("; %d wrong, %d failed, %d without an answer, in %v", wrong, failed, unknown, slices.Compact(where))
		if len(examples) > 0 {
			p.Measured += "; the first: " + examples[0]
		}
	}
	return p
}

// CountedOnce wants the summary to show every redirect that was answered, and nothing
// beyond those whose answer got lost.
func CountedOnce(c ClickCount) Promise {
	p := Promise{
		Number: 4, What: "every redirect is counted once",
		Measured: fmt.Sprintf("%d counted of %d answered", c.Counted, c.Answered),
		Broken:   c.Counted < c.Answered || c.Counted > c.Answered+c.Unknown || c.Answered == 0,
	}
	if c.Unknown > 0 {
		p.Measured += fmt.Sprintf(" and %d whose answer got lost", c.Unknown)
	}
	return p
}

// Fresh wants the 99th percentile, over edits and edges, of how long an old target
// was still served.
func Fresh(edge string, sightings int, p99 time.Duration) Promise {
	return Promise{
		Number: 1, What: fmt.Sprintf("%s serves a new target within %v (p99)", edge, FreshP99),
		Measured: fmt.Sprintf("%s over %d edits", Duration(p99), sightings),
		Broken:   p99 > FreshP99 || sightings == 0, limit: FreshP99, took: p99,
	}
}

// NeverOld wants no old target later than the limit, whatever is broken.
func NeverOld(edge string, sightings int, worst time.Duration) Promise {
	return Promise{
		Number: 1, What: fmt.Sprintf("%s serves no old target later than %v", edge, FreshWorst),
		Measured: fmt.Sprintf("%s at most, over %d edits", Duration(worst), sightings),
		Broken:   worst >= FreshWorst || sightings == 0,
	}
}

// AsQuick wants visitors not to notice that something is broken: a p99 of at most
// twice the healthy one, or of what answers without any look-up take at the same
// time, where the machine is slower now.
func AsQuick(edge, phase string, fault, healthy, nothing Microseconds) Promise {
	limit := 2 * max(healthy.P99, nothing.P99, float64(quick.Microseconds()))
	ms := func(us float64) string { return Duration(time.Duration(us * 1000)) }
	return Promise{
		Number: 5, What: fmt.Sprintf("%s is as quick while %s", edge, phase),
		Measured: fmt.Sprintf("p99 %s, at most %s (healthy %s, without a look-up %s)", ms(fault.P99), ms(limit), ms(healthy.P99), ms(nothing.P99)),
		Broken:   fault.P99 > limit || fault.P99 == 0,
		limit:    time.Duration(limit * 1000), took: time.Duration(fault.P99 * 1000),
	}
}

// FewOriginCalls wants a cold link to be asked for once and not by every visitor.
func FewOriginCalls(calls, most, visitors int) Promise {
	return Promise{
		What:     fmt.Sprintf("a cold link costs the origin %d calls at most", most),
		Measured: fmt.Sprintf("%d for %d visitors", calls, visitors),
		Broken:   calls > most || calls < 1 || visitors == 0,
	}
}

// HitsHold wants the links that are visited all the time to stay in memory.
func HitsHold(phase string, before, during Row) Promise {
	was, is := before.HitRate(), during.HitRate()
	return Promise{
		What:     "hot links stay in memory while " + phase,
		Measured: fmt.Sprintf("%.2f %% of answers, %.2f %% before", 100*is, 100*was),
		Broken:   is < was-lowerHits || before.Sent == 0 || during.Sent == 0,
	}
}

// HitRate is the share of answers that came from memory.
func (r *Row) HitRate() float64 {
	if r.Right == 0 {
		return 0
	}
	return float64(r.ByCache["l1"]) / float64(r.Right)
}

// Done wants something to be complete.
func Done(what string, got, want int) Promise {
	return Promise{What: what, Measured: fmt.Sprintf("%d of %d", got, want), Broken: got != want || want == 0}
}

// Within wants something to have taken no longer than a limit.
func Within(what string, took, limit time.Duration) Promise {
	return Promise{What: fmt.Sprintf("%s within %v", what, limit), Measured: Duration(took), Broken: took > limit}
}
