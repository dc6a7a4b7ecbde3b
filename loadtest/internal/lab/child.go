package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
	"github.com/linkstream/linkstream/loadtest/internal/stack"
)

const stopLimit = 20 * time.Second

// child is a program that a lab runs.
type child struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
}

// here is where programs of this machine start.
func here(f func() error) error { return f() }

// start starts a program by do, which may be in another network. Its output goes to a
// file.
func start(do func(func() error) error, name, log string, env []string, path string, args ...string) (*child, error) {
	c := &child{name: name, log: log, exited: make(chan struct{})}
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer func() { _ = output.Close() }()
	c.cmd = exec.Command(path, args...) //nolint:noctx // it is ended by end, in an orderly way
	c.cmd.Env, c.cmd.Stdout, c.cmd.Stderr = env, output, output
	c.cmd.SysProcAttr = cpu.Orphan()
	if err := do(c.cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = c.cmd.Wait() // how it ended does not matter
		close(c.exited)
	}()
	return c, nil
}

// end sends a signal and waits for the end.
func (c *child) end(signal syscall.Signal) error {
	_ = c.cmd.Process.Signal(signal) // it may have ended
	select {
	case <-c.exited:
		return nil
	case <-time.After(stopLimit):
	}
	_ = c.cmd.Process.Kill()
	<-c.exited
	return fmt.Errorf("%s did not end within %v and was killed", c.name, stopLimit)
}

// until polls until check returns nil. It gives up when the program ends.
func (c *child) until(ctx context.Context, what string, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := stack.Until(ctx, readyLimit, what, func(ctx context.Context) error {
		select {
		case <-c.exited:
			cancel(errors.New("the program has ended"))
		default:
		}
		return check(ctx)
	})
	if err != nil {
		return fmt.Errorf("%w: %s says: %s", err, c.name, c.tail())
	}
	return nil
}

// tail is the end of what the program has printed.
func (c *child) tail() []byte {
	const length = 1000
	text, err := os.ReadFile(c.log)
	if err != nil {
		return nil
	}
	return text[max(0, len(text)-length):]
}
