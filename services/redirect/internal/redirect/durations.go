package redirect

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
)

// bounds of the buckets of redirect_duration_seconds.
const buckets = 14

func bounds() [buckets]time.Duration {
	const micro, milli = time.Microsecond, time.Millisecond
	return [buckets]time.Duration{
		10 * micro, 25 * micro, 50 * micro, 100 * micro, 250 * micro, 500 * micro, 1 * milli,
		2500 * micro, 5 * milli, 10 * milli, 25 * milli, 100 * milli, 500 * milli, 2500 * milli,
	}
}

// durations is the histogram redirect_duration_seconds. The answers of one turn of an
// event loop leave together and are observed together, which the client library's
// histogram cannot do.
type durations struct {
	by [lookup.Sources + 1]struct {
		counts [buckets + 1]atomic.Uint64
		sum    atomic.Int64 // nanoseconds
	}
}

func (d *durations) observe(source int, took time.Duration, n uint64) {
	by, bucket := &d.by[source], buckets
	for i, bound := range bounds() {
		if took <= bound {
			bucket = i
			break
		}
	}
	by.counts[bucket].Add(n)
	by.sum.Add(int64(took) * int64(n))
}

func (*durations) desc() *prometheus.Desc {
	return prometheus.NewDesc("redirect_duration_seconds",
		"From the read request to the finished answer, by what answered the look-up.", []string{"cache"}, nil)
}

// Describe implements prometheus.Collector.
func (d *durations) Describe(to chan<- *prometheus.Desc) { to <- d.desc() }

// Collect implements prometheus.Collector.
func (d *durations) Collect(to chan<- prometheus.Metric) {
	for source := range d.by {
		label := "none"
		if source != notLookedUp {
			label = lookup.Source(source).String()
		}
		by, total, below := &d.by[source], uint64(0), map[float64]uint64{}
		for i, bound := range bounds() {
			total += by.counts[i].Load()
			below[bound.Seconds()] = total
		}
		total += by.counts[buckets].Load()
		to <- prometheus.MustNewConstHistogram(d.desc(), total, time.Duration(by.sum.Load()).Seconds(), below, label)
	}
}

// tally counts the answers of one turn.
type tally struct {
	began time.Time
	by    [lookup.Sources + 1]uint64
}

func (t *tally) add(source lookup.Source, began time.Time) {
	t.by[source]++
	t.began = began
}

func (t *tally) flush(m *metrics) {
	if t.began.IsZero() {
		return
	}
	took := time.Since(t.began)
	for source, n := range t.by {
		if n > 0 {
			m.duration.observe(source, took, n)
		}
	}
	*t = tally{}
}
