package lookup

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

// ordinary is the value of a link as Redis holds it: a generated slug, a destination of
// 60 to 200 bytes, one in ten with a fallback.
func ordinary(n uint64) (key string, value []byte) {
	rng := rand.New(rand.NewPCG(n, 1))
	r := linkcache.Record{
		Destination: "https://www.example.com/" + strings.Repeat("x", 36+rng.IntN(141)), Version: 1, Revision: n + 1,
		LinkID: uuid.UUID{byte(n)}, WorkspaceID: uuid.UUID{byte(n)},
	}
	if rng.IntN(10) == 0 {
		r.Fallback = "https://www.example.com/gone/" + strings.Repeat("x", rng.IntN(40))
	}
	value, err := r.Encode()
	if err != nil {
		panic(err)
	}
	return linkcache.Key("go.example.com", fmt.Sprintf("%07x", n)), value
}

// ordinaryEntry is what a fill makes of it.
func ordinaryEntry(n uint64) *Entry {
	key, value := ordinary(n)
	r, err := linkcache.Decode(value)
	if err != nil {
		panic(err)
	}
	return newEntry(key, r)
}

// BenchmarkMemory says what an entry takes of the heap beyond its strings' bytes, which
// is what entryBytes stands for, and what a collection costs with so many in memory.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []uint64{100_000, 230_000, 300_000, 470_000, 500_000, 700_000, 1_000_000, 2_000_000} {
		b.Run(strconv.FormatUint(n, 10), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				c, err := newL1(1<<40, 1<<20)
				if err != nil {
					b.Fatal(err)
				}
				counters := heap() - before
				var strs int
				for i := range n {
					e := ordinaryEntry(i)
					strs += len(e.key) + len(e.Destination) + len(e.Fallback)
					c.set(c.hashString(e.key), e)
					if i%10_000 == 0 {
						c.cache.Wait()
					}
				}
				c.cache.Wait()
				took := heap() - before - counters
				// What was stored long after its neighbours lies elsewhere.
				for i := range n {
					c.del(c.hashString(ordinaryEntry(i).key))
					e := ordinaryEntry(n + i)
					c.set(c.hashString(e.key), e)
				}
				c.cache.Wait()
				mark := -working()
				const cycles = 5
				for range cycles {
					runtime.GC()
				}
				mark += working()
				b.ReportMetric(float64(took)/float64(n), "heap-B/entry")
				b.ReportMetric(float64(int(took)-strs)/float64(n), "beside-B/entry")
				b.ReportMetric(float64(took)/(1<<20), "heap-MB")
				b.ReportMetric(mark/cycles*1000, "cpu-ms/GC")
				c.cache.Close()
				runtime.KeepAlive(c)
			}
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// working is the CPU time that this process has taken. On a busy machine the runtime's
// own account of collections holds what others took, too.
func working() (seconds float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// BenchmarkFloorsMemory says what the floors take at most.
func BenchmarkFloorsMemory(b *testing.B) {
	for b.Loop() {
		before, most := heap(), uint64(0)
		f := new(floors)
		for i := range uint64(3 * 2 * floorShards * floorsPerShard) {
			f.raise(i*0x9e3779b97f4a7c15, i+1, 0)
			if i%(floorShards*floorsPerShard/4) == 0 {
				most = max(most, heap()-before)
			}
		}
		b.ReportMetric(float64(most)/(1<<20), "heap-MB")
		runtime.KeepAlive(f)
	}
}
