package bench

import (
	"testing"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/load"
	"github.com/linkstream/linkstream/loadtest/internal/report"
)

func TestATargetSaysWhichEditItIs(t *testing.T) {
	for _, n := range []int{0, 1, 12} {
		if got, ok := editIn([]byte(targetOf(7, n)), 7); !ok || got != n {
			t.Errorf("edit %d is taken for %d, %v", n, got, ok)
		}
	}
	for _, bad := range []string{"", targetOf(8, 0), targetOf(8, 3), targetOf(7, 3) + "x", "https://e.test/" + editMark + "3"} {
		if n, ok := editIn([]byte(bad), 7); ok {
			t.Errorf("%q is taken for edit %d of link 7", bad, n)
		}
	}
}

func TestAnOldTargetCountsFromTheAcknowledgment(t *testing.T) {
	b := &Bench{Edges: []Edge{{Name: "a"}, {Name: "b"}}}
	w := b.Watch([]Link{{Number: 7}})
	acked := w.start.Add(time.Second)
	w.acked[7] = append(w.acked[7], acked)
	at := func(ms int) time.Time { return acked.Add(time.Duration(ms) * time.Millisecond) }
	saw := func(edge, n, sent, ended int) {
		w.Saw(&load.Visit{
			Server: edge, Key: 7, Status: 302, Location: []byte(targetOf(7, n)),
			Sent: at(sent), Ended: at(ended),
		})
	}
	saw(0, 0, -1, 40) // sent before: it may be old
	saw(0, 1, 5, 9)
	saw(0, 0, 30, 31) // and then one that is not
	saw(0, 1, 50, 51)
	saw(1, 1, -5, -1) // before the acknowledgment
	saw(1, 2, 90, 91) // an edit that is not acknowledged yet
	got := w.Sighted()
	ms := time.Millisecond
	if got[0].LastWorst != 30*ms || got[0].FirstP50 != 9*ms || got[0].Edits != 1 || got[1].LastWorst != 0 || got[1].FirstP99 != 0 {
		t.Errorf("%+v", got)
	}
	var r report.Result
	w.Report(&r, true)
	if err := r.Verdict(); err != nil {
		t.Error(err)
	}
	saw(1, 0, 2000, 2001)
	r = report.Result{}
	w.Report(&r, true)
	if r.BrokenCount() != 2 { // 50 ms and two seconds
		t.Errorf("%v", r.Promises)
	}
}

func TestQuantilesAreValuesThatWereMeasured(t *testing.T) {
	values := make([]time.Duration, 100)
	for i := range values {
		values[i] = time.Duration(i + 1)
	}
	for q, want := range map[int]time.Duration{0: 1, 50: 50, 99: 99, 100: 100} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %d is %d", q, got)
		}
	}
	if quantile(nil, 99) != 0 || quantile(values[:3], 99) != 3 {
		t.Error("few values")
	}
}
