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

// Leftover is a process of a stack that was killed before it could stop its children.
type Leftover struct {
	Name string
	Pid  int
	file string
}

// FindLeftovers reads the pid files in runDir. A pid counts only if the process carries the marker (a NAME=value pair)
// in its environment, since its number may belong to somebody else by now; pid files of others are removed.
func FindLeftovers(ctx context.Context, runDir, marker string) ([]Leftover, error) {
	files, err := filepath.Glob(PidFile(runDir, "*"))
	if err != nil {
		return nil, fmt.Errorf("listing pid files: %w", err)
	}
	var found []Leftover
	for _, file := range files {
		pid, err := ReadPid(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // ended just now
		}
		if err == nil && carries(ctx, pid, marker) {
			found = append(found, Leftover{Name: strings.TrimSuffix(filepath.Base(file), ".pid"), Pid: pid, file: file})
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("removing a stale pid file: %w", err)
		}
	}
	return found, nil
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
func (l Leftover) End(ctx context.Context, grace time.Duration) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(l.Pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping process %d (%s): %w", l.Pid, l.Name, err)
		}
		for wait := time.Duration(0); wait < grace; wait += leftoverPoll {
			if !Alive(l.Pid) {
				return l.removeFile()
			}
			if !sleep(ctx, leftoverPoll) {
				return ctx.Err()
			}
		}
	}
	return fmt.Errorf("process %d (%s) does not end", l.Pid, l.Name)
}

func (l Leftover) removeFile() error {
	if err := os.Remove(l.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing a pid file: %w", err)
	}
	return nil
}

// Alive reports whether a process with this id exists. A process that ended and was not collected yet is not alive.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !defunct(pid)
}
