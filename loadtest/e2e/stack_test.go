package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Limits of the stack's start and stop on a busy two-core machine.
const (
	startTimeout = 3 * time.Minute
	stopTimeout  = time.Minute
	pollEvery    = 20 * time.Millisecond
)

// stack is a running local stack with a folder and ports of its own.
type stack struct {
	bin, dir string
	base     int
	cmd      *exec.Cmd
	exited   chan error
	env      map[string]string

	thousandID string // the link that was visited a thousand times
	failure    string // what was waited for in vain
}

// binaries is the folder of the built programs.
func binaries(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("LINKSTREAM_E2E_BIN")
	if bin == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("LINKSTREAM_E2E_BIN is not set: run `make e2e`")
		}
		t.Skip("LINKSTREAM_E2E_BIN is not set: run `make e2e`")
	}
	return bin
}

// newStack starts a stack with two regions and two edges each, which is stopped
// with the test.
func newStack(t *testing.T) *stack {
	t.Helper()
	bin := binaries(t)
	// Not t.TempDir: Postgres runs as another user, who has to reach the folder.
	parent, err := os.MkdirTemp("", "linkstream-e2e-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "stack")
	s := &stack{bin: bin, dir: dir, base: freePortBase(t)}
	s.start(t)
	t.Cleanup(func() {
		if t.Failed() {
			s.showLogs(t)
			t.Log(s.failure) // again, where one looks first
		}
		s.stop(t)
		if t.Failed() && os.Getenv("LINKSTREAM_E2E_KEEP") != "" {
			t.Logf("what the stack left is in %s", dir)
			return
		}
		if output, err := exec.Command(filepath.Join(bin, "stack"), "clean", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("cleaning up: %v\n%s", err, output)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
		if err := os.RemoveAll(parent); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start starts the stack and waits until it says that it is ready.
func (s *stack) start(t *testing.T) {
	t.Helper()
	output, err := os.Create(s.dir + ".out")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	args := []string{"up", "--dir", s.dir, "--bin", s.bin}
	if broker := os.Getenv("LINKSTREAM_E2E_BROKER"); broker != "" {
		args = append(args, "--broker", broker)
	}
	s.cmd = exec.Command(filepath.Join(s.bin, "stack"), args...)
	s.cmd.Env = append(os.Environ(), "REGIONS=fra ash", "EDGES=2", "LINKSTREAM_PORT_BASE="+strconv.Itoa(s.base))
	s.cmd.Stdout, s.cmd.Stderr = output, output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.exited = make(chan error, 1)
	go func() { s.exited <- s.cmd.Wait() }()
	s.eventually(t, startTimeout, "the stack is ready", func(ctx context.Context) error {
		select {
		case err := <-s.exited:
			s.exited <- err
			text, _ := os.ReadFile(output.Name())
			t.Fatalf("the stack ended at its start: %v\n%s", err, text)
		default:
		}
		s.env = readEnv(filepath.Join(s.dir, "dev.env"))
		if s.env["LINKSTREAM_API_KEY"] == "" {
			return errors.New("dev.env is not there")
		}
		for _, port := range s.adminPorts() {
			if status, body, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil || status != 200 {
				return fmt.Errorf("port %d: %d %s %w", port, status, body, err)
			}
		}
		return nil
	})
}

// adminPorts are those of all services, by the fixed plan of ports.
func (s *stack) adminPorts() []int {
	ports := []int{9000, 9010, 9020, 9030, 9031, 9040, 9050, 9080, 9081, 9180, 9181}
	for i := range ports {
		ports[i] += s.base
	}
	return ports
}

// interrupt does what Ctrl-C does, and waits for the end.
func (s *stack) interrupt(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.exited:
		s.exited <- err
		if err != nil {
			t.Errorf("the stack ended with %v", err)
		}
	case <-time.After(stopTimeout):
		t.Fatal("the stack does not stop")
	}
}

// stop ends the stack in whatever state it is.
func (s *stack) stop(t *testing.T) {
	t.Helper()
	select {
	case err := <-s.exited:
		s.exited <- err
		return
	default:
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-s.exited:
		s.exited <- err
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		t.Error("the stack had to be killed")
	}
}

// edges are the addresses of all edges.
func (s *stack) edges() []string { return strings.Split(s.env["LINKSTREAM_EDGE_URLS"], ",") }

// redis is the address of a region's Redis.
func (s *stack) redis(t *testing.T, region string) string {
	t.Helper()
	for entry := range strings.SplitSeq(s.env["LINKSTREAM_REDIS_URLS"], ",") {
		if name, url, ok := strings.Cut(entry, "="); ok && name == region {
			return strings.TrimSuffix(strings.TrimPrefix(url, "redis://"), "/0")
		}
	}
	t.Fatalf("no Redis of region %s in %s", region, s.env["LINKSTREAM_REDIS_URLS"])
	return ""
}

// pid is the process id of one of the stack's processes.
func (s *stack) pid(name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, "run", name+".pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// kill ends a process with SIGKILL and returns the id it had.
func (s *stack) kill(t *testing.T, name string) int {
	t.Helper()
	pid, err := s.pid(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	return pid
}

// hold keeps a process from being started again until the returned function is
// called.
func (s *stack) hold(t *testing.T, name string) (release func()) {
	t.Helper()
	path := filepath.Join(s.dir, "run", name+".hold")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// eventually polls until check returns nil and says how long that took.
func (s *stack) eventually(t *testing.T, limit time.Duration, what string, check func(ctx context.Context) error) time.Duration {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return time.Since(start)
		}
		select {
		case <-ctx.Done():
			s.failure = fmt.Sprintf("not within %v: %s: %v", limit, what, err)
			t.Fatal(s.failure)
		case <-tick.C:
		}
	}
}

// showLogs prints the end of every process's output.
func (s *stack) showLogs(t *testing.T) {
	t.Helper()
	const tail = 3000
	files, _ := filepath.Glob(filepath.Join(s.dir, "log", "*.log"))
	for _, file := range append(files, s.dir+".out") {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		t.Logf("== %s\n%s", filepath.Base(file), text[max(0, len(text)-tail):])
	}
}

// freePortBase picks an offset at which every port of the plan is free. It is
// drawn by chance, so that two test runs on one machine do not meet, and keeps all of
// them below the ports that systems give to outgoing connections (from 32768): one of
// those could take a service's port before it starts.
func freePortBase(t *testing.T) int {
	t.Helper()
	free := func(port int) bool {
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return false
		}
		return l.Close() == nil
	}
	ports := []int{
		8000, 8010, 8011, 8020, 8050, 8080, 8081, 8180, 8181, 9000, 9010, 9020, 9030, 9031, 9040, 9050, 9080, 9081, 9180, 9181,
		15432, 16379, 16380, 18123, 19092, 19093,
	}
	for range 100 {
		base := 1_000 + rand.IntN(1_260)*10
		if !slices.ContainsFunc(ports, func(port int) bool { return !free(base + port) }) {
			return base
		}
	}
	t.Fatal("no free ports for a stack")
	return 0
}

func readEnv(path string) map[string]string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	values := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok {
			values[name] = strings.Trim(value, "'\"")
		}
	}
	return values
}
