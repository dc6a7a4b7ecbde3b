package stack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/linkstream/linkstream/loadtest/internal/cpu"
)

const (
	startLimit = 3 * time.Minute
	stopLimit  = time.Minute
	// Bases from which no port of a stack reaches those that systems hand out to
	// clients, which begin at 32768: a process that is killed could not have its port
	// back.
	lowestBase, highestBase, baseStep = 3_000, 13_000, 10
	baseTries                         = 100
)

// Own is a stack that Start started.
type Own struct {
	*Stack
	parent string
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of the exit
}

// Start starts a stack with two regions of one edge each, on free ports, in a folder
// of its own. Stop has to be called.
func Start(ctx context.Context, bin string, environ []string) (*Own, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, fmt.Errorf("locating %s: %w", bin, err)
	}
	if _, err := os.Stat(filepath.Join(bin, "stack")); err != nil {
		return nil, fmt.Errorf("the programs are not built: run `make build`: %w", err)
	}
	base, err := freeBase(ctx)
	if err != nil {
		return nil, err
	}
	parent, err := os.MkdirTemp("", "linkstream-load-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	o := &Own{parent: parent, exited: make(chan struct{})}
	if err := os.Chmod(parent, 0o755); err != nil { // Postgres runs as another user
		return nil, errors.Join(err, o.Stop(ctx))
	}
	dir := filepath.Join(parent, "stack")
	output, err := os.Create(dir + ".out")
	if err != nil {
		return nil, errors.Join(err, o.Stop(ctx))
	}
	defer func() { _ = output.Close() }()
	o.cmd = exec.Command(filepath.Join(bin, "stack"), "up", "--dir", dir, "--bin", bin) //nolint:noctx // ended by Stop, in an orderly way
	for _, pair := range environ {
		if !strings.HasPrefix(pair, "LINKSTREAM_PORT_BASE=") && !strings.HasPrefix(pair, "REGIONS=") && !strings.HasPrefix(pair, "EDGES=") {
			o.cmd.Env = append(o.cmd.Env, pair)
		}
	}
	o.cmd.Env = append(o.cmd.Env, "REGIONS=fra ash", "EDGES=1", "LINKSTREAM_PORT_BASE="+strconv.Itoa(base))
	o.cmd.Stdout, o.cmd.Stderr = output, output
	o.cmd.SysProcAttr = cpu.Orphan() // a Ctrl-C is ours, and nothing survives us
	if err := o.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a stack: %w", err), o.Stop(ctx))
	}
	go func() {
		o.err = o.cmd.Wait()
		close(o.exited)
	}()
	err = Until(ctx, startLimit, "the stack is ready", func(ctx context.Context) error {
		select {
		case <-o.exited:
			return errors.New("it has ended")
		default:
		}
		var err error
		if o.Stack, err = Open(ctx, dir); err != nil {
			return err
		}
		for _, name := range o.Services() {
			admin, _ := o.Admin(name)
			if err := Ready(ctx, admin); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		text, _ := os.ReadFile(output.Name())
		return nil, errors.Join(err, fmt.Errorf("the stack says: %s", text), o.Stop(ctx))
	}
	return o, nil
}

// Stop ends the stack and removes its data.
func (o *Own) Stop(ctx context.Context) error {
	var errs []error
	if o.cmd != nil && o.cmd.Process != nil {
		_ = o.cmd.Process.Signal(os.Interrupt) // it may have ended
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		select {
		case <-o.exited:
			if o.err != nil {
				errs = append(errs, fmt.Errorf("the stack ended: %w", o.err))
			}
		case <-limit.Done():
			_ = o.cmd.Process.Kill()
			<-o.exited
			errs = append(errs, errors.New("the stack had to be killed"))
		}
	}
	if err := os.RemoveAll(o.parent); err != nil {
		errs = append(errs, fmt.Errorf("removing the stack's folder: %w", err))
	}
	return errors.Join(errs...)
}

// freeBase picks, by chance, an offset at which every port of the plan is free.
func freeBase(ctx context.Context) (int, error) {
	ports := []int{
		8000, 8010, 8011, 8020, 8050, 8080, 8180, 9000, 9010, 9020, 9030, 9031, 9040, 9050, 9080, 9180,
		15432, 16379, 16380, 18123, 19092, 19093,
	}
	var lc net.ListenConfig
	free := func(base int) bool {
		for _, port := range ports {
			l, err := lc.Listen(ctx, "tcp", local(base+port))
			if err != nil || l.Close() != nil {
				return false
			}
		}
		return true
	}
	for range baseTries {
		if base := lowestBase + rand.IntN((highestBase-lowestBase)/baseStep)*baseStep; free(base) {
			return base, nil
		}
	}
	return 0, errors.New("no free ports for a stack")
}
