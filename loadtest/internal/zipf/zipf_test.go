package zipf_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/zipf"
)

func TestRanksGetTheirShare(t *testing.T) {
	d := zipf.New(3, 1) // 1, 1/2, 1/3: 6/11, 3/11, 2/11
	check := func(u float64, want int) {
		t.Helper()
		if got := d.Rank(u); got != want {
			t.Errorf("Rank(%v) = %d, want %d", u, got, want)
		}
	}
	check(0, 0)
	check(6./11-1e-9, 0)
	check(6./11+1e-9, 1)
	check(9./11-1e-9, 1)
	check(9./11+1e-9, 2)
	check(math.Nextafter(1, 0), 2)
	for n, want := range []float64{0, 6. / 11, 9. / 11, 1, 1} {
		if got := d.Share(n); math.Abs(got-want) > 1e-12 {
			t.Errorf("Share(%d) = %v, want %v", n, got, want)
		}
	}
	if got := zipf.New(1, 0.9).Rank(0.999); got != 0 {
		t.Errorf("the only rank is %d", got)
	}
}

func TestDrawsFollowTheDistribution(t *testing.T) {
	const n, draws = 1000, 200_000
	d := zipf.New(n, 1)
	ranks := d.Draws(draws, 1)
	if !slices.Equal(ranks[:100], d.Draws(100, 1)) {
		t.Error("one seed gave two sequences")
	}
	counts := make([]int, n)
	for _, r := range ranks {
		counts[r]++
	}
	for _, r := range []int{0, 1, 9, 99} {
		want := draws * (d.Share(r+1) - d.Share(r))
		if got := float64(counts[r]); math.Abs(got-want) > 6*math.Sqrt(want) {
			t.Errorf("rank %d was drawn %v times, want about %.0f", r, got, want)
		}
	}
}

func TestWhatWasRecordedIsDrawnAgain(t *testing.T) {
	counts, err := zipf.ReadCounts(strings.NewReader("# visits\na 10\n\nlaunch 80 # hot\n10\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zipf.Recorded(counts)
	if err != nil || d.Ranks() != 3 || d.Share(1) != 0.8 || d.Rank(0.79) != 0 || d.Rank(0.95) != 2 {
		t.Errorf("%v of %v, %v", d, counts, err)
	}
	for _, bad := range []string{"a b c\n", "a\n", "a 1 2\n"} {
		if _, err := zipf.ReadCounts(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	for _, bad := range [][]int{nil, {0}, {1, -1}} {
		if _, err := zipf.Recorded(bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}
