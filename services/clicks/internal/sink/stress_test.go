package sink

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/clicks/internal/enrich"
	"github.com/linkstream/linkstream/services/internal/clickhousetest"
)

func TestStressKill(t *testing.T) {
	ch := newClickHouse(t)
	var id atomic.Uint64
	total := 0
	for round := range 25 {
		var stop atomic.Bool
		var wait sync.WaitGroup
		var done atomic.Int64
		for g := range 4 {
			wait.Go(func() {
				for n := 0; !stop.Load(); n++ {
					rows := &columns{}
					for range 20 {
						row := enrich.Row{TimeUnixMilli: time.Now().UnixMilli()}
						binary.BigEndian.PutUint64(row.ClickID[8:], id.Add(1))
						rows.append(&row)
					}
					token := fmt.Sprintf("%d/%d/%d", round, g, n)
					for try := 0; ; try++ {
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						err := ch.insert(ctx, token, rows)
						cancel()
						if err == nil {
							got, err := ch.present(t.Context(), rows)
							if err == nil && got != 20 {
								t.Errorf("round %d: token %s after %d tries: %d present", round, token, try, got)
							}
							break
						}
						time.Sleep(50 * time.Millisecond)
					}
					done.Add(20)
				}
			})
		}
		time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
		clickhousetest.Kill()
		stop.Store(true)
		clickhousetest.Restart(t)
		wait.Wait()
		total += int(done.Load())
		if n := count(t, ch, "SELECT count() FROM clicks"); n != uint64(total) {
			t.Logf("round %d: %d rows, want %d", round, n, total)
		}
	}
}
