package ratelimit

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/linkstream/linkstream/services/internal/facttest"
	"github.com/linkstream/linkstream/services/internal/redistest"
)

// Buckets are forgotten when they are full: what a subject costs, it costs for the time
// that its bucket takes to fill. Ten million subjects at once need ten million times the
// bytes that this test measures, and afterwards nothing.
func TestSubjectsThatAreGoneTakeNoMemory(t *testing.T) {
	const subjects, counted, batch = 200_000, 20_000, 5_000
	client := connect(t, redistest.Start(t))
	used := func() int64 {
		info := client.Info(t.Context(), "memory").Val()
		_, rest, _ := strings.Cut(info, "used_memory:")
		line, _, _ := strings.Cut(rest, "\r\n")
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	script := redis.NewScript(scriptText)
	if err := script.Load(t.Context(), client).Err(); err != nil {
		t.Fatal(err)
	}
	before := used()
	fill := func(q Quota, subjects int) {
		t.Helper()
		for i := 0; i < subjects; i += batch {
			if _, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
				for j := range batch {
					script.EvalSha(t.Context(), p, []string{Key(PerKey, fmt.Sprintf("0193c0de-0000-7000-8000-%012d", i+j))}, q.Capacity, q.Tokens, q.micros(), 1)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(hourly(1000), counted) // nothing is forgotten while it is counted
	if n := client.DBSize(t.Context()).Val(); n != counted {
		t.Errorf("%d buckets, want %d", n, counted)
	}
	each := (used() - before) / counted
	t.Logf("a bucket takes %d bytes; 10 million at once take %.1f GB", each, float64(each)*10e6/1e9)
	if each > 400 {
		t.Errorf("a bucket takes %d bytes", each)
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	fill(Quota{Capacity: 1000, Tokens: 1, Period: 2 * time.Second}, subjects)
	facttest.Eventually(t, "Redis holds no bucket", func() bool { return client.DBSize(t.Context()).Val() == 0 })
	if left := used() - before; left > 20<<20 {
		t.Errorf("%d bytes are left of %d subjects", left, subjects)
	}
}

// The table of a process that counts alone does not grow at all.
func TestTheTableOfAProcessDoesNotGrow(t *testing.T) {
	table, now := newTable(), time.Now()
	greedy := 0
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 300_000 {
		at := now.Add(time.Duration(i) * time.Microsecond)
		if d := table.take(strconv.Itoa(i), hourly(10), 1, at); !d.Allowed {
			t.Fatalf("stranger %d is refused: %+v", i, d)
		}
		if i%1000 == 0 && table.take("greedy", hourly(100), 1, at).Allowed {
			greedy++
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 256<<10 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	runtime.KeepAlive(table)
	if greedy != 100 {
		t.Errorf("%d of 300 calls among strangers, want 100", greedy)
	}
}
