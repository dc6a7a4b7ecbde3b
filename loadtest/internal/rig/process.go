package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
)

// process is one that runs until it is stopped.
type process struct {
	name   string
	log    string // file of its output
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of the exit, once exited is closed
}

// start starts a program on a processor.
func (r *Rig) start(core int, name string, env map[string]string, path string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(r.dir, name+".log"), exited: make(chan struct{})}
	output, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer func() { _ = output.Close() }()
	p.cmd = exec.Command(path, args...) //nolint:noctx // it is stopped by stop, in an orderly way
	p.cmd.Env = r.environment(env)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.SysProcAttr = cpu.Orphan()
	pinned := func(start func() error) error { return cpu.Pinned(core, r.Home, start) }
	if r.everywhere {
		pinned = func(start func() error) error { return start() }
	}
	if err := pinned(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	r.running = append(r.running, p)
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// stop ends the process in an orderly way.
func (p *process) stop() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended before its time: %w: %s", p.name, p.err, p.tail())
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(stopLimit):
	}
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	<-p.exited
	return fmt.Errorf("%s did not end within %v and was killed: %s", p.name, stopLimit, p.tail())
}

// until polls until check returns nil. It gives up when the process ends.
func (p *process) until(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended: %w: %s", p.name, p.err, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", p.name, errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// untilReady waits until the admin listener says so.
func (p *process) untilReady(ctx context.Context, admin string) error {
	return p.until(ctx, func(ctx context.Context) error {
		_, err := get(ctx, "http://"+admin+"/readyz")
		return err
	})
}

// tail is the end of what the process has printed.
func (p *process) tail() []byte {
	const length = 2000
	text, err := os.ReadFile(p.log)
	if err != nil {
		return nil
	}
	return text[max(0, len(text)-length):]
}
