// Package zipf draws ranks the way visitors choose links: the one of rank r, from
// 0, comes up in proportion to 1/(r+1)^s.
//
// The standard library's generator takes only s > 1; traffic of links and pages
// is near 1, and often a little below.
package zipf

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Distribution of ranks. It is never changed after it was made.
type Distribution struct {
	cumulative []float64 // up to and with each rank; the last is 1
}

// New returns the distribution over n ranks, n at least 1.
func New(n int, s float64) *Distribution {
	d := &Distribution{cumulative: make([]float64, n)}
	var sum float64
	for i := range d.cumulative {
		sum += math.Pow(float64(i+1), -s)
		d.cumulative[i] = sum
	}
	for i := range d.cumulative {
		d.cumulative[i] /= sum
	}
	d.cumulative[n-1] = 1
	return d
}

// Rank is the rank at u, from 0 up to but not 1.
func (d *Distribution) Rank(u float64) int {
	i, found := slices.BinarySearch(d.cumulative, u)
	if found { // a rank's share begins where the one before ends
		i++
	}
	return min(i, len(d.cumulative)-1)
}

// Share is the part of all draws that the first n ranks get.
func (d *Distribution) Share(n int) float64 {
	if n <= 0 {
		return 0
	}
	return d.cumulative[min(n, len(d.cumulative))-1]
}

// Draws returns n ranks, always the same for one seed. Load is drawn before it is
// sent, so that the generator does not pay for it.
func (d *Distribution) Draws(n int, seed uint64) []int32 {
	random := rand.New(rand.NewPCG(seed, 0))
	ranks := make([]int32, n)
	for i := range ranks {
		ranks[i] = int32(d.Rank(random.Float64()))
	}
	return ranks
}
