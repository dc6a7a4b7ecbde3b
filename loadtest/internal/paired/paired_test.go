package paired_test

import (
	"testing"

	"github.com/linkstream/linkstream/loadtest/internal/paired"
)

func TestCompare(t *testing.T) {
	check := func(ours, theirs []float64, want paired.Ratios) {
		t.Helper()
		if got := paired.Compare(ours, theirs); got != want {
			t.Errorf("Compare(%v, %v) = %+v, want %+v", ours, theirs, got, want)
		}
	}
	check([]float64{3}, []float64{4}, paired.Ratios{Median: 0.75, Min: 0.75, Max: 0.75})
	check([]float64{1, 8, 3}, []float64{2, 4, 3}, paired.Ratios{Median: 1, Min: 0.5, Max: 2})
	check([]float64{1, 2}, []float64{2, 2}, paired.Ratios{Median: 0.75, Min: 0.5, Max: 1})
	check([]float64{1, 2, 2}, []float64{0, 2, 2}, paired.Ratios{Median: 1, Min: 0, Max: 1})
	// A slow second half of the run halves both, and changes nothing.
	check([]float64{100, 100, 50, 50}, []float64{80, 80, 40, 40}, paired.Ratios{Median: 1.25, Min: 1.25, Max: 1.25})
}

func TestTheyTakeTurns(t *testing.T) {
	if !paired.FirstIsOurs(0) || paired.FirstIsOurs(1) || !paired.FirstIsOurs(2) {
		t.Error("one goes first twice in a row")
	}
}
