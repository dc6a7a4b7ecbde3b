package chhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"go.uber.org/goleak"

	"github.com/linkstream/linkstream/compose/local/internal/chdb"
	"github.com/linkstream/linkstream/compose/local/internal/chhttp"
)

// engine is started by the first test that needs it: a process can have one only.
var engine = sync.OnceValues(func() (*chdb.Engine, error) {
	lib, err := chdb.Load(chdb.Path(os.Getenv))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "chhttp-test-")
	if err != nil {
		return nil, err
	}
	engineDir = dir
	return lib.Open(dir)
})

var (
	engineDir string
	databases atomic.Int64
)

func TestMain(m *testing.M) {
	code := m.Run()
	if engineDir != "" {
		if e, err := engine(); err == nil {
			e.Close()
		}
		if err := os.RemoveAll(engineDir); err != nil {
			panic(err)
		}
	}
	if code == 0 {
		// purego's thread that lends Go's threads to C lives as long as the process.
		if err := goleak.Find(); err != nil {
			println("goroutines leaked:", err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// start serves the engine and returns the address with a fresh database of the test's own.
func start(t *testing.T) (addr, database string) {
	t.Helper()
	e, err := engine()
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("libchdb is missing: compose/local/install.sh fetches it (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(chhttp.New(e, 4, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	database = fmt.Sprintf("test_%d", databases.Add(1))
	conn := open(t, u.Host, "default", nil)
	must(t, conn.Exec(t.Context(), "CREATE DATABASE "+database))
	t.Cleanup(func() {
		if err := conn.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+database); err != nil {
			t.Error(err)
		}
	})
	return u.Host, database
}

func open(t *testing.T, addr, database string, change func(*clickhouse.Options)) clickhouse.Conn {
	t.Helper()
	options := &clickhouse.Options{
		Protocol: clickhouse.HTTP,
		Addr:     []string{addr},
		Auth:     clickhouse.Auth{Database: database},
	}
	if change != nil {
		change(options)
	}
	conn, err := clickhouse.Open(options)
	must(t, err)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
