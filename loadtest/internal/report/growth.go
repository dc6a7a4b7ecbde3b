package report

import (
	"fmt"
	"slices"
)

// growShare is the share of what it was by which a value may differ without being said
// to grow.
const growShare = 0.10

// Stays wants a value, sampled at regular times, not to grow: the median of its last
// quarter against that of its second. The first is for warming up, and the largest
// values say when a collector ran and not what is held.
func Stays(what string, samples []float64, slack float64, show func(float64) string) Promise {
	p := Promise{What: what + " does not grow"}
	quarter := len(samples) / 4
	if quarter == 0 {
		p.Measured, p.Broken = fmt.Sprintf("only %d samples", len(samples)), true
		return p
	}
	early, late := middle(samples[quarter:2*quarter]), middle(samples[len(samples)-quarter:])
	p.Measured = fmt.Sprintf("%s, then %s", show(early), show(late))
	p.Broken = late > early*(1+growShare)+slack
	return p
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// Megabytes shows bytes.
func Megabytes(bytes float64) string { return fmt.Sprintf("%.0f MB", bytes/1e6) }

// Count shows a number.
func Count(n float64) string { return fmt.Sprintf("%.0f", n) }

// Bucket is what a limit of capacity and refill let through.
type Bucket struct {
	Capacity, Refill float64
	Seconds          float64 // from the first call to the last answer
	Allowed, Refused int
	// NoAdvice counts refusals that did not say when to come again.
	NoAdvice, Other int
}

// Limited wants a bucket to let through what it has, to the token, and to say when to
// come again.
func Limited(b Bucket) []Promise {
	most := b.Capacity + b.Refill*b.Seconds
	// A caller who keeps coming takes what comes back, but for what comes between its
	// last calls and the end.
	const least = 0.9
	return []Promise{
		{
			What:     "a key is allowed no more than its limit",
			Measured: fmt.Sprintf("%d calls in %.2f s, at most %.0f", b.Allowed, b.Seconds, most),
			Broken:   float64(b.Allowed) > most || b.Refused == 0,
		},
		{
			What:     "a key gets what its limit allows",
			Measured: fmt.Sprintf("%d calls, at least %.0f", b.Allowed, least*most),
			Broken:   float64(b.Allowed) < least*most,
		},
		{
			What:     "who is refused is told when to come again",
			Measured: fmt.Sprintf("%d of %d refusals; %d other answers", b.Refused-b.NoAdvice, b.Refused, b.Other),
			Broken:   b.NoAdvice > 0 || b.Other > 0 || b.Refused == 0,
		},
	}
}
