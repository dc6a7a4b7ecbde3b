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

func open(t testing.TB, dir string, maxBytes int64) *Journal {
	t.Helper()
	j, err := Open(t.Context(), Settings{Dir: dir, MaxBytes: maxBytes}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, j) })
	return j
}

func closed(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// preparing runs the journal's task until the test ends or stop is called.
func preparing(t testing.TB, j *Journal) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := j.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
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
func numbers(t testing.TB, c Chunk) []uint64 {
	t.Helper()
	var all []uint64
	for rest := c.Payload; len(rest) > 0; {
		var click []byte
		var ok bool
		if click, rest, ok = NextClick(rest); !ok || len(click) < 8 {
			t.Fatalf("the chunk %d-%d is cut", c.From, c.To)
		}
		all = append(all, binary.LittleEndian.Uint64(click))
	}
	if len(all) != c.Clicks {
		t.Fatalf("%d clicks in a chunk of %d", len(all), c.Clicks)
	}
	return all
}

// drain takes everything there is, and says how much of it was damaged.
func drain(t testing.TB, j *Journal) (all []uint64, damaged uint64) {
	t.Helper()
	for {
		c, ok := j.Take(nil, MaxPayload)
		if !ok {
			return all, damaged
		}
		all = append(all, numbers(t, c)...)
		damaged += c.Lost()
	}
}

func rewind(t testing.TB, j *Journal, c Checkpoint) (lost uint64) {
	t.Helper()
	lost, err := j.Rewind(c)
	if err != nil {
		t.Fatal(err)
	}
	return lost
}

// sequence fails the test unless all are the numbers from first on.
func sequence(t testing.TB, all []uint64, first, count uint64) {
	t.Helper()
	if uint64(len(all)) != count {
		t.Fatalf("%d clicks, want %d", len(all), count)
	}
	for i, n := range all {
		if n != first+uint64(i) {
			t.Fatalf("click %d is %d, want %d", i, n, first+uint64(i))
		}
	}
}

// adds fails the test unless the journal's counts add up.
func adds(t testing.TB, j *Journal) Stats {
	t.Helper()
	s := j.Stats()
	if s.Accepted != s.Produced+s.Full+s.Damaged+s.Disk+s.Waiting {
		t.Errorf("the counts do not add up: %+v", s)
	}
	return s
}

func now() int64 { return time.Now().UnixMicro() }
