package bench

import (
	"fmt"
	"net/http"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

// tally counts what became of requests of one kind.
type tally struct {
	sent, right, wrong, failed, unknown, moved int
	clicks                                     int // redirects that arrived
	byCache                                    map[string]int
	examples                                   []string // of what was not right
	latency                                    *hdrhistogram.Histogram
}

func newTally() *tally { return &tally{byCache: map[string]int{}, latency: load.NewHistogram()} }

// examplesKept is how many are kept of each tally.
const examplesKept = 5

// example says what was not right about a visit.
func example(v *load.Visit, edge string, at time.Duration) string {
	what := [...]string{load.Answered: "", load.Refused: "refused", load.CutOff: "cut off", load.TimedOut: "not answered in time", load.Unsent: "not sent in time"}[v.Outcome]
	if v.Outcome == load.Answered {
		what = fmt.Sprintf("%d %.100q from %s", v.Status, v.Location, v.Cache)
	}
	return fmt.Sprintf("%s at %.3f s, link %d: %s after %v", edge, at.Seconds(), v.Key, what, v.Took().Round(time.Microsecond))
}

// add counts a visit. Its latency counts whatever came of it: who waited in vain
// waited, too.
func (t *tally) add(v *load.Visit, right, clicks bool) {
	t.sent++
	t.moved += v.Moved
	switch v.Outcome {
	case load.Answered:
		if right {
			t.right++
		} else {
			t.wrong++
		}
		if clicks && v.Status == http.StatusFound {
			t.clicks++
		}
	case load.Refused, load.Unsent:
		t.failed++
	case load.CutOff, load.TimedOut:
		t.unknown++
	}
	if t.latency != nil {
		load.Record(t.latency, v.Took())
		if v.Outcome == load.Answered {
			t.byCache[string(v.Cache)]++
		}
	}
}

// merge adds another tally to this one.
func (t *tally) merge(o *tally) {
	t.sent, t.right, t.wrong, t.failed = t.sent+o.sent, t.right+o.right, t.wrong+o.wrong, t.failed+o.failed
	t.unknown, t.moved, t.clicks = t.unknown+o.unknown, t.moved+o.moved, t.clicks+o.clicks
	if t.latency == nil || o.latency == nil {
		return
	}
	t.latency.Merge(o.latency)
	t.examples = append(t.examples, o.examples...)
	for name, n := range o.byCache {
		t.byCache[name] += n
	}
}

func (t *tally) row(name string) report.Row {
	return report.Row{
		Name: name, Sent: t.sent, Right: t.right, Wrong: t.wrong, Failed: t.failed, Unknown: t.unknown, Moved: t.moved,
		Examples: t.examples, ByCache: t.byCache, Latency: report.QuantilesOf(t.latency), Spectrum: report.Spectrum(t.latency),
	}
}
