package journal

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childDir is set for a child process, which appends until it is killed.
const childDir = "LINKSTREAM_TEST_JOURNAL"

// child appends batches and says how many clicks it has appended after each.
func child(dir string) {
	j, err := Open(context.Background(), Settings{Dir: dir, MaxBytes: 512 << 20, LockWait: 5 * time.Second}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	go func() { _ = j.Run(context.Background()) }()
	next, pause := j.Stats().Accepted, time.Tick(time.Millisecond)
	fmt.Println("open", next)
	for {
		count := 1 + rand.IntN(20)
		for !j.prepared() { // it appends faster than any edge would
			<-pause
		}
		if !j.Append(payload(nil, next, count, 20+rand.IntN(400)), count, now()) {
			fmt.Println("error: not taken")
			return
		}
		next += uint64(count)
		fmt.Println(next)
	}
}

// A process is killed while it appends, eight times: everything that it said it had
// appended is read, at most one batch more, and the lock is free at once.
//
// Guards I30.
func TestSIGKILLLosesNothing(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var settled, said uint64
	for range 8 {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(100*time.Millisecond+rand.N(150*time.Millisecond), func() { _ = cmd.Process.Kill() })
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if line := lines.Text(); !strings.HasPrefix(line, "open ") {
				n, err := strconv.ParseUint(line, 10, 64)
				if err == nil && n > said {
					said = n // a line cut by the kill is smaller
				} else if err != nil {
					t.Fatal(line)
				}
			}
		}
		_ = cmd.Wait() // it was killed

		j := open(t, dir, 512<<20)
		rewind(t, j, Checkpoint{})
		all, damaged := drain(t, j)
		got := settled + uint64(len(all))
		if damaged != 0 || got < said || got > said+20 {
			t.Fatalf("%d said, %d read, %d damaged", said, got, damaged)
		}
		sequence(t, all, settled, got-settled)
		said = got
		// Half of the time it is sent before the next one starts.
		if rand.IntN(2) == 0 {
			j.Settle(got, got, 0)
			settled = got
		}
		adds(t, j)
		closed(t, j)
	}
}
