// Package supervise keeps one child process running.
//
// It promises: a process that dies is started again within a second, with its output appended to a log file and its id
// in a pid file, unless a hold file asks for a pause; when Run returns, the process and whatever it started in its
// process group are gone, and so is the pid file; on Linux the children also end when the supervisor is killed with
// SIGKILL. It refuses to judge whether a process is healthy: that is the prober's job.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// The first restart comes at once; a process that keeps dying is started ever more slowly, up to the second that
	// fault tests wait for it at most.
	firstDelay = 50 * time.Millisecond
	maxDelay   = 900 * time.Millisecond
	// A process that lived this long did not die of its start.
	settled = 5 * time.Second
	// How often a hold file is looked for, so how late a released process may start.
	holdPoll = 100 * time.Millisecond
)

// Spec says what to run.
type Spec struct {
	Name string // of the pid, log and hold files
	Path string
	Args []string
	Env  []string
	Dir  string              // working directory
	User *syscall.Credential // nil: the supervisor's own

	StopSignal syscall.Signal // asks for an orderly end
	Grace      time.Duration  // from the stop signal to SIGKILL

	// Before prepares each start, such as removing what a killed predecessor left. May be nil.
	Before func() error
	// After is told how each run ended: true for an orderly end. May be nil.
	After func(orderly bool)
}

// Dirs are where the files of processes go: Run/NAME.pid, Run/NAME.hold, Log/NAME.log.
type Dirs struct {
	Run string
	Log string
}

// Event is something a person who watches the stack should know.
type Event struct {
	Name string
	Kind EventKind
	Err  error // how the process ended, or why it could not start
}

// EventKind tells events apart.
type EventKind int

// The kinds of events.
const (
	Exited   EventKind = iota // died by itself; it will be started again
	Held                      // died, and a hold file keeps it from being started again
	Released                  // the hold file is gone; it is started again
	Killed                    // did not end in its grace time
)

// Process is one supervised process.
type Process struct {
	spec    Spec
	dirs    Dirs
	spawner *Spawner
	notify  func(Event)

	starts atomic.Int64
	pid    atomic.Int64
}

// New returns a process that Run starts. notify is called from Run's goroutine and must not block for long.
func New(spec Spec, dirs Dirs, spawner *Spawner, notify func(Event)) *Process {
	return &Process{spec: spec, dirs: dirs, spawner: spawner, notify: notify}
}

// Name is the process's name.
func (p *Process) Name() string { return p.spec.Name }

// Starts counts how often the process was started.
func (p *Process) Starts() int64 { return p.starts.Load() }

// LogPath is the file that takes the process's output.
func (p *Process) LogPath() string { return LogFile(p.dirs.Log, p.spec.Name) }

// Kill ends the process now. Its Run treats that as any other death.
func (p *Process) Kill() {
	if pid := p.pid.Load(); pid > 0 {
		_ = syscall.Kill(-int(pid), syscall.SIGKILL) // gone already is as good
	}
}

// Run keeps the process running until ctx is cancelled, then ends it and returns. A process that cannot be started at
// all (no such file, no permission) is an error at the first start; later it is tried again like any other death.
func (p *Process) Run(ctx context.Context) error {
	delay := firstDelay
	for {
		started := time.Now()
		err := p.once(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to end
		}
		if p.starts.Load() == 0 {
			return fmt.Errorf("starting %s: %w", p.spec.Name, err)
		}
		if time.Since(started) >= settled {
			delay = firstDelay
		}
		if p.held() {
			p.notify(Event{Name: p.spec.Name, Kind: Held, Err: err})
			if !p.waitForRelease(ctx) {
				return nil
			}
			p.notify(Event{Name: p.spec.Name, Kind: Released})
			delay = firstDelay
			continue
		}
		p.notify(Event{Name: p.spec.Name, Kind: Exited, Err: err})
		if !sleep(ctx, delay) {
			return nil
		}
		delay = min(2*delay, maxDelay)
	}
}

// once runs the process from start to end. The error says how it ended.
func (p *Process) once(ctx context.Context) error {
	if p.spec.Before != nil {
		if err := p.spec.Before(); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(p.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = log.Close() }()

	if _, err := fmt.Fprintf(log, "--- %s %s starting\n", time.Now().UTC().Format(time.RFC3339), p.spec.Name); err != nil {
		return fmt.Errorf("noting the start: %w", err)
	}

	cmd := exec.Command(p.spec.Path, p.spec.Args...) //nolint:noctx // ended below, in two phases
	cmd.Env, cmd.Dir = p.spec.Env, p.spec.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = p.spec.sysProcAttr()
	if err := p.spawner.start(cmd); err != nil {
		return err
	}
	p.starts.Add(1)
	pid := cmd.Process.Pid
	p.pid.Store(int64(pid))
	defer p.pid.Store(0)
	pidFile := PidFile(p.dirs.Run, p.spec.Name)
	pidErr := writePid(pidFile, pid)
	defer func() { _ = os.Remove(pidFile) }()

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if pidErr != nil {
		_ = p.end(pid, ended)
		return fmt.Errorf("writing the pid file: %w", pidErr)
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = p.end(pid, ended)
	}
	// What the process left in its group, such as a snapshot in the making, ends with it.
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	if p.spec.After != nil {
		p.spec.After(err == nil)
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	return err
}

// end stops the process in two phases and waits for it.
func (p *Process) end(pid int, ended <-chan error) error {
	_ = syscall.Kill(pid, p.spec.StopSignal) // gone already is as good
	grace := time.NewTimer(p.spec.Grace)
	defer grace.Stop()
	select {
	case err := <-ended:
		return err
	case <-grace.C:
	}
	p.notify(Event{Name: p.spec.Name, Kind: Killed})
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	return <-ended
}

func (p *Process) held() bool {
	_, err := os.Stat(HoldFile(p.dirs.Run, p.spec.Name))
	return err == nil
}

func (p *Process) waitForRelease(ctx context.Context) bool {
	tick := time.NewTicker(holdPoll)
	defer tick.Stop()
	for p.held() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// PidFile is the path of a process's pid file.
func PidFile(runDir, name string) string { return filepath.Join(runDir, name+".pid") }

// HoldFile is the path of the file that keeps a process from being restarted.
func HoldFile(runDir, name string) string { return filepath.Join(runDir, name+".hold") }

// writePid replaces the file at once, so that a reader never sees an empty one.
func writePid(path string, pid int) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil { //nolint:gosec // read by fault tests
		return err
	}
	return os.Rename(temporary, path)
}
