// Package zipf draws ranks the way visitors choose links: the one of rank r, from
// 0, comes up in proportion to 1/(r+1)^s.
//
// The standard library's generator takes only s > 1; traffic of links and pages
// is near 1, and often a little below.
package zipf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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

// Recorded returns the distribution of what was recorded: how often each link was
// visited, in any order.
func Recorded(counts []int) (*Distribution, error) {
	sorted := slices.SortedFunc(slices.Values(counts), func(a, b int) int { return b - a })
	d := &Distribution{}
	sum := 0.0
	for _, n := range sorted {
		if n < 0 {
			return nil, errors.New("a link was visited less than never")
		}
		sum += float64(n)
		d.cumulative = append(d.cumulative, sum)
	}
	if sum == 0 {
		return nil, errors.New("no link was visited")
	}
	for i := range d.cumulative {
		d.cumulative[i] /= sum
	}
	d.cumulative[len(sorted)-1] = 1
	return d, nil
}

// ReadCounts reads lines of a slug and how often it was visited, as log tools print
// them, with the number last ("launch 153"); # begins a comment.
func ReadCounts(r io.Reader) ([]int, error) {
	var counts []int
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		n, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil || len(fields) > 2 {
			return nil, fmt.Errorf("line %d: %q is not a slug and a number", number, lines.Text())
		}
		counts = append(counts, n)
	}
	return counts, lines.Err()
}

// Ranks is how many there are.
func (d *Distribution) Ranks() int { return len(d.cumulative) }

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
