package cpu

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestStrangersAreWhatIsLeft(t *testing.T) {
	start := time.Unix(0, 0)
	earlier := glance{at: start, machine: 100 * time.Second, ours: map[int]time.Duration{1: 10 * time.Second, 2: 5 * time.Second}}
	now := glance{at: start.Add(2 * time.Second), machine: 104 * time.Second, ours: map[int]time.Duration{
		1: 11 * time.Second, // one second more
		3: time.Second,      // new; 2 has ended
	}}
	if strangers, took := now.since(earlier); strangers != 2*time.Second || took != 2*time.Second {
		t.Errorf("strangers used %v in %v", strangers, took)
	}
	var s Strangers
	for range 99 {
		s.add(100*time.Millisecond, time.Second)
	}
	s.add(-time.Second, time.Second) // clocks tick, ours before the machine's
	s.add(2*time.Second, time.Second)
	if mean, worst := s.Use(); mean < 0.11 || mean > 0.12 || worst != 0.1 {
		t.Errorf("%v on average, %v at worst", mean, worst)
	}
	s.add(2*time.Second, time.Second)
	if _, worst := s.Use(); worst != 2 {
		t.Errorf("two seconds of a hundred are %v", worst)
	}
}

// A child is ours, and its children are; one whose parent has ended is a stranger.
func TestDescendantsAreOurs(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 16)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	see := func(roots ...int) map[int]time.Duration {
		t.Helper()
		g, err := look(roots)
		if err != nil || g.machine <= 0 {
			t.Fatal(g, err)
		}
		return g.ours
	}
	for _, pid := range []int{os.Getpid(), cmd.Process.Pid, grandchild} {
		if _, ours := see()[pid]; !ours {
			t.Errorf("process %d is a stranger", pid)
		}
	}
	if parent, err := Parent(grandchild); err != nil || parent != cmd.Process.Pid {
		t.Errorf("its parent is %d, %v", parent, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, ours := see()[grandchild]; ours {
		t.Error("an orphan is ours")
	}
	if _, ours := see(grandchild)[grandchild]; !ours {
		t.Error("a root is a stranger")
	}
	if orphan, err := os.FindProcess(grandchild); err == nil {
		_ = orphan.Kill()
	}
}
