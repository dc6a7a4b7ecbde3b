// Package paired compares two things that were measured in turn. Noise of the
// machine lasts longer than a pair and meets both of it, so ratios within pairs
// are compared, never sums over all.
package paired

import "slices"

// Ratios of pairs.
type Ratios struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Compare returns the ratios ours/theirs of pairs, of which there is at least one.
// A pair without a measurement of theirs counts as zero: it proves nothing.
func Compare(ours, theirs []float64) Ratios {
	ratios := make([]float64, len(ours))
	for i := range ours {
		if theirs[i] > 0 {
			ratios[i] = ours[i] / theirs[i]
		}
	}
	return Ratios{Median: Median(ratios), Min: slices.Min(ratios), Max: slices.Max(ratios)}
}

// Median of at least one value.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// FirstIsOurs says who goes first in the pair number i: in turn, so that a machine
// that gets slower, or warmer, does not favour one.
func FirstIsOurs(i int) bool { return i%2 == 0 }
