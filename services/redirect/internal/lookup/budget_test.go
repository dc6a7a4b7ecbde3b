//go:build !race

package lookup

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linkstream/linkstream/services/internal/linkcache"
)

var offerLinks = flag.Bool("offer-links", false, "be the process that TestTwoMillionLinksStayInTheBudget starts")

// made is an L2 which holds every link there can be: two million in a real Redis would
// take more memory than what is measured. What it answers is decoded from what a Redis
// would send.
type made struct{ records } // no purges here

func (made) Get(_ context.Context, key string) (linkcache.Record, bool, error) {
	n, err := strconv.ParseUint(key[strings.LastIndexByte(key, ':')+1:], 16, 64)
	if err != nil {
		return linkcache.Record{}, false, err
	}
	_, value := ordinary(n)
	r, err := linkcache.Decode(value)
	return r, err == nil, err
}

func (m made) GetNewest(ctx context.Context, key string) (linkcache.Record, bool, error) {
	return m.Get(ctx, key)
}

func (made) Put(context.Context, []linkcache.Entry) ([]linkcache.Outcome, error) { return nil, nil }

// The budget is that of a process: the test starts one of its own.
//
// Guards I28.
func TestTwoMillionLinksStayInTheBudget(t *testing.T) {
	if *offerLinks {
		offerTwoMillionLinks(t)
		return
	}
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-offer-links").CombinedOutput()
	t.Logf("the process says:\n%s", out)
	if err != nil {
		t.Error(err)
	}
}

func offerTwoMillionLinks(t *testing.T) {
	t.Helper()
	const (
		budget = 256 << 20
		links  = 2_000_000
		hot    = 1000
		// room is what this process gets beside the look-up, as cmd/redirect gives it.
		room = 128 << 20
		// program is what the collector does not know of: the program's own pages.
		program = 40 << 20
	)
	most := Resident(budget) + room
	debug.SetMemoryLimit(most)
	l, err := New(made{}, NewOriginClient("http://127.0.0.1:1"), Settings{MaxBytes: budget, TTL: time.Hour}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l.lease.Store(math.MaxInt64)
	began, cpu := time.Now(), working()
	var hits, visits, peak int
	var offering sync.WaitGroup
	const visitors = 4
	for v := range uint64(visitors) {
		offering.Go(func() {
			for n := v; n < links; n += visitors {
				offer(t, l, hot+n)
			}
		})
	}
	for i := range uint64(2 * 2 * floorShards * floorsPerShard) { // as many floors as there can be
		l.floors.raise(i*0x9e3779b97f4a7c15, 0, 0)
	}
	done := make(chan struct{})
	go func() { offering.Wait(); close(done) }()
	for over := false; !over; {
		for n := range uint64(hot) {
			visits++
			if offer(t, l, n) == L1 {
				hits++
			}
		}
		peak = max(peak, int(l.l1.bytes()))
		select {
		case <-done:
			over = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	took := time.Since(began)
	l.l1.cache.Wait()
	inUse, held := int64(heap()), int64(l.l1.bytes())
	cpu = working() - cpu
	var cycles debug.GCStats
	debug.ReadGCStats(&cycles)
	mark := -working()
	runtime.GC()
	mark += working()
	resident, peakResident := status(t, "VmRSS"), status(t, "VmHWM")
	entries := 0
	l.l1.cache.IterValues(func(packed) bool { entries++; return false })
	t.Logf("%d links offered in %v: %d in memory, %d MB by L1's own account (most: %d), %d MB of heap in use, %d MB resident (most: %d, allowed: %d)",
		links, took.Round(time.Millisecond), entries, held>>20, peak>>20, inUse>>20, resident>>20, peakResident>>20, (most+program)>>20)
	t.Logf("%d collections; %.2f s of CPU in all, of which one more collection takes %.0f ms; hot links were hits in %d of %d visits", cycles.NumGC, cpu, mark*1000, hits, visits)
	if peak > budget || held < budget*9/10 {
		t.Errorf("L1 says that it takes %d bytes, and took %d, want near and not above %d", held, peak, budget)
	}
	if inUse > Resident(budget) {
		t.Errorf("%d bytes of the heap are in use, want at most %d", inUse, Resident(budget))
	}
	if peakResident > most+program {
		t.Errorf("the process took %d bytes, want at most %d", peakResident, most+program)
	}
	if float64(hits) < 0.95*float64(visits) {
		t.Errorf("hot links were hits in %d of %d visits, want 95%%", hits, visits)
	}
	l.l1.cache.Close()
}

func offer(t *testing.T, l *Lookup, n uint64) Source {
	t.Helper()
	key := linkcache.Key("go.example.com", fmt.Sprintf("%07x", n))
	e, source, err := l.Find(t.Context(), []byte(key), time.Now())
	if err != nil || e.Revision != n+1 {
		t.Errorf("link %d: %+v, %v", n, e, err)
	}
	return source
}

// status is a line of what Linux says of this process, in bytes.
func status(t *testing.T, name string) int64 {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("only Linux says what a process takes")
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no %s", name)
	return 0
}
