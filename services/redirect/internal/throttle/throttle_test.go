package throttle_test

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/redirect/internal/throttle"
)

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// at takes n tokens at a time and says how many there were.
func at(table *throttle.Table, addr string, now time.Time, n int) (taken int) {
	for range n {
		if _, ok := table.Take(netip.MustParseAddr(addr), now); ok {
			taken++
		}
	}
	return taken
}

// Guards I21.
func TestBucketsEmptyAndFill(t *testing.T) {
	table := throttle.New(10, 5, start)
	check := func(addr string, after time.Duration, ask, want int) {
		t.Helper()
		if got := at(table, addr, start.Add(after), ask); got != want {
			t.Errorf("%s after %v: %d of %d, want %d", addr, after, got, ask, want)
		}
	}
	const a, b = "192.0.2.1", "192.0.2.2"
	check(a, 0, 9, 5)                          // the burst
	check(b, 0, 9, 5)                          // each has his own
	check(a, 99*time.Millisecond, 9, 0)        // not yet
	check(a, 100*time.Millisecond, 9, 1)       // one comes back in a tenth of a second
	check(a, 350*time.Millisecond, 9, 2)       // a half is none
	check(a, 400*time.Millisecond, 9, 1)       // and is not lost
	check(a, time.Hour, 99, 5)                 // never more than the burst
	check("::ffff:192.0.2.1", time.Hour, 9, 0) // the same by another name
	check("2001:db8::1", 0, 3, 3)
	check("2001:db8::2", 0, 9, 2) // the same /64
	check("2001:db8:0:1::1", 0, 9, 5)
	check("::c000:201", 0, 9, 5) // its own, whatever it looks like
}

func TestWaitIsUntilTheNextToken(t *testing.T) {
	table, addr := throttle.New(4, 1, start), netip.MustParseAddr("192.0.2.1")
	check := func(after, want time.Duration) {
		t.Helper()
		wait, ok := table.Take(addr, start.Add(after))
		if wait != want || ok != (want == 0) {
			t.Errorf("after %v: wait %v, %t; want %v", after, wait, ok, want)
		}
	}
	check(0, 0)
	check(0, 250*time.Millisecond)
	check(200*time.Millisecond, 50*time.Millisecond)
	check(250*time.Millisecond, 0)
	check(250*time.Millisecond, 250*time.Millisecond)
}

func TestAClockThatIsSetBackRefusesNobodyForLong(t *testing.T) {
	table := throttle.New(10, 5, start)
	at(table, "192.0.2.1", start.Add(24*time.Hour), 5)
	if wait, ok := table.Take(netip.MustParseAddr("192.0.2.1"), start); ok || wait > 100*time.Millisecond {
		t.Errorf("after the step: wait %v, %t; want the time of one token", wait, ok)
	}
	if got := at(table, "192.0.2.1", start.Add(100*time.Millisecond), 9); got != 1 {
		t.Errorf("a tenth of a second later: %d tokens, want 1", got)
	}
	if got := at(table, "192.0.2.1", start.Add(48*time.Hour), 9); got != 5 {
		t.Errorf("after a step forward: %d tokens, want the burst", got)
	}
}

func TestTheFastestAndTheSlowestStayInRange(t *testing.T) {
	far := start.Add(50 * 365 * 24 * time.Hour)
	if got := at(throttle.New(1, throttle.MaxBurst, start), "192.0.2.1", far, throttle.MaxBurst+10); got != throttle.MaxBurst {
		t.Errorf("%d of a burst of %d", got, throttle.MaxBurst)
	}
	if got := at(throttle.New(throttle.MaxRate, 1, start), "192.0.2.1", far, 10); got != 1 {
		t.Errorf("%d at once, want 1", got)
	}
}

// A million addresses take no more memory than none, and one that goes on is still
// held back among them.
//
// Guards I21.
func TestTheTableDoesNotGrow(t *testing.T) {
	const strangers = 1_000_000
	table, greedy := throttle.New(10, 100, start), netip.MustParseAddr("192.0.2.1")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	taken := 0
	for i := range uint32(strangers) {
		var four [4]byte
		binary.BigEndian.PutUint32(four[:], 10<<24|i)
		now := start.Add(time.Duration(i) * time.Microsecond) // a second in all
		if _, ok := table.Take(netip.AddrFrom4(four), now); !ok {
			t.Fatalf("stranger %d is refused", i)
		}
		if i%1000 == 0 {
			if _, ok := table.Take(greedy, now); ok {
				taken++
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<10 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	runtime.KeepAlive(table)
	if taken < 100 || taken > 115 {
		t.Errorf("%d of 1000 requests in a second, want 100 and the 10 that came back", taken)
	}
}

func TestManyAtOnceTakeNoMoreThanThereIs(t *testing.T) {
	table, addr := throttle.New(1, 100, start), netip.MustParseAddr("192.0.2.1")
	var taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if _, ok := table.Take(addr, start); ok {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	if taken.Load() != 100 {
		t.Errorf("%d tokens of 100 were taken", taken.Load())
	}
}

func TestTakingAllocatesNothing(t *testing.T) {
	table := throttle.New(throttle.MaxRate, throttle.MaxBurst, start)
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	got := testing.AllocsPerRun(1000, func() {
		table.Take(four, start)
		table.Take(six, start)
	})
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	if got > 0 {
		t.Errorf("a step allocates %v times, the budget is 0", got)
	}
}

func BenchmarkTake(b *testing.B) {
	table, addr := throttle.New(throttle.MaxRate, throttle.MaxBurst, start), netip.MustParseAddr("192.0.2.1")
	now := start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		table.Take(addr, now)
	}
}
