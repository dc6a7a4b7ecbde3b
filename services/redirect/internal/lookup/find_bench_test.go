package lookup_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/linkcache"
	"github.com/linkstream/linkstream/services/internal/redistest"
	"github.com/linkstream/linkstream/services/redirect/internal/lookup"
	"github.com/linkstream/linkstream/services/redirect/internal/origintest"
)

// BenchmarkHit is Find on one entry in memory, alone and by all cores at once. The
// origin has confirmed it, which is good for a second of the time it is asked with.
func BenchmarkHit(b *testing.B) {
	origin := origintest.New()
	defer origin.Close()
	origin.Put(change("a", 1, "https://a.test/"))
	links, err := lookup.New(linkcache.NewStore(redistest.Start(b).Client(b)), lookup.NewOriginClient(origin.URL),
		lookup.Settings{MaxBytes: 32 << 20, Counters: 100_000, TTL: time.Minute}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	done := make(chan struct{})
	go func() { _ = links.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	key, now := []byte(linkcache.Key("s.test", "a")), time.Now()
	facttest.Eventually(b, "it is a hit", func() bool {
		_, source, err := links.Find(ctx, key, now)
		return err == nil && source == lookup.L1
	})
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, source, _ := links.Find(ctx, key, now); source != lookup.L1 {
				b.Fatal("not a hit")
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, source, _ := links.Find(ctx, key, now); source != lookup.L1 {
					b.Error("not a hit")
					return
				}
			}
		})
	})
}
