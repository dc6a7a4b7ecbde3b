package journal

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/linkstream/linkstream/services/internal/facttest"
)

func TestWhatWasAppendedIsReadInOrder(t *testing.T) {
	j := open(t, t.TempDir(), 64<<20)
	preparing(t, j)
	const blocks, per, size = 3000, 7, 500 // ten megabytes, several segments
	rewind(t, j, Checkpoint{})
	var all []uint64
	for i := range uint64(blocks) {
		facttest.Eventually(t, "the next segment is ready", j.prepared)
		if !j.Append(payload(nil, i*per, per, size), per, now()) {
			t.Fatal("not taken")
		}
		if i%500 == 0 {
			more, _ := drain(t, j)
			all = append(all, more...)
		}
	}
	more, damaged := drain(t, j)
	sequence(t, append(all, more...), 0, blocks*per)
	if s := adds(t, j); damaged != 0 || s.Waiting != blocks*per || s.Produced != 0 {
		t.Errorf("damaged %d, %+v", damaged, s)
	}
	j.Settle(blocks*per, blocks*per, 0)
	if s := adds(t, j); s.Waiting != 0 || s.Bytes != 0 || s.Produced != blocks*per {
		t.Errorf("after all of it was settled: %+v", s)
	}
}

func TestReadingGoesOnAtTheCheckpoint(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, 64<<20)
	for i := range uint64(100) {
		j.Append(payload(nil, i*10, 10, 50), 10, now())
	}
	rewind(t, j, Checkpoint{})
	c, _ := j.Take(nil, 1) // one block
	j.Settle(c.To, 10, 0)
	j.Take(nil, 1)
	closed(t, j)

	j = open(t, dir, 64<<20)
	id := j.Local().Journal
	check := func(c Checkpoint, first uint64) {
		t.Helper()
		if lost := rewind(t, j, c); lost != 0 {
			t.Errorf("%d lost", lost)
		}
		all, _ := drain(t, j)
		sequence(t, all, first, 1000-first)
		adds(t, j)
	}
	check(Checkpoint{}, 10)                                          // the broker knows nothing
	check(Checkpoint{Journal: [16]byte{1}, Next: 500}, 10)           // or another journal
	check(Checkpoint{Journal: id, Next: 5, Produced: 5}, 10)         // or less
	check(Checkpoint{Journal: id, Next: 20, Produced: 20}, 20)       // or more: the last answer was lost
	check(Checkpoint{Journal: id, Next: 25, Produced: 25}, 25)       // inside a block
	check(Checkpoint{Journal: id, Next: 1000, Produced: 1000}, 1000) // all
	if s := adds(t, j); s.Produced != 1000 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

// Guards I31.
func TestAnOlderCopySendsOnlyWhatIsNew(t *testing.T) {
	j := open(t, t.TempDir(), 64<<20)
	j.Append(payload(nil, 0, 10, 50), 10, now())
	id := j.Local().Journal
	j.opened = 10 // as if those had been there
	j.Append(payload(nil, 100, 5, 50), 5, now())
	rewind(t, j, Checkpoint{Journal: id, Next: 12, Produced: 12})
	all, _ := drain(t, j)
	sequence(t, all, 100, 5)
	if j.Local().Journal == id {
		t.Error("the numbers of two journals cannot be told apart")
	}
	if s := adds(t, j); s.Waiting != 5 || s.Produced != 10 {
		t.Errorf("%+v", s)
	}
}

func TestALostStatePageChangesNothing(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, 64<<20)
	j.Append(payload(nil, 0, 10, 50), 10, now())
	id := j.Local().Journal
	closed(t, j)
	if err := os.Remove(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, 64<<20)
	rewind(t, j, Checkpoint{Journal: id, Next: 4, Produced: 4})
	all, _ := drain(t, j)
	sequence(t, all, 4, 6)
}

func TestTheCommitUnderWayIsRemembered(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, MinBytes)
	if c, ok := j.Unknown(); ok {
		t.Errorf("a new journal remembers %+v", c)
	}
	want := Commit{From: 1, To: 1 << 40, Produced: 9, Partition: 11, Offset: 1 << 50, FirstID: [16]byte{1, 15: 2}}
	j.Committing(want)
	closed(t, j)
	j = open(t, dir, MinBytes)
	if got, ok := j.Unknown(); !ok || got != want {
		t.Errorf("got %+v %v", got, ok)
	}
	j.state.mem[offCommit+3]++ // torn
	if c, ok := j.Unknown(); ok {
		t.Errorf("a torn note is believed: %+v", c)
	}
}

// Guards I34.
func TestTwoCannotHaveOneJournal(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, MinBytes)
	discard := slog.New(slog.DiscardHandler)
	began := time.Now()
	if _, err := Open(t.Context(), Settings{Dir: dir, MaxBytes: MinBytes, LockWait: 200 * time.Millisecond}, discard); !errors.Is(err, ErrLocked) {
		t.Errorf("the second gets %v", err)
	}
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("it gave up after %v", took)
	}
	opened := make(chan error, 1)
	go func() {
		second, err := Open(t.Context(), Settings{Dir: dir, MaxBytes: MinBytes, LockWait: time.Minute}, discard)
		if err == nil {
			err = second.Close()
		}
		opened <- err
	}()
	closed(t, j)
	if err := <-opened; err != nil {
		t.Errorf("one that waits until the first is gone gets %v", err)
	}
}

// The oldest clicks make room for the newest, and each of them is counted once:
// whether nobody has read it or it was on its way.
//
// Guards I32.
func TestOverflowIsCountedToTheClick(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, MinBytes)
	stop := preparing(t, j)
	rewind(t, j, Checkpoint{})
	const per, size = 10, 1000
	var next uint64
	write := func(blocks int) {
		t.Helper()
		for range blocks {
			if !j.Append(payload(nil, next, per, size), per, now()) {
				t.Fatal("not taken")
			}
			next += per
		}
	}
	facttest.Eventually(t, "segments are ready", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return len(j.spare) >= spares })
	write(5)
	sent, _ := j.Take(nil, MaxPayload)
	j.Settle(sent.To, uint64(sent.Clicks), 0)
	write(5)
	flying, _ := j.Take(nil, MaxPayload)
	for range 50 { // twenty times what there is room for
		write(200)
		facttest.Eventually(t, "the next is ready, if there may be one", func() bool {
			j.mu.Lock()
			defer j.mu.Unlock()
			return len(j.spare) > 0 || j.count() >= j.most
		})
	}
	before := adds(t, j)
	if before.Full == 0 || before.Disk != 0 || before.Waiting+before.Full+sent.To != next {
		t.Errorf("of %d: %+v", next, before)
	}
	// What was on its way arrives, or it does not.
	if lost := rewind(t, j, Checkpoint{Journal: j.Local().Journal, Next: sent.To, Produced: sent.To}); lost != flying.To-flying.From {
		t.Errorf("%d are missing that were on their way, want %d", lost, flying.To-flying.From)
	}
	all, _ := drain(t, j)
	after := adds(t, j)
	sequence(t, all, after.Full+sent.To, after.Waiting)
	if all[len(all)-1] != next-1 {
		t.Errorf("the newest is %d of %d", all[len(all)-1], next)
	}
	var bytes int64
	paths, _ := segmentPaths(dir)
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	if bytes > MinBytes {
		t.Errorf("the segments take %d bytes of %d", bytes, MinBytes)
	}
	stop()
	closed(t, j)
	j = open(t, dir, MinBytes) // and the counts survive
	rewind(t, j, Checkpoint{})
	if got := adds(t, j); got.Full != after.Full || got.Waiting != after.Waiting || got.Accepted != next {
		t.Errorf("before %+v, after %+v", after, got)
	}
}

func TestSettledSegmentsAreWipedAndUsedAgain(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, 64<<20)
	preparing(t, j)
	rewind(t, j, Checkpoint{})
	var next uint64
	for range 40_000 {
		facttest.Eventually(t, "the next segment is ready", j.prepared)
		if !j.Append(payload(nil, next, 1, 4000), 1, now()) {
			t.Fatal("not taken")
		}
		next++
		if next%100 == 0 {
			c, ok := j.Take(nil, 1<<20)
			for ok {
				j.Settle(c.To, c.To, 0)
				c, ok = j.Take(nil, 1<<20)
			}
			facttest.Eventually(t, "a segment is ready", func() bool { j.mu.Lock(); defer j.mu.Unlock(); return len(j.spare) > 0 })
		}
	}
	facttest.Eventually(t, "no more files than are needed", func() bool {
		paths, _ := segmentPaths(dir)
		return len(paths) <= 1+spares
	})
	j.mu.Lock()
	for _, seg := range j.spare {
		for _, c := range seg.mem {
			if c != 0 {
				t.Fatal("a spare segment holds something")
			}
		}
	}
	j.mu.Unlock()
	// And on an edge that has nothing more to do, in time.
	j.retire(time.Now().Add(maxAge + time.Hour))
	facttest.Eventually(t, "the newest one, too, is wiped", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return len(j.live) == 1 && j.live[0].end == j.live[0].base && len(j.spare) == spares
	})
	j.Append(payload(nil, next, 1, 100), 1, now())
	all, _ := drain(t, j)
	sequence(t, all, next, 1)
}

// Writers, a reader that fails now and then, overflow: under the race detector.
func TestManyWritersAndAReader(t *testing.T) {
	j := open(t, t.TempDir(), MinBytes)
	preparing(t, j)
	rewind(t, j, Checkpoint{})
	const writers, blocks, per = 4, 3000, 3
	var taken uint64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range blocks {
				if j.Append(payload(nil, 0, per, 600), per, now()) {
					mu.Lock()
					taken += per
					mu.Unlock()
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var settled Checkpoint
	var room []byte
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		for {
			c, ok := j.Take(room, 64<<10)
			if !ok {
				break
			}
			numbers(t, c)
			if c.Lost() != 0 {
				t.Fatalf("damage in %+v", c)
			}
			room = c.Payload
			switch rand.IntN(4) {
			case 0:
				rewind(t, j, settled)
			case 1, 2:
				settled = Checkpoint{Journal: j.Local().Journal, Next: c.To, Produced: j.Stats().Produced + c.To - c.From}
				j.Settle(settled.Next, settled.Produced, 0)
				rewind(t, j, settled) // what was taken before and not settled is gone
			}
		}
	}
	all, _ := drain(t, j)
	s := adds(t, j)
	if s.Accepted != writers*blocks*per || s.Accepted-s.Disk != taken || uint64(len(all)) > s.Waiting {
		t.Errorf("%d taken, %d left: %+v", taken, len(all), s)
	}
}
