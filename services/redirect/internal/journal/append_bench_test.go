package journal

import "testing"

// Guards I13.
func TestAppendStaysInBudget(t *testing.T) {
	j := open(t, t.TempDir(), 256<<20)
	body := payload(nil, 0, 10, 300)
	if got := testing.AllocsPerRun(1000, func() {
		if !j.Append(body, 10, 1) {
			t.Fatal("not taken")
		}
	}); got != 0 {
		t.Errorf("appending allocates %v times", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, bench := range []struct {
		name  string
		count int
	}{{"1", 1}, {"32", 32}} {
		b.Run(bench.name, func(b *testing.B) {
			j := open(b, b.TempDir(), 64<<20)
			body := payload(nil, 0, bench.count, 300)
			for j.Stats().Full == 0 { // at its bound every segment is there, so nothing waits for one
				if !j.Append(body, bench.count, 1) {
					j.prepare()
				}
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				j.Append(body, bench.count, 1)
			}
			if s := j.Stats(); s.Disk > 100 {
				b.Errorf("not taken: %+v", s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*bench.count), "ns/click")
		})
	}
}
