package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const leftoverPoll = 20 * time.Millisecond

// Running is a process that a pid file names.
type Running struct {
	Name  string
	Pid   int
	Since time.Time
	file  string
}

// FindRunning reads the pid files in runDir. A pid counts only if the process carries the marker (a NAME=value pair)
// in its environment, since its number may belong to somebody else by now. Without runDir nothing runs.
func FindRunning(ctx context.Context, runDir, marker string) ([]Running, error) {
	found, _, err := readPidFiles(ctx, runDir, marker)
	return found, err
}

// FindLeftovers finds the running processes of a stack that was killed before it could stop its children, and removes
// the pid files of those that are gone. It is for the holder of the stack's lock: to nobody else are they leftovers.
func FindLeftovers(ctx context.Context, runDir, marker string) ([]Running, error) {
	found, stale, err := readPidFiles(ctx, runDir, marker)
	for _, file := range stale {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("removing a stale pid file: %w", err)
		}
	}
	return found, err
}

func readPidFiles(ctx context.Context, runDir, marker string) (found []Running, stale []string, err error) {
	files, err := filepath.Glob(PidFile(runDir, "*"))
	if err != nil {
		return nil, nil, fmt.Errorf("listing pid files: %w", err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // ended just now
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading a pid file: %w", err)
		}
		pid, err := ReadPid(file)
		if err != nil || !carries(ctx, pid, marker) {
			stale = append(stale, file)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		found = append(found, Running{Name: name, Pid: pid, Since: info.ModTime(), file: file})
	}
	return found, stale, nil
}

// ReadPid reads a pid file.
func ReadPid(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s does not hold a process id", file)
	}
	return pid, nil
}

// End asks the process to stop with SIGTERM, and after the grace time ends it with SIGKILL.
func (r Running) End(ctx context.Context, grace time.Duration) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(r.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping process %d (%s): %w", r.Pid, r.Name, err)
		}
		for wait := time.Duration(0); wait < grace; wait += leftoverPoll {
			if !Alive(r.Pid) {
				return r.removeFile()
			}
			if !sleep(ctx, leftoverPoll) {
				return ctx.Err()
			}
		}
	}
	return fmt.Errorf("process %d (%s) does not end", r.Pid, r.Name)
}

func (r Running) removeFile() error {
	if err := os.Remove(r.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing a pid file: %w", err)
	}
	return nil
}

// Alive reports whether a process with this id exists. A process that ended and was not collected yet is not alive.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !defunct(pid)
}
