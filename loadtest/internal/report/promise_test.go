package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/report"
)

func held(t *testing.T, p report.Promise) {
	t.Helper()
	if p.Broken {
		t.Errorf("broken: %v", p)
	}
}

func broken(t *testing.T, p report.Promise) {
	t.Helper()
	if !p.Broken {
		t.Errorf("held: %v", p)
	}
}

func TestPromisesAboutAnswers(t *testing.T) {
	phases := func(rows ...report.Row) []report.Phase {
		return []report.Phase{{Name: "a", Rows: rows}, {Name: "b", Rows: rows}}
	}
	good := report.Row{Name: "links", Sent: 10, Right: 10}
	held(t, report.Redirected(phases(good), "links"))
	broken(t, report.Redirected(phases(good), "others"))
	broken(t, report.Redirected(nil, "links"))
	for _, bad := range []report.Row{
		{Name: "links", Sent: 10, Right: 9, Wrong: 1, Examples: []string{"503"}}, {Name: "links", Sent: 10, Right: 9, Failed: 1}, {Name: "links", Sent: 10, Right: 9, Unknown: 1},
	} {
		p := report.Redirected(phases(good, bad), "links")
		broken(t, p)
		if !strings.Contains(p.String(), "promise 5") || !strings.Contains(p.String(), "[a b]") {
			t.Errorf("%v does not say what and where", p)
		}
	}
}

func TestPromisesAboutClicks(t *testing.T) {
	held(t, report.CountedOnce(report.ClickCount{Answered: 5, Counted: 5}))
	broken(t, report.CountedOnce(report.ClickCount{Answered: 5, Counted: 4}))
	broken(t, report.CountedOnce(report.ClickCount{Answered: 5, Counted: 6}))
	held(t, report.CountedOnce(report.ClickCount{Answered: 5, Unknown: 1, Counted: 6}))
	broken(t, report.CountedOnce(report.ClickCount{Answered: 5, Unknown: 1, Counted: 7}))
	broken(t, report.CountedOnce(report.ClickCount{}))
}

func TestPromisesAboutFreshness(t *testing.T) {
	held(t, report.Fresh("e", 9, 50*time.Millisecond))
	broken(t, report.Fresh("e", 9, 51*time.Millisecond))
	broken(t, report.Fresh("e", 0, 0))
	held(t, report.NeverOld("e", 9, 2*time.Second-1))
	broken(t, report.NeverOld("e", 9, 2*time.Second))
	broken(t, report.NeverOld("e", 0, 0))
}

func TestPromisesAboutSpeedAreRelative(t *testing.T) {
	p99 := func(us float64) report.Microseconds { return report.Microseconds{P99: us} }
	held(t, report.AsQuick("e", "f", p99(4000), p99(100), p99(100))) // 2 ms count as healthy
	broken(t, report.AsQuick("e", "f", p99(4001), p99(100), p99(100)))
	held(t, report.AsQuick("e", "f", p99(6000), p99(3000), p99(100)))
	held(t, report.AsQuick("e", "f", p99(6000), p99(100), p99(3000))) // the machine is slower now
	broken(t, report.AsQuick("e", "f", p99(0), p99(100), p99(100)))   // nothing was measured
}

func TestPromisesAboutCaches(t *testing.T) {
	held(t, report.FewOriginCalls(2, 2, 100))
	broken(t, report.FewOriginCalls(3, 2, 100))
	broken(t, report.FewOriginCalls(0, 2, 100)) // then it was not cold
	row := func(hits int) report.Row {
		return report.Row{Sent: 1000, Right: 1000, ByCache: map[string]int{"l1": hits, "l2": 1000 - hits}}
	}
	held(t, report.HitsHold("f", row(1000), row(990)))
	broken(t, report.HitsHold("f", row(1000), row(989)))
	broken(t, report.HitsHold("f", report.Row{}, row(1000)))
}

func TestPromisesAboutLimits(t *testing.T) {
	check := func(want [3]bool, b report.Bucket) {
		t.Helper()
		for i, p := range report.Limited(b) {
			if p.Broken == want[i] {
				t.Errorf("%+v: %v", b, p)
			}
		}
	}
	good := report.Bucket{Capacity: 50, Refill: 10, Seconds: 5, Allowed: 100, Refused: 300}
	check([3]bool{true, true, true}, good)
	more, fewer, silent, never := good, good, good, good
	more.Allowed, fewer.Allowed, silent.NoAdvice, never.Refused = 101, 89, 1, 0
	check([3]bool{false, true, true}, more)
	check([3]bool{true, false, true}, fewer)
	check([3]bool{true, true, false}, silent)
	check([3]bool{false, true, false}, never)
}

func TestGrowthIsOfMedians(t *testing.T) {
	stays := func(slack float64, samples ...float64) report.Promise {
		return report.Stays("memory", samples, slack, report.Count)
	}
	held(t, stays(0, 1, 100, 100, 110))
	broken(t, stays(0, 1, 100, 100, 111))
	held(t, stays(5, 1, 100, 100, 115))
	held(t, stays(0, 1, 1, 1, 100, 100, 100, 100, 100, 100, 100, 900, 100)) // one peak
	broken(t, stays(0, 1, 2, 3))
}

func TestTheVerdictNamesWhatIsBroken(t *testing.T) {
	var r report.Result
	if r.Verdict() == nil {
		t.Error("a result without promises is good")
	}
	r.Promise(report.Done("links", 3, 3), report.Within("all", time.Second, 2*time.Second))
	if err := r.Verdict(); err != nil {
		t.Error(err)
	}
	r.Promise(report.Done("links made", 2, 3))
	r.Cores, r.Load = 2, 1.5
	if err := r.Verdict(); err == nil || err.Error() != "links made: 2 of 3" {
		t.Errorf("%v", err)
	}
	r.Load = 5
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "quiet machine") {
		t.Errorf("%v", err)
	}
	r.Skipped = "no netem"
	if err := r.Verdict(); !errors.Is(err, report.ErrSkipped) || !strings.Contains(err.Error(), "no netem") {
		t.Errorf("%v", err)
	}
}

func TestOnlyTimesThatCannotBeMeasuredAreDoubted(t *testing.T) {
	check := func(lateMS, broken int) {
		t.Helper()
		r := report.Result{Generator: report.Generator{Late: report.Microseconds{P99: float64(lateMS) * 1000}}}
		r.Promise(report.Fresh("e", 9, 999*time.Millisecond), report.NeverOld("e", 9, 3*time.Second), report.Done("links", 1, 2), report.Fresh("e", 9, 0), report.Fresh("e", 9, time.Second), report.Fresh("e", 0, 0))
		r.Doubt()
		if r.BrokenCount() != broken || r.Promises[3].Doubtful {
			t.Errorf("%d ms late: %v", lateMS, r.Promises)
		}
	}
	check(10, 5)
	check(11, 4)
	check(5000, 4) // a second is long enough for everybody
}

func TestWhatStrangersTookIsDoubted(t *testing.T) {
	check := func(mean, worst float64, judged bool) {
		t.Helper()
		r := report.Result{Cores: 2, Strangers: report.Strangers{Mean: mean, Worst: worst}}
		r.Promise(report.Fresh("e", 9, 51*time.Millisecond), report.AsQuick("e", "f", report.Microseconds{P99: 4001}, report.Microseconds{P99: 1}, report.Microseconds{P99: 1}))
		r.Doubt()
		if err := r.Verdict(); errors.Is(err, report.ErrNotJudged) == judged || err == nil {
			t.Errorf("strangers used %.2f and %.2f: %v", mean, worst, err)
		}
		r.Promise(report.Done("links", 1, 2))
		if err := r.Verdict(); err == nil || errors.Is(err, report.ErrNotJudged) {
			t.Errorf("a broken promise beside a doubtful one: %v", err)
		}
	}
	check(0.2, 1, true)
	check(0.21, 1, false)
	check(0.2, 1.01, false)
	r := report.Result{Cores: 2, Strangers: report.Strangers{Mean: 2, Worst: 2}}
	r.Promise(report.Fresh("e", 9, time.Millisecond), report.NeverOld("e", 9, time.Second))
	r.Doubt()
	if err := r.Verdict(); err != nil {
		t.Errorf("what holds beside strangers holds: %v", err)
	}
}
