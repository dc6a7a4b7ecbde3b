// Package clickhousetest gives tests a real, migrated ClickHouse database of
// their own: the engine as a library behind its HTTP protocol, in a process that
// the local stack provides (compose/local/cmd/clickhouse).
//
// A package's tests share one server: its TestMain calls Main. The program is
// taken from LINKSTREAM_TEST_CLICKHOUSE_BIN, or built.
package clickhousetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/linkstream/linkstream/migrations"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

type server struct {
	once    sync.Once
	addr    string
	process *testproc.Process
	dir     string
	err     error
}

// shared is the one server of a test binary; Main, its owner, stops it.
var shared server //nolint:gochecknoglobals // tests of a package have no common scope but the package

// Main runs the package's tests and stops the server that they started. Use it
// as os.Exit(clickhousetest.Main(m)) in TestMain.
func Main(m *testing.M) int {
	code := m.Run()
	if shared.process != nil {
		shared.process.Stop()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	return code
}

// New returns the URL of an empty database with the current schema. It is
// dropped with the test.
func New(tb testing.TB) string {
	tb.Helper()
	if !libraryInstalled() {
		testproc.Missing(tb, "libchdb")
	}
	addr := testproc.FreeAddr(tb)
	ctx := context.WithoutCancel(tb.Context())
	shared.once.Do(func() { shared.err = shared.start(ctx, addr) })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	name := "test_" + uuid.NewString()[:8]
	if err := shared.exec(ctx, "CREATE DATABASE "+name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := shared.exec(ctx, "DROP DATABASE "+name); err != nil {
			tb.Error(err)
		}
	})
	target := "http://" + shared.addr + "/" + name
	options, err := clickhouse.ParseDSN(target)
	if err != nil {
		tb.Fatal(err)
	}
	db := clickhouse.OpenDB(options)
	defer func() { _ = db.Close() }()
	if _, err := migrations.ClickHouse(ctx, db); err != nil {
		tb.Fatal(err)
	}
	return target
}

// Kill ends the server with SIGKILL, and Restart starts it again on the same
// address with the data that it had acknowledged.
func Kill() { shared.process.Kill() }

// Restart undoes Kill.
func Restart(tb testing.TB) {
	tb.Helper()
	if err := shared.run(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatal(err)
	}
}

func (s *server) start(ctx context.Context, addr string) error {
	dir, err := os.MkdirTemp("", "linkstream-clickhousetest-")
	if err != nil {
		return fmt.Errorf("making a data folder: %w", err)
	}
	s.dir, s.addr = dir, addr
	return s.run(ctx)
}

func (s *server) run(ctx context.Context) error {
	program, err := s.program(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "--addr", s.addr, "--data-dir", filepath.Join(s.dir, "data"))
	s.process, err = testproc.Start(cmd, s.ping)
	return err
}

func (s *server) program(ctx context.Context) (string, error) {
	if bin := os.Getenv("LINKSTREAM_TEST_CLICKHOUSE_BIN"); bin != "" {
		return bin, nil
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	program := filepath.Join(s.dir, "clickhouse")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/clickhouse")
	build.Dir = filepath.Join(root, "compose", "local") // its own module, so that GOWORK=off works too
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the embedded ClickHouse: %w: %s", err, out)
	}
	return program, nil
}

func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", errors.New("finding the repository: no go.work above the test")
}

func (s *server) ping(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/ping", http.NoBody)
	if err != nil {
		return fmt.Errorf("building the ping: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("pinging ClickHouse: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("pinging ClickHouse: status %d", answer.StatusCode)
	}
	return nil
}

func (s *server) exec(ctx context.Context, statement string) error {
	options, err := clickhouse.ParseDSN("http://" + s.addr + "/default")
	if err != nil {
		return fmt.Errorf("building the URL: %w", err)
	}
	db := clickhouse.OpenDB(options)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("running %q: %w", statement, err)
	}
	return nil
}

// libraryInstalled looks where compose/local/install.sh puts the library.
func libraryInstalled() bool {
	if path := os.Getenv("LINKSTREAM_CHDB_LIB"); path != "" {
		_, err := os.Stat(path)
		return err == nil
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		// Not os.UserCacheDir, which is another folder on macOS.
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	matches, err := filepath.Glob(filepath.Join(cache, "linkstream", "chdb", "*", "libchdb.so"))
	return err == nil && len(matches) > 0
}
