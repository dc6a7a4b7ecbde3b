package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

// helper makes the test binary be one of the programs below.
const helper = "LINKSTREAM_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helper) {
	case "":
		goleak.VerifyTestMain(m)
	case "wait": // ends orderly on SIGTERM
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("waiting")
		<-signals
		os.Exit(0)
	case "stubborn": // with a child in its group, and deaf
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println("child", child.Process.Pid)
		_ = child.Wait()
	case "die":
		fmt.Println("dying")
		os.Exit(3)
	case "supervisor": // supervises a "wait" until it is killed
		dirs := supervise.Dirs{Run: os.Args[1], Log: os.Args[1]}
		spawner := supervise.NewSpawner()
		go func() { _ = spawner.Run(context.Background()) }()
		p := supervise.New(spec("child", "wait"), dirs, spawner, func(supervise.Event) {})
		_ = p.Run(context.Background())
	}
}

func spec(name, program string) supervise.Spec {
	return supervise.Spec{
		Name: name, Path: os.Args[0],
		Env:        append(os.Environ(), helper+"="+program),
		StopSignal: syscall.SIGTERM, Grace: 5 * time.Second,
	}
}

// startSpawner runs a spawner until the test's other clean-ups are done.
func startSpawner(t *testing.T) *supervise.Spawner {
	t.Helper()
	spawner := supervise.NewSpawner()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = spawner.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return spawner
}

type running struct {
	process *supervise.Process
	dirs    supervise.Dirs
	events  chan supervise.Event
	stop    func() error
}

func run(t *testing.T, s supervise.Spec) *running {
	t.Helper()
	r := &running{
		dirs:   supervise.Dirs{Run: t.TempDir(), Log: t.TempDir()},
		events: make(chan supervise.Event, 100),
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.process = supervise.New(s, r.dirs, startSpawner(t), func(e supervise.Event) { r.events <- e })
	ended := make(chan error, 1)
	go func() { ended <- r.process.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = r.stop() })
	return r
}

// pid waits for a running process other than the given ones.
func (r *running) pid(t *testing.T, not ...int) int {
	t.Helper()
	var pid int
	eventually(t, "the process is running", func() bool {
		var err error
		pid, err = supervise.ReadPid(supervise.PidFile(r.dirs.Run, "p"))
		if slices.Contains(not, pid) {
			return false
		}
		return err == nil && supervise.Alive(pid)
	})
	return pid
}

func (r *running) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.process.LogPath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func (r *running) event(t *testing.T) supervise.Event {
	t.Helper()
	select {
	case e := <-r.events:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("nothing happened")
		return supervise.Event{}
	}
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); !check(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("not so: " + what)
		}
	}
}

func TestKilledProcessRunsAgainWithinASecond(t *testing.T) {
	r := run(t, spec("p", "wait"))
	first := r.pid(t)
	eventually(t, "it runs", func() bool { return strings.Contains(r.log(t), "waiting") })
	killed := time.Now()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.pid(t, first)
	if took := time.Since(killed); took > time.Second {
		t.Errorf("it took %s", took)
	}
	if e := r.event(t); e.Kind != supervise.Exited || !strings.Contains(e.Err.Error(), "killed") {
		t.Errorf("event %+v", e)
	}
	eventually(t, "both starts are in the log", func() bool { return strings.Count(r.log(t), "waiting") == 2 })
	if strings.Count(r.log(t), "p starting\n") != 2 {
		t.Errorf("the starts are not marked: %s", r.log(t))
	}
}

func TestProcessThatKeepsDyingIsStartedAtMostOnceASecondButStarted(t *testing.T) {
	r := run(t, spec("p", "die"))
	begin := time.Now()
	last := begin
	for n := range 6 {
		if e := r.event(t); e.Kind != supervise.Exited || e.Err.Error() != "exit status 3" {
			t.Fatalf("event %+v", e)
		}
		if gap := time.Since(last); gap > 1500*time.Millisecond {
			t.Errorf("start %d came %s after the last", n, gap)
		}
		last = time.Now()
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("6 starts in %s: no back-off", took)
	}
}

func TestHeldProcessStaysDownUntilReleased(t *testing.T) {
	r := run(t, spec("p", "wait"))
	first := r.pid(t)
	hold := supervise.HoldFile(r.dirs.Run, "p")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !supervise.Alive(first) {
		t.Error("a hold file ended the process")
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := r.event(t); e.Kind != supervise.Held {
		t.Fatalf("event %+v", e)
	}
	if _, err := os.Stat(supervise.PidFile(r.dirs.Run, "p")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a pid file: %v", err)
	}
	select {
	case e := <-r.events:
		t.Fatalf("event %+v", e)
	case <-time.After(500 * time.Millisecond):
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	if e := r.event(t); e.Kind != supervise.Released {
		t.Fatalf("event %+v", e)
	}
	r.pid(t, first)
}

func TestHeldProcessDoesNotHinderTheStop(t *testing.T) {
	r := run(t, spec("p", "wait"))
	first := r.pid(t)
	if err := os.WriteFile(supervise.HoldFile(r.dirs.Run, "p"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.event(t)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func TestStopLeavesNothingBehind(t *testing.T) {
	s := spec("p", "wait")
	var ends []bool
	s.After = func(orderly bool) { ends = append(ends, orderly) }
	r := run(t, s)
	pid := r.pid(t)
	eventually(t, "it listens to signals", func() bool { return strings.Contains(r.log(t), "waiting") })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if supervise.Alive(pid) {
		t.Error("the process is still there")
	}
	if files, _ := filepath.Glob(filepath.Join(r.dirs.Run, "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
	if len(ends) != 1 || !ends[0] {
		t.Errorf("ends: %v, want one orderly", ends)
	}
}

func TestStubbornProcessIsKilledWithItsGroup(t *testing.T) {
	s := spec("p", "stubborn")
	s.Grace = 100 * time.Millisecond
	r := run(t, s)
	pid := r.pid(t)
	var child int
	eventually(t, "it has a child", func() bool {
		_, after, _ := strings.Cut(r.log(t), "child ")
		n, _ := fmt.Sscan(after, &child)
		return n == 1
	})
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if e := r.event(t); e.Kind != supervise.Killed {
		t.Errorf("event %+v", e)
	}
	eventually(t, "process and child are gone", func() bool { return !supervise.Alive(pid) && !supervise.Alive(child) })
}

func TestMissingProgramIsAnError(t *testing.T) {
	s := spec("p", "wait")
	s.Path = "/nowhere/program"
	spawner := startSpawner(t)
	p := supervise.New(s, supervise.Dirs{Run: t.TempDir(), Log: t.TempDir()}, spawner, func(supervise.Event) {})
	if err := p.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestChildEndsWithAKilledSupervisor(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("only Linux ends children with their parent")
	}
	dir := t.TempDir()
	supervisor := exec.CommandContext(t.Context(), os.Args[0], dir)
	supervisor.Env = append(os.Environ(), helper+"=supervisor")
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	eventually(t, "the child is running", func() bool {
		var err error
		child, err = supervise.ReadPid(supervise.PidFile(dir, "child"))
		return err == nil && supervise.Alive(child)
	})
	if err := supervisor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = supervisor.Wait() // that it was killed is no news
	eventually(t, "the child is gone", func() bool { return !supervise.Alive(child) })
}

func TestOnceReportsHowAProgramEnded(t *testing.T) {
	dirs := supervise.Dirs{Run: t.TempDir(), Log: t.TempDir()}
	spawner := startSpawner(t)
	var out strings.Builder
	err := supervise.Once(t.Context(), spec("once", "die"), dirs, spawner, &out)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || out.String() != "dying\n" {
		t.Errorf("got %v, %q", err, out.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := supervise.Once(ctx, spec("once", "wait"), dirs, spawner, io.Discard); err == nil {
		t.Error("a stopped program is no error")
	}
}

func TestOnlyOwnProcessesAreLeftovers(t *testing.T) {
	dir := t.TempDir()
	pair := "LINKSTREAM_TEST_STACK=" + dir
	begin := func(name string, env ...string) (*exec.Cmd, chan struct{}) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		cmd.Env = env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait() }()
		if err := os.WriteFile(supervise.PidFile(dir, name), fmt.Appendln(nil, cmd.Process.Pid), 0o600); err != nil {
			t.Fatal(err)
		}
		return cmd, ended
	}
	own, ownEnded := begin("own", pair)
	other, otherEnded := begin("other", pair+"x")
	if err := os.WriteFile(supervise.PidFile(dir, "garbage"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	left, err := supervise.FindLeftovers(t.Context(), dir, pair)
	if err != nil || len(left) != 1 || left[0].Pid != own.Process.Pid || left[0].Name != "own" {
		t.Fatalf("got %+v, %v", left, err)
	}
	if err := left[0].End(t.Context(), 5*time.Second); err != nil {
		t.Error(err)
	}
	<-ownEnded
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
	if !supervise.Alive(other.Process.Pid) {
		t.Error("a stranger was ended")
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-otherEnded
}
