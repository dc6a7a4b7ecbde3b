// Package testproc starts real servers for tests: Postgres, Redis, ClickHouse.
//
// It promises that a started process is gone when the test binary ends, however
// it ends (on Linux), and that a missing program skips a test on a laptop and
// fails it where CI is set: a test that silently did not run proves nothing.
package testproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Timeouts of a server's start and stop on a busy two-core machine.
const (
	startTimeout = 60 * time.Second
	stopTimeout  = 10 * time.Second
	pollEvery    = 20 * time.Millisecond
)

// Process is a running server.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	log    *tail
}

// Missing skips the test, or fails it when CI is set.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf("%s is missing: run `make install`", what)
	}
	tb.Skipf("%s is missing: run `make install`", what)
}

// NoLeaks returns the exit code of a package's tests, or 1 when they passed and left
// goroutines behind. Use it as os.Exit(testproc.NoLeaks(m.Run())) in TestMain.
func NoLeaks(code int) int {
	http.DefaultClient.CloseIdleConnections() // kept for reuse, not forgotten
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// Look finds a program in the given folders (glob patterns, the last match
// wins, so a newer version does) or in PATH.
func Look(name string, globs ...string) (string, bool) {
	for _, g := range globs {
		matches, err := filepath.Glob(filepath.Join(g, name))
		if err == nil && len(matches) > 0 {
			slices.Sort(matches)
			return matches[len(matches)-1], true
		}
	}
	path, err := exec.LookPath(name)
	return path, err == nil
}

// FreeAddr returns a loopback address that was free a moment ago.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Start runs the program and waits until ready returns nil. A server that ends
// before that is an error with the end of its output.
func Start(cmd *exec.Cmd, ready func(ctx context.Context) error) (*Process, error) {
	p := &Process{cmd: cmd, exited: make(chan struct{}), log: &tail{}}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	go func() {
		_ = cmd.Wait() // how it ended does not matter to a test
		close(p.exited)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return p, nil
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s ended at the start: %s", cmd.Path, p.log)
		case <-ctx.Done():
			p.Kill()
			return nil, fmt.Errorf("%s is not ready (%w): %s", cmd.Path, err, p.log)
		case <-tick.C:
		}
	}
}

// Stop asks the server to end and kills it when it does not.
func (p *Process) Stop() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		p.Kill()
	}
}

// Kill ends the server with SIGKILL, as a crash would.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// Pause stops the server without ending it, as a hung machine would; Resume
// lets it go on.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.log.add(err.Error())
	}
}

// tail keeps the last output of a server.
type tail struct {
	mu   sync.Mutex
	text string
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.add(string(b))
	return len(b), nil
}

func (t *tail) add(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += s
	if n := len(t.text); n > tailBytes {
		t.text = t.text[n-tailBytes:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.text)
}
