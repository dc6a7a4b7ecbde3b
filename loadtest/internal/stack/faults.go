package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// holder is what a hold file of ours says, before the process id.
const holder = "loadtest "

// diedWithin is how long a process may take to end after SIGKILL.
const diedWithin = 10 * time.Second

// Faults breaks processes of a stack and knows what it broke.
type Faults struct {
	stack *Stack
	holds []string // paths
	hung  []int    // process ids
}

// Faults returns the breaker of this stack. Its Mend has to be called in any case.
func (s *Stack) Faults() *Faults { return &Faults{stack: s} }

// PID is the process id of one of the stack's processes. There is none while it is
// started again.
func (s *Stack) PID(name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(s.Dir, "run", name+".pid"))
	if err != nil {
		return 0, fmt.Errorf("reading the id of %s: %w", name, err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Names are those of the stack's processes that run, or are to.
func (s *Stack) Names() (names []string) {
	paths, err := filepath.Glob(filepath.Join(s.Dir, "run", "*.pid"))
	if err != nil {
		return nil // no such folder
	}
	for _, path := range paths {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".pid"))
	}
	return names
}

// Kill ends processes with SIGKILL and keeps them from being started again until
// Mend.
func (f *Faults) Kill(ctx context.Context, names ...string) error {
	for _, name := range names {
		path := filepath.Join(f.stack.Dir, "run", name+".hold")
		if err := os.WriteFile(path, []byte(holder+strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
			return fmt.Errorf("holding %s: %w", name, err)
		}
		f.holds = append(f.holds, path)
	}
	for _, name := range names {
		pid, err := f.stack.PID(name)
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing %s: %w", name, err)
		}
		err = Until(ctx, diedWithin, name+" is gone", func(context.Context) error {
			if now, err := f.stack.PID(name); err == nil && now == pid {
				return errors.New("it is still there")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Hang stops processes, and those they started, without ending them: connections
// stand and nothing answers. Mend lets them go on.
func (f *Faults) Hang(names ...string) error {
	if runtime.GOOS != "linux" {
		return errors.New("hanging a process with its children needs /proc")
	}
	for _, name := range names {
		pid, err := f.stack.PID(name)
		if err != nil {
			return err
		}
		pids, err := family(pid)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			f.hung = append(f.hung, pid)
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stopping %s: %w", name, err)
			}
		}
	}
	return nil
}

// Mend undoes every Kill and Hang so far. It is the same to call it again.
func (f *Faults) Mend() error {
	var errs []error
	for _, path := range f.holds {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("releasing: %w", err))
		}
	}
	for _, pid := range f.hung {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("continuing: %w", err))
		}
	}
	f.holds, f.hung = nil, nil
	return errors.Join(errs...)
}

// family is a process and its children, which of PostgreSQL are those that answer.
func family(parent int) ([]int, error) {
	pids := []int{parent}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent ...", and the name may hold anything.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, fmt.Errorf("listing processes: %w", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// Restart ends a process with SIGTERM, as a deployment does, and waits until another
// one is there and ready.
func (s *Stack) Restart(ctx context.Context, name string, limit time.Duration) error {
	old, err := s.PID(name)
	if err != nil {
		return err
	}
	if err := syscall.Kill(old, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	err = Until(ctx, limit, name+" has been started again", func(context.Context) error {
		pid, err := s.PID(name)
		if err == nil && pid == old {
			err = errors.New("it is still there")
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.AwaitReady(ctx, limit, name)
}

// dropStaleHolds removes the hold files of load tests that were killed before they
// could.
func (s *Stack) dropStaleHolds() error {
	paths, err := filepath.Glob(filepath.Join(s.Dir, "run", "*.hold"))
	if err != nil {
		return fmt.Errorf("listing hold files: %w", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // somebody else has removed it
		}
		id, ours := strings.CutPrefix(strings.TrimSpace(string(text)), holder)
		pid, err := strconv.Atoi(id)
		if !ours || err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing a hold that was left behind: %w", err)
		}
	}
	return nil
}
