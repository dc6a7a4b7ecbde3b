package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/linkstream/linkstream/compose/local/internal/console"
	"github.com/linkstream/linkstream/compose/local/internal/plan"
	"github.com/linkstream/linkstream/compose/local/internal/postgres"
	"github.com/linkstream/linkstream/compose/local/internal/supervise"
)

// stopLimit is how long a running stack may take to stop: its tiers one after the other.
const stopLimit = 5 * grace

// Down stops the stack that runs in dir, and what an earlier one left. That nothing runs is no error.
func Down(ctx context.Context, dir string, c *console.Console) error {
	held, f, err := takeOver(ctx, dir, c)
	if err != nil || held == nil {
		return err
	}
	defer held.release()
	return endLeftovers(ctx, f, c)
}

// Clean stops the stack and removes what it made in its folder, and the folder if it is empty then.
func Clean(ctx context.Context, dir string, c *console.Console) error {
	held, f, err := takeOver(ctx, dir, c)
	if err != nil || held == nil {
		return err
	}
	defer held.release()
	if err := endLeftovers(ctx, f, c); err != nil {
		return err
	}
	if err := postgres.Remove(filepath.Join(f.root, "data", plan.Postgres)); err != nil {
		return err
	}
	// Only what a stack makes: --dir may name a folder with other things in it.
	for _, name := range []string{"run", "log", "data", "bin", "dev.env", lockName} {
		if err := os.RemoveAll(filepath.Join(f.root, name)); err != nil {
			return fmt.Errorf("removing the stack's files: %w", err)
		}
	}
	if err := os.Remove(f.root); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("removing the stack's folder: %w", err)
	}
	return nil
}

// takeOver gets the lock of the folder, after stopping the stack that has it. There is no lock, and nothing to do, where
// no stack has ever run.
func takeOver(ctx context.Context, dir string, c *console.Console) (*lock, folder, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, f, err
	}
	if _, err := os.Stat(filepath.Join(f.root, lockName)); errors.Is(err, fs.ErrNotExist) {
		return nil, f, nil
	}
	held, err := f.lock()
	var locked *lockedError
	if !errors.As(err, &locked) || locked.pid == 0 {
		return held, f, err
	}
	c.Event("stopping the stack (process %d)", locked.pid)
	if err := syscall.Kill(locked.pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return nil, f, fmt.Errorf("stopping process %d: %w", locked.pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		held, err = f.lock()
		if !errors.As(err, &locked) {
			return held, f, err
		}
		select {
		case <-ctx.Done():
			return nil, f, fmt.Errorf("process %d does not stop: kill -9 %d, then try again", locked.pid, locked.pid)
		case <-tick.C:
		}
	}
}

// endLeftovers ends the processes of a stack that was killed. The caller holds the lock, so they belong to nobody.
func endLeftovers(ctx context.Context, f folder, c *console.Console) error {
	left, err := supervise.FindLeftovers(ctx, f.dirs().Run, f.markerPair())
	if err != nil {
		return err
	}
	for _, l := range left {
		c.Event("ending %s (process %d), left by an earlier run", l.Name, l.Pid)
		if err := l.End(ctx, grace); err != nil {
			return err
		}
	}
	return nil
}

// Status prints the processes that are running in dir.
func Status(ctx context.Context, dir string, c *console.Console) error {
	f, err := openFolder(dir)
	if err != nil {
		return err
	}
	running, err := supervise.FindRunning(ctx, f.dirs().Run, f.markerPair())
	if err != nil {
		return err
	}
	if len(running) == 0 {
		c.Text("nothing is running in " + f.root + "\n")
		return nil
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROCESS\tUP\tLOG")
	for _, process := range running {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", process.Name, process.Pid,
			time.Since(process.Since).Round(time.Second), supervise.LogFile(f.dirs().Log, process.Name))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	c.Text(text.String())
	return nil
}
