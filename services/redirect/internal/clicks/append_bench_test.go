package clicks

import (
	"strings"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
)

// A round of an event loop with 32 clicks, and clicks one by one.
func BenchmarkAppend(b *testing.B) {
	l, registry := made(b, b.TempDir(), 0, "127.0.0.1:1")
	running(b, l)
	c := click(strings.Repeat("u", 200))
	var batch Batch
	one := func() {
		batch.Add(c)
		l.Append(&batch)
	}
	full := func() bool {
		one()
		return facttest.Metric(b, registry, "clicks_dropped_total", "journal_full") > 0
	}
	round := func() {
		for range 32 {
			batch.Add(c)
		}
		l.Append(&batch)
	}
	deadline := time.Now().Add(10 * time.Second)
	for !full() && time.Now().Before(deadline) { // at its bound the journal waits for no new segment
		for range 1000 {
			round()
		}
	}
	b.Run("round of 32", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			round()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*32), "ns/click")
	})
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one()
		}
	})
}
