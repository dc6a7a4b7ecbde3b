package stack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func values() map[string]string {
	return map[string]string{
		"LINKSTREAM_API_URL": "http://127.0.0.1:8300", "LINKSTREAM_API_KEY": "k",
		"LINKSTREAM_EDGE_URLS":     "http://127.0.0.1:8380,http://127.0.0.1:8381,http://127.0.0.1:8480",
		"LINKSTREAM_REDIS_URLS":    "fra=redis://127.0.0.1:16679/0,ash=redis://127.0.0.1:16680/0",
		"LINKSTREAM_KAFKA_BROKERS": "127.0.0.1:19392",
	}
}

func TestProcessesAreFoundByThePlanOfPorts(t *testing.T) {
	s, err := read("dir", values())
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, want string) {
		t.Helper()
		if got, ok := s.Admin(name); !ok || got != want {
			t.Errorf("%s has its admin listener at %s, want %s", name, got, want)
		}
	}
	check("links", "http://127.0.0.1:9310")
	check("cacheupdater-ash", "http://127.0.0.1:9331")
	check("redirect-fra-1", "http://127.0.0.1:9381")
	check("redirect-ash-0", "http://127.0.0.1:9480")
	if _, ok := s.Admin("postgres"); ok {
		t.Error("postgres has an admin listener")
	}
	if s.RPC != "http://127.0.0.1:8311" || s.Regions[1].Redis != "127.0.0.1:16680" || len(s.Services()) != 10 {
		t.Errorf("%+v", s)
	}
}

func TestLoadGoesToLoopbackOnly(t *testing.T) {
	for _, name := range []string{"LINKSTREAM_API_URL", "LINKSTREAM_EDGE_URLS"} {
		v := values()
		v[name] = "http://192.0.2.1:8300"
		if _, err := read("dir", v); err == nil {
			t.Errorf("%s may be anywhere", name)
		}
	}
	v := values()
	v["LINKSTREAM_REDIS_URLS"] = "fra=redis://192.0.2.1:16679/0"
	if _, err := read("dir", v); err == nil {
		t.Error("Redis may be anywhere")
	}
}

// runFolder is a stack's folder with one process, which nobody starts again.
func runFolder(t *testing.T) (*Stack, *exec.Cmd) {
	t.Helper()
	s := &Stack{Dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.Dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := filepath.Join(s.Dir, "run", "victim.pid")
	if err := os.WriteFile(pid, []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_ = os.Remove(pid)
		close(ended)
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return s, cmd
}

func holds(t *testing.T, s *Stack) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Dir, "run", "*.hold"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestWhatWasKilledIsHeldUntilItIsMended(t *testing.T) {
	s, _ := runFolder(t)
	f := s.Faults()
	if err := f.Kill(t.Context(), "victim"); err != nil {
		t.Fatal(err)
	}
	if len(holds(t, s)) != 1 {
		t.Error("nothing keeps it from being started again")
	}
	if err := errors.Join(f.Mend(), f.Mend()); err != nil || len(holds(t, s)) != 0 {
		t.Errorf("after Mend: %v, %v", err, holds(t, s))
	}
	if err := f.Kill(t.Context(), "nobody"); err == nil {
		t.Error("who is not there was killed")
	}
	if err := f.Mend(); err != nil || len(holds(t, s)) != 0 {
		t.Errorf("after a Kill that failed: %v, %v", err, holds(t, s))
	}
}

func TestWhatHangsGoesOnWhenItIsMended(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	s, cmd := runFolder(t)
	state := func() string {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text))[2]
	}
	f := s.Faults()
	if err := f.Hang("victim"); err != nil {
		t.Fatal(err)
	}
	await := func(want string) {
		t.Helper()
		err := Until(t.Context(), 5*time.Second, "its state is "+want, func(context.Context) error {
			if got := state(); got != want {
				return errors.New(got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	await("T")
	if err := f.Mend(); err != nil {
		t.Fatal(err)
	}
	await("S")
}

func TestOnlyHoldsOfDeadLoadTestsAreDropped(t *testing.T) {
	s, cmd := runFolder(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.Dir, "run", name+".hold"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("somebodys", "")
	write("running", holder+strconv.Itoa(cmd.Process.Pid)+"\n")
	write("dead", holder+"2147483646\n")
	if err := s.dropStaleHolds(); err != nil {
		t.Fatal(err)
	}
	for _, path := range holds(t, s) {
		if filepath.Base(path) == "dead.hold" {
			t.Error("the hold of a dead load test is left")
		}
	}
	if n := len(holds(t, s)); n != 2 {
		t.Errorf("%d holds are left", n)
	}
}
