// Package pgtest gives tests a real, migrated Postgres database of their own.
//
// A package's tests share one server: its TestMain calls Main. With
// LINKSTREAM_TEST_POSTGRES_URL set (a URL of a superuser) that server is used
// instead of a new one.
package pgtest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver of database/sql, which the migrations need

	"github.com/linkstream/linkstream/migrations"
	"github.com/linkstream/linkstream/services/internal/testproc"
)

// Server starts on first use and lives until Main ends.
type server struct {
	once    sync.Once
	url     *url.URL
	process *testproc.Process
	dir     string
	err     error
}

// shared is the one server of a test binary; Main, its owner, stops it.
var shared server //nolint:gochecknoglobals // tests of a package have no common scope but the package

// template holds the migrated schema; databases of tests are copies of it.
const template = "linkstream_template"

// Main runs the package's tests and stops the server that they started. Use it
// as os.Exit(pgtest.Main(m)) in TestMain.
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
	bin, ok := testproc.Look("initdb", "/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin")
	if !ok && os.Getenv("LINKSTREAM_TEST_POSTGRES_URL") == "" {
		testproc.Missing(tb, "postgresql")
	}
	addr := testproc.FreeAddr(tb)
	shared.once.Do(func() { shared.err = shared.start(context.WithoutCancel(tb.Context()), filepath.Dir(bin), addr) })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	name := "test_" + uuid.NewString()[:8]
	ctx := context.WithoutCancel(tb.Context())
	if err := shared.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := shared.exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return shared.database(name)
}

func (s *server) start(ctx context.Context, bin, addr string) error {
	if raw := os.Getenv("LINKSTREAM_TEST_POSTGRES_URL"); raw != "" {
		u, err := url.Parse(raw)
		if err != nil {
			return fmt.Errorf("LINKSTREAM_TEST_POSTGRES_URL: %w", err)
		}
		s.url = u
		return s.makeTemplate(ctx)
	}
	dir, err := os.MkdirTemp("", "linkstream-pgtest-")
	if err != nil {
		return fmt.Errorf("making a data folder: %w", err)
	}
	s.dir = dir
	attr, err := unprivileged(dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("running initdb: %w: %s", err, out)
	}
	u, err := url.Parse("postgres://postgres@" + addr + "/postgres?sslmode=disable")
	if err != nil {
		return fmt.Errorf("building the URL: %w", err)
	}
	s.url = u
	// fsync off: these databases live as long as the tests.
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "-D", data, "-h", u.Hostname(), "-p", u.Port(),
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200")
	cmd.SysProcAttr, cmd.Dir = attr, dir
	s.process, err = testproc.Start(cmd, func(ctx context.Context) error { return s.exec(ctx, "SELECT 1") })
	if err != nil {
		return err
	}
	return s.makeTemplate(ctx)
}

func (s *server) makeTemplate(ctx context.Context) error {
	if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+template); err != nil {
		return err
	}
	if err := s.exec(ctx, "CREATE DATABASE "+template); err != nil {
		return err
	}
	db, err := sql.Open("pgx", s.database(template))
	if err != nil {
		return fmt.Errorf("opening the template: %w", err)
	}
	defer func() { _ = db.Close() }()
	_, err = migrations.Postgres(ctx, db)
	return err
}

func (s *server) exec(ctx context.Context, statement string) error {
	db, err := sql.Open("pgx", s.url.String())
	if err != nil {
		return fmt.Errorf("opening Postgres: %w", err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("running %q: %w", statement, err)
	}
	return nil
}

func (s *server) database(name string) string {
	u := *s.url
	u.Path = "/" + name
	return u.String()
}

// unprivileged makes a root test run Postgres, which refuses root, as the user
// postgres or, where there is none, nobody.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("finding an unprivileged user for Postgres: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, fmt.Errorf("reading the uid of %s: %w", u.Username, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, fmt.Errorf("reading the gid of %s: %w", u.Username, err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, fmt.Errorf("giving %s its data folder: %w", u.Username, err)
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}
