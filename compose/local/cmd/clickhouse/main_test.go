package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
)

// asServer makes the test binary be the server: the engine can only be killed together with its process.
const asServer = "LINKSTREAM_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := run(ctx, os.Getenv, os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type server struct {
	cmd  *exec.Cmd
	url  string
	exit chan error
}

func startServer(t *testing.T, dataDir string, flags ...string) *server {
	t.Helper()
	if _, err := os.Stat(chdb.Path(os.Getenv)); errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("libchdb is missing: compose/local/install.sh fetches it (%v)", err)
	}
	ready := filepath.Join(t.TempDir(), "ready")
	args := append([]string{"--addr", "127.0.0.1:0", "--data-dir", dataDir, "--ready-file", ready}, flags...)
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asServer+"=1")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd, exit: make(chan error, 1)}
	go func() { s.exit <- cmd.Wait() }()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Cleanup(func() { _ = s.signal(t, syscall.SIGKILL) })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(30 * time.Second); ; {
		if addr, err := os.ReadFile(ready); err == nil {
			s.url = "http://" + strings.TrimSpace(string(addr)) + "/"
			return s
		}
		select {
		case err := <-s.exit:
			t.Fatalf("the server ended: %v", err)
		case <-deadline:
			t.Fatal("the server is not ready")
		case <-tick.C:
		}
	}
}

// signal sends it and waits for the end; again is harmless.
func (s *server) signal(t *testing.T, signal syscall.Signal) error {
	t.Helper()
	if s.cmd == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(signal)
	s.cmd = nil
	select {
	case err := <-s.exit:
		return err
	case <-time.After(30 * time.Second):
		t.Error("the server does not end")
		return nil
	}
}

func (s *server) send(ctx context.Context, sql string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(sql))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(string(text))
	}
	return string(text), err
}

func (s *server) must(t *testing.T, sql string) string {
	t.Helper()
	text, err := s.send(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAcknowledgedInsertsSurviveSIGKILL(t *testing.T) {
	dataDir := t.TempDir()
	s := startServer(t, dataDir)
	s.must(t, "CREATE DATABASE linkstream")
	s.must(t, "CREATE TABLE linkstream.clicks (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 100")
	acknowledged := 0
	for range 3 {
		for range 20 {
			s.must(t, fmt.Sprintf("INSERT INTO linkstream.clicks FORMAT TSV\n%d\n", acknowledged))
			acknowledged++
		}
		_ = s.signal(t, syscall.SIGKILL) // that it was killed is no news
		s = startServer(t, dataDir)
		want := fmt.Sprintf("%d\t%d\n", acknowledged, acknowledged-1)
		if got := s.must(t, "SELECT count(), max(n) FROM linkstream.clicks"); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestSIGTERMLetsARunningStatementFinish(t *testing.T) {
	s := startServer(t, t.TempDir())
	answer := make(chan error, 1)
	go func() {
		_, err := s.send(t.Context(), "SELECT sleep(1)")
		answer <- err
	}()
	waitUntilRunning(t, s, "sleep(1)")
	if err := s.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if err := <-answer; err != nil {
		t.Errorf("the statement failed: %v", err)
	}
}

func TestSIGTERMStopsWhatTakesTooLong(t *testing.T) {
	s := startServer(t, t.TempDir(), "--drain", "200ms")
	answer := make(chan error, 1)
	go func() {
		_, err := s.send(t.Context(), "SELECT sum(sleepEachRow(0.01)) FROM numbers(1000000) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0")
		answer <- err
	}()
	waitUntilRunning(t, s, "sleepEachRow")
	started := time.Now()
	if err := s.signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if err := <-answer; err == nil {
		t.Error("the statement was answered")
	}
}

func waitUntilRunning(t *testing.T, s *server, part string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		if s.must(t, "SELECT count() FROM system.processes WHERE query LIKE '%"+part+"%'") == "2\n" { // it and this
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the statement does not run")
		}
	}
}

func TestMistakesAreSaid(t *testing.T) {
	check := func(want string, args ...string) {
		t.Helper()
		err := run(t.Context(), func(string) string { return "" }, args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
	check(`"data-dir" not set`)
	check("is not a loopback address", "--data-dir", t.TempDir(), "--addr", "0.0.0.0:0")
	check("is not a loopback address", "--data-dir", t.TempDir(), "--addr", "example.com:80")
	check("install.sh", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0", "--lib", "/nowhere/libchdb.so")
	check("at least 1", "--data-dir", t.TempDir(), "--parallel", "0")
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	check("address already in use", "--data-dir", t.TempDir(), "--addr", taken.Addr().String())
}
