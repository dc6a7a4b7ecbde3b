package sender

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/linkstream/linkstream/events"
	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/testproc"
	"github.com/linkstream/linkstream/services/redirect/internal/journal"
)

// visits is a payload of clicks like those of browsers: about 300 bytes each.
func visits(count int) []byte {
	agents := []string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
	}
	var dst []byte
	for range count {
		c := events.Click{
			TimeUnixMicro: time.Now().UnixMicro(), WorkspaceID: [16]byte{1}, LinkID: [16]byte{byte(rand.IntN(200)), 2}, LinkVersion: 1,
			Host: "go.test", SlugKey: fmt.Sprintf("slug%d", rand.IntN(2000)), Status: 302, EdgeRegion: "fra", Edge: "redirect-fra-0",
			Address: []byte{10, byte(rand.IntN(256)), byte(rand.IntN(256)), 1}, UserAgent: []byte(agents[rand.IntN(len(agents))]),
			Referrer: []byte("https://www.example.org/posts/2026/11"), AcceptLanguage: []byte("de-DE,de;q=0.9,en;q=0.8"),
		}
		for i := range c.ID {
			c.ID[i] = byte(rand.Uint32())
		}
		at := len(dst)
		dst = events.AppendClick(journal.OpenClick(dst), &c)
		journal.CloseClick(dst, at)
	}
	return dst
}

// The whole way from the journal to a broker in another process: clicks a second,
// and what this process spends on each.
func BenchmarkSend(b *testing.B) {
	addr := testproc.FreeAddr(b)
	broker := startBroker(b, addr, b.TempDir())
	defer broker.kill()
	createTopic(b, addr)
	j := open(b, b.TempDir())
	const per = 32
	bodies := make([][]byte, 100) // no two batches are alike
	for i := range bodies {
		bodies[i] = visits(per)
	}
	body := bodies[0]
	e := start(b, j, time.Minute, addr)
	facttest.Eventually(b, "it has begun", func() bool { j.Append(body, per, 1); return j.Stats().Produced > 0 })
	before := j.Stats().Produced
	b.SetBytes(int64(len(body) / per))
	b.ReportAllocs()
	b.ResetTimer()
	used := cpu(b)
	pause := time.Tick(time.Millisecond)
	for i := 0; i < b.N; i += per {
		for !j.Append(bodies[i/per%len(bodies)], per, 1) || j.Stats().Bytes > 64<<20 {
			<-pause
		}
	}
	e.stop()
	used = cpu(b) - used
	n := float64(j.Stats().Produced - before)
	b.ReportMetric(float64(used.Nanoseconds())/n, "cpu-ns/click")
	b.ReportMetric(n/b.Elapsed().Seconds(), "clicks/s")
	if s := j.Stats(); s.Full > 0 || s.Waiting > 0 {
		b.Errorf("%+v", s)
	}
}

func BenchmarkEncode(b *testing.B) {
	e, err := newEncoder()
	if err != nil {
		b.Fatal(err)
	}
	const per = 800
	body := visits(per)
	var s Sender
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.encode(&s.out[0], body, producer{id: 1}, 0, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*per), "ns/click")
	b.ReportMetric(float64(len(body))/float64(s.out[0].Len()), "ratio")
}

func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
