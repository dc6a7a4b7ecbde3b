package cpu_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
)

func TestProcessIsBornOnItsProcessor(t *testing.T) {
	home, target, err := cpu.Two()
	if err != nil {
		t.Skip(err)
	}
	for _, core := range []int{home, target} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "grep Cpus_allowed_list /proc/self/status")
		var out strings.Builder
		cmd.Stdout = &out
		if err := cpu.Pinned(core, home, cmd.Start); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(out.String()); len(got) != 2 || got[1] != string(rune('0'+core)) && core < 10 {
			t.Errorf("a process for processor %d may run on %v", core, got)
		}
	}
}

func TestUsedCountsChildren(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'while :; do :; done'; :")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	const enough = 100 * time.Millisecond
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(10 * time.Second); ; {
		if got, err := cpu.Used(cmd.Process.Pid); err != nil || got >= enough {
			if err != nil {
				t.Error(err)
			}
			break
		}
		select {
		case <-limit:
			t.Error("a busy child is not counted")
			return
		case <-tick.C:
		}
	}
}
