package supervise

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Once runs a program to its end, with its messages appended to its log file. Its standard output goes to stdout, or to
// the log too if that is nil. When ctx ends the program is stopped as a Process is. Before and After are not called.
func Once(ctx context.Context, spec Spec, dirs Dirs, spawner *Spawner, stdout io.Writer) error {
	log, err := os.OpenFile(LogFile(dirs.Log, spec.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = log.Close() }()
	if _, err := fmt.Fprintf(log, "--- %s %s starting\n", time.Now().UTC().Format(time.RFC3339), spec.Name); err != nil {
		return fmt.Errorf("noting the start: %w", err)
	}
	cmd := exec.CommandContext(ctx, spec.Path, spec.Args...)
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = log, log
	if stdout != nil {
		cmd.Stdout = stdout
	}
	cmd.SysProcAttr = spec.sysProcAttr()
	cmd.Cancel = func() error { return cmd.Process.Signal(spec.StopSignal) }
	cmd.WaitDelay = spec.Grace
	if err := spawner.start(cmd); err != nil {
		return err
	}
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in its group
	return err
}

// LogFile is the path of a process's log.
func LogFile(logDir, name string) string { return filepath.Join(logDir, name+".log") }
