package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func open(tb testing.TB, dir string, maxBytes int64) *Journal {
	tb.Helper()
	j, err := Open(tb.Context(), Settings{Dir: dir, MaxBytes: maxBytes}, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { closed(tb, j) })
	return j
}

func closed(tb testing.TB, j *Journal) {
	tb.Helper()
	if err := j.Close(); err != nil {
		tb.Error(err)
	}
}

// preparing runs the journal's task until the test ends or stop is called.
func preparing(tb testing.TB, j *Journal) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := j.Run(ctx); err != nil {
			tb.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	tb.Cleanup(stop)
	return stop
}

// payload is clicks that say their number, each padded to size bytes.
func payload(dst []byte, first uint64, count, size int) []byte {
	for i := range count {
		start := len(dst)
		dst = binary.LittleEndian.AppendUint64(OpenClick(dst), first+uint64(i))
		dst = append(dst, bytes.Repeat([]byte{0xaa}, size-8)...)
		CloseClick(dst, start)
	}
	return dst
}

// numbers are what the clicks of a chunk say.
func numbers(tb testing.TB, c Chunk) []uint64 {
	tb.Helper()
	var all []uint64
	for rest := c.Payload; len(rest) > 0; {
		var click []byte
		var ok bool
		if click, rest, ok = NextClick(rest); !ok || len(click) < 8 {
			tb.Fatalf("the chunk %d-%d is cut", c.From, c.To)
		}
		all = append(all, binary.LittleEndian.Uint64(click))
	}
	if len(all) != c.Clicks {
		tb.Fatalf("%d clicks in a chunk of %d", len(all), c.Clicks)
	}
	return all
}

// drain takes everything there is, and says how much of it was damaged.
func drain(tb testing.TB, j *Journal) (all []uint64, damaged uint64) {
	tb.Helper()
	for {
		c, ok := j.Take(nil, MaxPayload)
		if !ok {
			return all, damaged
		}
		all = append(all, numbers(tb, c)...)
		damaged += c.Lost()
	}
}

func rewind(tb testing.TB, j *Journal, c Checkpoint) (lost uint64) {
	tb.Helper()
	lost, err := j.Rewind(c)
	if err != nil {
		tb.Fatal(err)
	}
	return lost
}

// sequence fails the test unless all are the numbers from first on.
func sequence(tb testing.TB, all []uint64, first, count uint64) {
	tb.Helper()
	if uint64(len(all)) != count {
		tb.Fatalf("%d clicks, want %d", len(all), count)
	}
	for i, n := range all {
		if n != first+uint64(i) {
			tb.Fatalf("click %d is %d, want %d", i, n, first+uint64(i))
		}
	}
}

// adds fails the test unless the journal's counts add up.
func adds(tb testing.TB, j *Journal) Stats {
	tb.Helper()
	s := j.Stats()
	if s.Accepted != s.Produced+s.Full+s.Damaged+s.Disk+s.Waiting {
		tb.Errorf("the counts do not add up: %+v", s)
	}
	return s
}

// prepared says whether the next segment is there.
func (j *Journal) prepared() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.spare) > 0
}

func now() int64 { return time.Now().UnixMicro() }
