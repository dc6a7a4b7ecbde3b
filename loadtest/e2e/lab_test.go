package e2e

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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const labEdges = 3

// lab is one more region of a running stack: its Redis is a primary and a replica, and
// a gate stands between them and each program, so that each can be cut off alone.
type lab struct {
	*stack
	primary, replica *child
	updater          *child
	updaterGate      *gate
	gates            []*gate  // of the edges
	urls             []string // of the edges
	admins           []string // of all programs
}

func newLab(t *testing.T, s *stack) *lab {
	t.Helper()
	l := &lab{stack: s}
	l.primary = l.startRedis(t, "lab-redis-0")
	l.replica = l.startRedis(t, "lab-redis-1", "--replicaof", "127.0.0.1 "+l.primary.port())
	l.updaterGate = newGate(t, l.primary.addr)
	shared := map[string]string{
		"LINKSTREAM_REGION":         "lab",
		"LINKSTREAM_KAFKA_BROKERS":  s.env["LINKSTREAM_KAFKA_BROKERS"],
		"LINKSTREAM_ORIGIN_URL":     fmt.Sprintf("http://127.0.0.1:%d", 8011+s.base),
		"LINKSTREAM_DEFAULT_DOMAIN": "localhost",
		"LINKSTREAM_SERVER_TIMING":  "true",
	}
	l.updater = l.program(t, "cacheupdater", "lab-cacheupdater", shared, map[string]string{"LINKSTREAM_REDIS_URL": l.updaterGate.url()})
	for n := range labEdges {
		g, addr := newGate(t, l.primary.addr), freeAddr(t)
		l.gates = append(l.gates, g)
		l.urls = append(l.urls, "http://"+addr)
		name := fmt.Sprint("lab-redirect-", n)
		l.program(t, "redirect", name, shared, map[string]string{
			"LINKSTREAM_EDGE_NAME": name, "LINKSTREAM_HTTP_ADDR": addr, "LINKSTREAM_REDIS_URL": g.url(), "LINKSTREAM_JOURNAL_DIR": t.TempDir(),
		})
	}
	l.awaitReady(t)
	return l
}

// awaitReady waits until all programs of the region say that they are.
func (l *lab) awaitReady(t *testing.T) {
	t.Helper()
	for _, admin := range l.admins {
		l.eventually(t, 30*time.Second, admin+" is ready", func(ctx context.Context) error {
			if status, body, err := get(ctx, "http://"+admin+"/readyz"); err != nil || status != http.StatusOK {
				return fmt.Errorf("%d %s %w", status, body, err)
			}
			return nil
		})
	}
}

func (l *lab) program(t *testing.T, binary, name string, environments ...map[string]string) *child {
	t.Helper()
	admin := freeAddr(t)
	l.admins = append(l.admins, admin)
	env := []string{"LINKSTREAM_ADMIN_ADDR=" + admin}
	for _, e := range environments {
		for key, value := range e {
			env = append(env, key+"="+value)
		}
	}
	c := &child{
		path: filepath.Join(l.bin, binary), env: env, addr: admin,
		// Beside the logs of the stack's own, which are shown when a test fails.
		log: filepath.Join(l.dir, "log", name+".log"),
	}
	c.start(t)
	t.Cleanup(func() { c.end(syscall.SIGKILL) })
	return c
}

func (l *lab) startRedis(t *testing.T, name string, settings ...string) *child {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	c := &child{path: path, addr: addr, log: filepath.Join(l.dir, "log", name+".log")}
	c.args = append([]string{
		"--port", c.port(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
		"--repl-diskless-sync-delay", "0",
	}, settings...)
	c.start(t)
	t.Cleanup(func() { c.end(syscall.SIGKILL) })
	l.eventually(t, 10*time.Second, name+" answers", func(ctx context.Context) error {
		answer, err := redisCommand(ctx, addr, "PING")
		if err == nil && answer != "+PONG" {
			err = errors.New(answer)
		}
		return err
	})
	return c
}

// redisDo sends commands that must be answered with OK or a number.
func redisDo(t *testing.T, addr string, commands ...string) {
	t.Helper()
	for _, command := range commands {
		answer, err := redisCommand(t.Context(), addr, command)
		if err != nil || (answer != "+OK" && !strings.HasPrefix(answer, ":")) {
			t.Fatalf("%s: %s %v", command, answer, err)
		}
	}
}

// detach cuts the replica off from its primary: what is written from now on is lost
// when it takes over.
func (l *lab) detach(t *testing.T) {
	t.Helper()
	redisDo(t, l.replica.addr, "CONFIG SET masteruser nobody", "CONFIG SET masterauth nothing")
	redisDo(t, l.primary.addr, "CLIENT KILL TYPE replica")
}

// attach undoes detach.
func (l *lab) attach(t *testing.T) {
	t.Helper()
	redisDo(t, l.replica.addr, `CONFIG SET masteruser ""`, `CONFIG SET masterauth ""`)
	l.eventually(t, 30*time.Second, "the replica has caught up", func(ctx context.Context) error {
		answer, err := redisCommand(ctx, l.primary.addr, "WAIT 1 100")
		if err == nil && answer != ":1" {
			err = errors.New(answer)
		}
		return err
	})
}

// failOver kills the primary, and the replica takes over at the same addresses.
func (l *lab) failOver(t *testing.T) {
	t.Helper()
	l.primary.end(syscall.SIGKILL)
	redisDo(t, l.replica.addr, "REPLICAOF NO ONE")
	l.primary, l.replica = l.replica, l.primary
	l.primary.args = l.primary.args[:slices.Index(l.primary.args, "--replicaof")] // should it be started again
	for _, g := range append([]*gate{l.updaterGate}, l.gates...) {
		g.lead(l.primary.addr)
	}
}

// child is a program that a test starts, kills and starts again.
type child struct {
	path, addr, log string
	args, env       []string

	cmd    *exec.Cmd
	exited chan struct{}
}

func (c *child) port() string {
	_, port, _ := net.SplitHostPort(c.addr)
	return port
}

func (c *child) start(t *testing.T) {
	t.Helper()
	output, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = output.Close() }()
	c.cmd = exec.Command(c.path, c.args...)
	c.cmd.Env = append(os.Environ(), c.env...)
	c.cmd.Stdout, c.cmd.Stderr = output, output
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // how it ended does not matter
		close(exited)
	}(c.cmd, c.exited)
}

// end sends a signal and waits for the end.
func (c *child) end(signal syscall.Signal) {
	_ = c.cmd.Process.Signal(signal) // it may have ended already
	<-c.exited
}

func freeAddr(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "127.0.0.1:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
